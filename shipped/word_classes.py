"""Classes of English words, counted in a treebank: enough to find short noun and verb phrases."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

SMALL = frozenset({"DET", "ADP", "CCONJ", "SCONJ", "PRON", "AUX", "PART", "PUNCT"})
"""Classes of words that no phrase ends with."""
PAST, PRESENT, PARTICIPLE, PLAIN = "VBD", "VBZ", "VBN", "VB"


@dataclass(frozen=True, slots=True)
class WordClasses:
    """What words are most of the time.

    Attributes:
        kind: The most frequent class of a word in lower case, as Universal Dependencies names it.
        base: The infinitive of a verb's form, by its tag (VBD, VBZ, VBN, VB) and the form.
        plural: Nouns in the plural.
    """

    kind: dict[str, str]
    base: dict[tuple[str, str], str]
    plural: frozenset[str]

    @classmethod
    def counted(cls, lines: Iterable[str]) -> "WordClasses":
        """Count the words of a CoNLL-U file."""
        kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        bases: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        plural = set()
        for line in lines:
            cells = line.split("\t")
            if len(cells) < 5 or not cells[0].isdigit() or not cells[1].isalpha():
                continue
            word, lemma, kind, tag = cells[1].lower(), cells[2].lower(), cells[3], cells[4]
            kinds[word][kind] += 1
            if kind == "VERB":
                bases[tag, word][lemma] += 1
            if tag == "NNS":
                plural.add(word)
        return cls(
            {word: found.most_common(1)[0][0] for word, found in kinds.items()},
            {form: found.most_common(1)[0][0] for form, found in bases.items()},
            frozenset(plural),
        )

    def infinitive(self, tag: str, word: str) -> str | None:
        """The infinitive of a form that is a verb most of the time, None if it is not one."""
        return self.base.get((tag, word)) if self.kind.get(word) == "VERB" else None

    def is_small(self, word: str) -> bool:
        """Whether no phrase may end with the word."""
        return self.kind.get(word.lower()) in SMALL

    def noun_phrases(self, words: list[str]) -> list[tuple[str, str]]:
        """The word before, and one to three words in lower case that end with a noun."""
        found, start = [], None
        for place, word in enumerate([*words, "."]):
            kind = self.kind.get(word) if word.islower() and word.isalpha() else None
            if kind in ("NOUN", "ADJ"):
                start = place if start is None else start
                continue
            if start is not None:
                if place - start <= 3 and start and self.kind.get(words[place - 1]) == "NOUN":
                    found.append((words[start - 1].lower(), " ".join(words[start:place])))
                start = None
        return found

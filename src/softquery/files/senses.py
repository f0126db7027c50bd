"""Text annotated with word senses: SemCor, and the data sets of word sense tasks.

SemCor (Miller et al., 1993) is SGML with unquoted attributes, one word per line; the tasks of
Senseval and SemEval are read in the unified XML of Raganato, Camacho-Collados and Navigli (EACL
2017), with a file of gold keys beside it. A sense is one of WordNet's keys, `bank%1:17:01::`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from softquery.errors import InputError
from softquery.files.archives import is_archive, read_members
from softquery.files.row import listed

PARTS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
"""Part of speech by the first digit of a sense key; adjectives have two."""
TASK_PARTS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
PLAIN = {
    "``": '"', "''": '"',
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip
"""What treebanks write for quotes and brackets."""
KEYS, TEXT = ".gold.key.txt", ".data.xml"

_MARK = re.compile(r"</?(?:contextfile|context|p|s)(?: [^<>]*)?>")
_WORD = re.compile(r"<(?P<kind>wf|punc)(?P<facts>(?: [^<>]*)?)>(?P<word>[^<>]+)</(?P=kind)>")
_FACT = re.compile(r" (\w+)=(\S+)")


class SenseWord(NamedTuple):
    """A word that has senses: a lemma with its part of speech (n, v, a or r)."""

    lemma: str
    part: str


@dataclass(frozen=True, slots=True)
class SenseMention:
    """One or several tokens of a sentence, annotated with their sense.

    Attributes:
        start: Index of the first token.
        end: Index after the last token.
        word: Lemma and part of speech.
        senses: Keys of the sense, or of several that fit equally.
        numbers: WordNet's number of each, 1 for the most common; empty where unknown.
    """

    start: int
    end: int
    word: SenseWord
    senses: tuple[str, ...]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SensedSentence:
    """A sentence with its annotated mentions."""

    document: str
    tokens: list[str]
    sensed: list[SenseMention]


@dataclass(frozen=True, slots=True)
class SenseFiles:
    """The paths of SemCor and of further data sets by name."""

    semcor: Path
    others: dict[str, Path]


def find_senses(folder: str | PathLike[str]) -> SenseFiles:
    """Find SemCor (`semcor…`) and further data sets in a folder, each a folder or a tar archive.

    Raises:
        InputError: If there is no SemCor.
    """
    try:
        entries = sorted(Path(folder).iterdir())
    except NotADirectoryError as error:
        raise InputError("is a file, expected a folder", source=folder) from error
    except OSError as error:
        raise InputError(f"no such folder ({error.strerror})", source=folder) from error
    usable = [entry for entry in entries if entry.is_dir() or is_archive(entry)]
    semcor = [entry for entry in usable if entry.name.lower().startswith("semcor")]
    if not semcor:
        names = listed([entry.name for entry in entries])
        raise InputError(
            f"no SemCor, such as semcor3.0.tar.xz or a folder semcor; found: {names}", source=folder
        )
    others = {entry.name.partition(".")[0]: entry for entry in usable if entry not in semcor}
    return SenseFiles(semcor[0], others)


def read_semcor(path: str | PathLike[str]) -> list[SensedSentence]:
    """Every sentence of SemCor, from its folder or its archive.

    A multiword such as `took_place` becomes several tokens. Omitted as mentions, though their words
    stay in the text: names, which are annotated as `person`, `group` or `location` instead of a
    lemma, and senses that WordNet no longer numbers (`wnsn=0`).

    Raises:
        InputError: For a line that is not SemCor's, naming file and row, and for no sentence.
    """
    sentences = [
        sentence
        for name, text in read_members(path, "tagfiles/[^/]+")
        for sentence in _semcor_sentences(text, name, source=f"{fspath(path)}/{name}")
    ]
    if not any(sentence.sensed for sentence in sentences):
        message = "holds no word with a sense; expected SemCor, whose texts lie in folders tagfiles"
        raise InputError(message, source=path)
    return sentences


def read_sense_task(path: str | PathLike[str]) -> list[SensedSentence]:
    """Every sentence of a data set in the unified format: `NAME.data.xml`, `NAME.gold.key.txt`.

    Raises:
        InputError: For a missing part, broken XML, or a word without its key.
    """
    found = dict(read_members(path, rf".*(?:{re.escape(TEXT)}|{re.escape(KEYS)})"))
    texts = [name for name in found if name.endswith(TEXT)]
    keys = [name for name in found if name.endswith(KEYS)]
    if len(texts) != 1 or len(keys) != 1:
        message = f"expected one *{TEXT} and one *{KEYS}, found {len(texts)} and {len(keys)}"
        raise InputError(message, source=path)
    gold = _gold_keys(found[keys[0]], source=f"{fspath(path)}/{keys[0]}")
    return _task_sentences(found[texts[0]], gold, source=f"{fspath(path)}/{texts[0]}")


def _semcor_sentences(text: str, document: str, *, source: str) -> Iterator[SensedSentence]:
    sentence = SensedSentence(document, [], [])
    for row, line in enumerate(text.splitlines(), 1):
        found = _WORD.fullmatch(line.strip())
        if found is not None:
            _add_word(sentence, found["word"], dict(_FACT.findall(found["facts"])), source, row)
        elif line.strip() and not _MARK.fullmatch(line.strip()):
            message = f'expected <wf …>word</wf> or another mark of SemCor, found "{line[:60]}"'
            raise InputError(message, source=source, row=row)
        elif line.startswith(("<s ", "<s>", "</s>")):
            if sentence.tokens:
                yield sentence
            sentence = SensedSentence(document, [], [])


def _add_word(
    sentence: SensedSentence, word: str, facts: dict[str, str], source: str, row: int
) -> None:
    start = len(sentence.tokens)
    sentence.tokens.extend(_tokens(word))
    if "lexsn" not in facts or "pn" in facts:
        return
    senses, numbers = facts["lexsn"].split(";"), facts.get("wnsn", "").split(";")
    is_sound = all(each[:1] in PARTS for each in senses) and all(_is_number(n) for n in numbers)
    if "lemma" not in facts or len(senses) != len(numbers) or not is_sound:
        message = "expected lemma, and as many lexsn such as 1:17:01:: as wnsn such as 1"
        raise InputError(message, source=source, row=row)
    lemma = facts["lemma"].lower()
    kept = [
        (f"{lemma}%{sense}", int(number))
        for sense, number in zip(senses, numbers, strict=True)
        if int(number) > 0
    ]
    if kept:
        keys, ranks = zip(*kept, strict=True)
        sense_word = SenseWord(lemma, PARTS[senses[0][0]])
        sentence.sensed.append(SenseMention(start, len(sentence.tokens), sense_word, keys, ranks))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _tokens(word: str) -> list[str]:
    """The tokens of a word, which may be a multiword."""
    parts = [PLAIN.get(part, part) for part in re.split(r"[_\s]+", word.strip()) if part]
    return parts or [word]


def _gold_keys(text: str, *, source: str) -> dict[str, tuple[str, ...]]:
    gold = {}
    for row, line in enumerate(text.splitlines(), 1):
        name, *keys = line.split() or [""]
        if not keys or not all("%" in key for key in keys):
            message = f'expected a name and its keys such as bank%1:17:01::, found "{line[:60]}"'
            raise InputError(message, source=source, row=row)
        gold[name] = tuple(keys)
    return gold


def _task_sentences(
    text: str, gold: dict[str, tuple[str, ...]], *, source: str
) -> list[SensedSentence]:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"not valid XML ({error})", source=source) from error
    sentences = []
    for document in root.iter("text"):
        for element in document.iter("sentence"):
            sentence = SensedSentence(document.get("id", ""), [], [])
            for word in element:
                _add_task_word(sentence, word, gold, source)
            if sentence.tokens:
                sentences.append(sentence)
    if not any(sentence.sensed for sentence in sentences):
        raise InputError("holds no word to find the sense of (<instance>)", source=source)
    return sentences


def _add_task_word(
    sentence: SensedSentence,
    word: ElementTree.Element,
    gold: dict[str, tuple[str, ...]],
    source: str,
) -> None:
    start = len(sentence.tokens)
    sentence.tokens.extend(_tokens(word.text or ""))
    if word.tag != "instance":
        return
    name, part = word.get("id", ""), TASK_PARTS.get(word.get("pos", ""))
    if name not in gold or part is None or not word.get("lemma"):
        message = f"the instance {name!r} lacks a gold key, a lemma, or a pos that has senses"
        raise InputError(message, source=source)
    sense_word = SenseWord(word.get("lemma", "").lower(), part)
    sentence.sensed.append(SenseMention(start, len(sentence.tokens), sense_word, gold[name]))

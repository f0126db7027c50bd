"""Statements turned into questions: "Lincoln led the nation" asks "Who led the nation?"."""

import re
from dataclasses import dataclass
from random import Random

from word_classes import PARTICIPLE, PAST, PRESENT, WordClasses

BE = {"is", "was", "are", "were"}
MODALS = {"can", "could", "will", "should", "may", "must"}
PRONOUNS = {"he", "she", "it", "they"}
UNCLEAR = {"this", "that", "these", "those", "there", "his", "her", "its", "their", "such", "we"}
UNCLEAR |= {"you", "i", "both", "another", "other", "some", "many", "one", "here", "who", "what"}
STOPS = {"which", "who", "that", "because", "although", "while", "when", "and", "but", "as"}
STOPS |= {"where", "since", "after", "before", "until", "or", "though", "than", "if", "so"}
BEFORE_VERB = {"also", "often", "usually", "still", "now", "later", "then", "generally", "first"}
BEFORE_VERB |= {"originally", "commonly", "typically", "widely", "once", "therefore", "thus", "not"}
TIME = re.compile(r" (?:in|on|by|since|around|during) (?:the )?(?:\w+ )?\d{4}s?\b.*")
PLACE = re.compile(r" (?:in|at|near) (?:the )?[A-Z]\w+.*")
OPENING = re.compile(r"^(?:In|On|During|By|Since|After) [^,.]{3,30}, (.+)$")
PLAIN = re.compile(r"[A-Za-z][\w’'.-]*|\d[\d,.]*")
UNSAID = {"he", "she", "it", "they", "him", "them", "this", "these", "here", "we", "us"}
"""Words that a question without context leaves unclear."""
LONGEST_SUBJECT, LONGEST_REST = 5, 8


@dataclass(frozen=True, slots=True)
class Clause:
    """Who, the verb as it stands, and a few words more."""

    subject: str
    verb: str
    rest: str
    has_time: bool


def find_clause(sentence: str, title: str, words: WordClasses) -> Clause | None:
    """The main clause of a plain sentence, if it can be told.

    Args:
        sentence: A statement.
        title: Of whom or what the article is; stands in for he, she and it.
        words: Word classes.
    """
    opening = OPENING.match(sentence)
    given = (opening[1] if opening else sentence).rstrip(".").split()
    for place in range(1, min(LONGEST_SUBJECT + 1, len(given) - 1)):
        word = given[place]
        if not PLAIN.fullmatch(given[place - 1]):
            return None
        if _is_finite(word, words):
            break
    else:
        return None
    subject = _subject(given[:place], title, words)
    rest = _rest(given[place + 1 :], words)
    if subject is None or rest is None:
        return None
    timed = TIME.sub("", f" {rest}").strip()
    if word not in MODALS and (" " not in timed or timed.startswith("by ")):
        return None
    return Clause(subject, word, timed, bool(opening) or timed != rest) if timed else None


def _is_finite(word: str, words: WordClasses) -> bool:
    if word in BE or word in MODALS:
        return True
    if word in ("had", "has"):
        return False
    return bool(words.infinitive(PAST, word) or words.infinitive(PRESENT, word))


def _subject(given: list[str], title: str, words: WordClasses) -> str | None:
    first = given[0].lower()
    if len(given) == 1 and first in PRONOUNS - {"they"} and title:
        return title
    kinds = [words.kind.get(word.lower(), "") for word in given]
    if first in UNCLEAR | PRONOUNS or kinds[0] in ("ADP", "ADV", "SCONJ", "CCONJ", "VERB"):
        return None
    if any(kind in ("VERB", "AUX", "SCONJ", "PRON", "ADV") for kind in kinds[1:]):
        return None
    if words.is_small(given[-1]) or kinds[-1] == "ADJ" or given[-1].isdigit():
        return None
    keeps = kinds[0] in ("PROPN", "") or not given[0].istitle()
    return " ".join(given if keeps else [first, *given[1:]])


def _rest(given: list[str], words: WordClasses) -> str | None:
    kept: list[str] = []
    for word in given:
        if word in STOPS or (not kept and word in BEFORE_VERB):
            if kept:
                break
            return None
        plain = word.rstrip(",;:")
        if not PLAIN.fullmatch(plain):
            break
        kept.append(plain)
        if plain != word:
            break
    else:
        word = ""
    if len(kept) > LONGEST_REST:
        kept = _cut(kept, words)
    while kept and words.is_small(kept[-1]):
        kept.pop()
    if (
        not kept
        or UNSAID & set(kept)
        or (words.kind.get(kept[-1].lower()) == "ADJ" and kept[-1] != given[-1])
    ):
        return None
    return " ".join(kept)


def _cut(kept: list[str], words: WordClasses) -> list[str]:
    """End before a preposition, as far on as is allowed."""
    for place in range(LONGEST_REST, 2, -1):
        if words.kind.get(kept[place]) == "ADP" and kept[place] != "of":
            return kept[:place]
    return []


def ask(clause: Clause, words: WordClasses, rng: Random) -> str | None:
    """A question that the clause answers."""
    verb = clause.verb
    if verb in BE:
        return _ask_being(clause, words, rng)
    if verb in MODALS:
        word = rng.choice(["", "", "How ", "Why ", "When "])
        return _sentence(f"{word}{verb} {clause.subject} {clause.rest}")
    past = words.infinitive(PAST, verb)
    base = past or words.infinitive(PRESENT, verb)
    does = "did" if past else "does"
    asking = [
        f"{does} {clause.subject} {base} {clause.rest}",
        f"why {does} {clause.subject} {base} {clause.rest}",
        f"how {does} {clause.subject} {base} {clause.rest}",
        f"{'what' if clause.subject[0].islower() else 'who'} {verb} {clause.rest}",
    ]
    if clause.has_time:
        asking += [f"when {does} {clause.subject} {base} {clause.rest}"] * 3
    if where := PLACE.search(clause.rest):
        asking.append(f"where {does} {clause.subject} {base} {clause.rest[: where.start()]}")
    return _sentence(rng.choice(asking))


def _ask_being(clause: Clause, words: WordClasses, rng: Random) -> str:
    be, subject, rest = clause.verb, clause.subject, clause.rest
    first = rest.split()[0].lower()
    asking = [f"{be} {subject} {rest}"]
    if first in ("a", "an", "the", "one"):
        noun = re.sub(r" (?:of|in|for|from|to|by|with|at|on)\b.*", "", rest)
        asking += [f"{'who' if _who(clause) == 'who' else 'what'} {be} {subject}"]
        if first in ("a", "an") and " " in noun:
            asking.append(f"what kind of {noun.split(' ', 1)[1]} {be} {subject}")
        asking += [f"{_who(clause)} {be} {rest}"]
    elif words.infinitive(PARTICIPLE, first) or first.endswith("ed"):
        asking += [f"{word} {be} {subject} {rest}" for word in ("why", "how")]
        asking += [f"{_who(clause)} {be} {rest}"]
        if clause.has_time:
            asking += [f"when {be} {subject} {rest}"] * 3
        if where := PLACE.search(rest):
            asking += [f"where {be} {subject} {rest[: where.start()]}"] * 2
        if " by " in rest:
            asking.append(f"who {rest.split()[0]} {subject}")
    else:
        asking += [f"why {be} {subject} {rest}", f"{_who(clause)} {be} {rest}"]
    return _sentence(rng.choice(asking))


def _who(clause: Clause) -> str:
    parts = clause.subject.split()
    named = len(parts) > 1 and all(part[0].isupper() for part in parts)
    return "who" if named and parts[0] != "The" else "what"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].strip()}?"

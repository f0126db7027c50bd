"""Keeps the probes' sentences, frames and changed words out of the training pairs."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from .chinese_numbers import VALUES as CHINESE_VALUES
from .edits import Edit, read_lists
from .english_numbers import VALUES as ENGLISH_VALUES

FOLDER = Path(__file__).parents[1] / "probes"
TOKEN = re.compile(r"[A-Za-z']+|\d+|[^\sA-Za-z\d]")
SLOT = re.compile(r"\{(\w+)[^}]*\}")
SENTENCE = re.compile(r"(?<=[.?!。！？])\s*")
NOT_WORDS = re.compile(r"[\W_]+")
MOST_TOKENS = 4
"""A longer change is a change of wording, not of a word."""
EMPTY = set(read_lists("english.json")["function_words"])
"""Words that every sentence needs; a frame of these alone is no one's own."""
VALUES = {**ENGLISH_VALUES, **CHINESE_VALUES}

Change = frozenset[str]


def normal(text: str) -> str:
    """A text without case, spacing and punctuation."""
    return NOT_WORDS.sub("", text.lower())


def stem(token: str) -> str:
    """A word without its ending, so that an inflected pair is known as well."""
    bare = re.sub(r"(?:ing|ed|est|er|es|s|e|y)$", "", token) if len(token) > 3 else token
    return re.sub(r"([^aeiou\W\d])\1$", r"\1", bare) if bare.isascii() else bare


def difference(one: str, other: str) -> tuple[str, str]:
    """What is left of two texts without their common beginning and end, by token.

    >>> difference("going up the stairs", "going down the stairs")
    ('up', 'down')
    """
    first, second = ([token.lower() for token in TOKEN.findall(text)] for text in (one, other))
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if max(len(first), len(second)) > MOST_TOKENS:
        return "", ""
    return " ".join(first), " ".join(second)


def change(one: str, other: str) -> Change | None:
    """The pair of words that a change is about; None where a word comes or goes.

    Numbers go by value and other words by stem; function words count only where there is nothing
    else, as in "is not" and "isn't".
    """
    parts = []
    for part in difference(one, other):
        told = [token for token in part.split() if token not in EMPTY]
        parts.append(" ".join(str(VALUES.get(token, stem(token))) for token in told))
    if parts[0] == parts[1]:  # the same number in words and digits, or function words alone
        parts = list(difference(one, other))
    return frozenset(parts) if all(parts) and parts[0] != parts[1] else None


def entries(given: Any) -> Iterator[list[Any]]:
    """Lists within lists: words that a probe sets against each other."""
    for each in given.values() if isinstance(given, dict) else given:
        if isinstance(each, dict):
            yield from entries(each)
        elif isinstance(each, list):
            if isinstance(given, list) and not any("{" in str(part) for part in each[:2]):
                yield each
            yield from entries(each)


def strings(given: Any) -> Iterator[str]:
    """Every word or phrase in nested lists."""
    if isinstance(given, list | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from strings(each)
    else:
        yield str(given)


class ProbeGuard:
    """Says whether an edit would give away what the probes ask."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.sentences: set[str] = set()
        self.known: dict[str, str | None] = {}
        self.changes: set[Change] = set()
        frames: list[str] = []
        shared = json.loads((folder / "words-en.json").read_text(encoding="utf-8"))
        self._take_entries(shared)
        for path in sorted(folder.glob("*-*.json")):
            given = json.loads(path.read_text(encoding="utf-8"))
            self._take_entries(given)
            if "kinds" in given:
                frames += frames_of(given["kinds"], {**shared, **given["words"]})
                self.sentences |= {
                    normal(each) for each in strings(given["words"]) if is_long(each)
                }
        for path in sorted(folder.glob("*.tsv")):
            self._take_probes(path)
        self.frame = re.compile("|".join(dict.fromkeys(frames)), re.IGNORECASE)

    def _take_entries(self, given: Any) -> None:
        for entry in entries(given):
            for one, other in combinations(entry, 2):
                pairs = zip(one, other, strict=False) if isinstance(one, list) else [(one, other)]
                self._take(*((str(a), str(b)) for a, b in pairs))

    def _take_probes(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            one, other = line.split("\t")[:2]
            self.sentences |= {
                normal(part) for text in (one, other) for part in SENTENCE.split(text)
            }
            self._take((one, other))

    def _take(self, *pairs: Sequence[str]) -> None:
        found = (change(one, other) for one, other in pairs)
        self.changes |= {each for each in found if each is not None}

    def refuses(self, edit: Edit) -> str | None:
        """Why an edit is refused, a probe's sentence, frame or words; None where it is not."""
        if change(*edit.changed) in self.changes or change(edit.first, edit.second) in self.changes:
            return "words"
        if edit.first not in self.known:  # one text has many edits
            self.known = {edit.first: self.refuses_text(edit.first)}
        return self.known[edit.first] or self.refuses_text(edit.second)

    def refuses_text(self, text: str) -> str | None:
        """Why a text is refused."""
        for part in SENTENCE.split(text):
            bare = part.strip(" .?!。？！")
            if bare and normal(part) in self.sentences:
                return "sentence"
            if bare and self.frame.fullmatch(bare):
                return "frame"
        return None


def is_long(text: str) -> bool:
    """Whether a phrase of a word list is as good as a sentence."""
    return len(text.split()) >= 5 or (not text.isascii() and len(text) >= 6)


def frames_of(kinds: Any, words: dict[str, Any]) -> Iterator[str]:
    """Each frame as a pattern: any words in its slots, or its own where nothing else is left."""
    for labels in kinds.values():
        for part in labels.values():
            for source in part["sources"]:
                if isinstance(source, list):
                    yield from (as_pattern(text, source[2], words) for text in source[:2])


def as_pattern(frame: str, slots: dict[str, Any], words: dict[str, Any]) -> str:
    """One frame, without its last stop."""
    literal = SLOT.sub(" ", frame)
    told = [token for token in TOKEN.findall(literal.lower()) if token not in EMPTY]
    own = [token for token in told if re.match(r"\w", token)]
    tells = len(own) >= (4 if not frame.isascii() else 1)
    pattern, place = "", 0
    bare = frame.rstrip(".?!。？！")
    for slot in SLOT.finditer(bare):
        pool = slots[slot.group(1)]
        pool = pool["two"] if isinstance(pool, dict) else pool
        told = sorted(set(strings(words[pool] if isinstance(pool, str) else pool)))
        within = ".{1,60}" if tells else f"(?:{'|'.join(map(re.escape, told))})"
        pattern += re.escape(bare[place : slot.start()]) + within
        place = slot.end()
    return pattern + re.escape(bare[place:])

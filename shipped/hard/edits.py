"""What a rule gives: two texts, how the second relates to the first, and which words changed."""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

WORDS = Path(__file__).parents[1] / "words"
"""The folder of word lists."""


class Relation(Enum):
    """What the second text is to the first."""

    SAME = "same"
    """Each follows from the other."""
    BROADER = "broader"
    """The second follows from the first, not the other way round."""
    NARROWER = "narrower"
    """The first follows from the second, not the other way round."""
    CLASH = "clash"
    """Both cannot be true of one occasion."""
    OTHER = "other"
    """Neither follows from the other, and both may be true."""


SAME, BROADER, NARROWER, CLASH, OTHER = Relation
REVERSED = {BROADER: NARROWER, NARROWER: BROADER}


@dataclass(frozen=True, slots=True)
class Edit:
    """A text, the same text with one thing changed, and what the change does."""

    first: str
    second: str
    relation: Relation
    changed: tuple[str, str] = ("", "")
    """What stood there and what stands there now; the guard of the probes looks at it."""

    def turned(self) -> "Edit":
        """The edit read from its second text to its first."""
        return Edit(
            self.second, self.first, REVERSED.get(self.relation, self.relation), self.changed[::-1]
        )

    def then(self, rule: "Rule", chance: random.Random) -> "Edit":
        """The edit with a harmless one on top of its second text, where the rule finds one."""
        more = [each.second for each in rule(self.second, chance) if each.relation is SAME]
        return replace(self, second=chance.choice(more)) if more else self


Rule = Callable[[str, random.Random], Iterator[Edit]]
"""Gives every edit of its kind that a text allows."""


def swap(text: str, found: re.Match[str], new: str, group: int | str = 0) -> str:
    """The text with a match replaced, a capital letter and the article before it kept right.

    >>> swap("An open door", re.search("open", "An open door"), "closed")
    'A closed door'
    """
    start, end = found.span(group)
    old = text[start:end]
    if old[:1].isupper() and not old.isupper():
        new = new[:1].upper() + new[1:]
    return with_article(text[:start], new) + new + text[end:]


def with_article(before: str, word: str) -> str:
    """What stands before a word, its last article changed to the one that the word takes."""
    article = re.search(r"\b(an?)( )$", before, re.IGNORECASE)
    if article is None or not word:
        return before
    right = "an" if starts_with_vowel(word) else "a"
    written = right.capitalize() if article.group(1)[0].isupper() else right
    return before[: article.start()] + written + " "


def starts_with_vowel(word: str) -> bool:
    """By sound, as far as the spelling tells."""
    lower = word.lower()
    if lower.startswith(("hour", "honest", "honor", "heir", "8", "11", "18")):
        return True
    return lower[:1] in "aeiou" and not lower.startswith(("uni", "use", "usu", "one", "eu", "uti"))


def edit(
    text: str, found: re.Match[str], new: str, relation: Relation, group: int | str = 0
) -> Edit:
    """The text with one match replaced."""
    return Edit(text, swap(text, found, new, group), relation, (found.group(group), new))


def replace_listed(
    text: str, pattern: re.Pattern[str], table: Mapping[str, list[str]], relation: Relation
) -> Iterator[Edit]:
    """An edit for every listed word of the text and every replacement that the table has."""
    for found in pattern.finditer(text):
        for new in table[found.group().lower()]:
            yield edit(text, found, new, relation)


def any_of(words: Mapping[str, Any] | list[str], *, bounded: bool = True) -> re.Pattern[str]:
    """A pattern that finds any of the words, the longest first, whatever their case."""
    listed = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or r"(?!)"
    return re.compile(rf"(?<![\w'-])(?:{listed})(?![\w'-])" if bounded else listed, re.IGNORECASE)


def both_ways(pairs: list[list[str]]) -> dict[str, list[str]]:
    """A word to what may replace it, from pairs that read either way."""
    table: dict[str, list[str]] = {}
    for one, other in pairs:
        table.setdefault(one.lower(), []).append(other)
        table.setdefault(other.lower(), []).append(one)
    return table


def read_rows(name: str) -> list[list[str]]:
    """The rows of a list of words."""
    lines = (WORDS / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def read_lists(name: str) -> dict[str, Any]:
    """A file of lists by name."""
    given: dict[str, Any] = json.loads((WORDS / name).read_text(encoding="utf-8"))
    return given

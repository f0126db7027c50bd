"""Words that mean the same here: a row that has one of them is found by the others as well."""

import re
from collections.abc import Iterator, Sequence
from os import PathLike

from softquery.errors import InputError
from softquery.files.text_lines import open_text

Groups = tuple[tuple[str, ...], ...]
MOST_GROUPS = 1000
MOST_VARIANTS = 8
"""Variants of a text, so that one with many such words does not fill the index."""


def read_synonyms(path: str | PathLike[str]) -> Groups:
    """Groups of synonyms from a text file: a line each, with commas between them.

    Lines that are blank or begin with `#` are left out.

    Raises:
        InputError: A line names less than two.
    """
    found: list[tuple[str, ...]] = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            group = tuple(dict.fromkeys(word.strip() for word in line.split(",") if word.strip()))
            if len(group) < 2:
                message = f"expected words with commas between them, found {line.strip()!r:.60}"
                raise InputError(message, source=path, row=number)
            found.append(group)
    if len(found) > MOST_GROUPS:
        raise InputError(f"holds {len(found):,} groups, at most {MOST_GROUPS:,}", source=path)
    return tuple(found)


class Synonyms:
    """Variants of texts, by synonyms.

    Args:
        groups: Words or phrases that mean the same.

    >>> Synonyms((("PTO", "paid time off"), ("ask", "request"))).variants("How do I request pto?")
    ['How do I request paid time off?', 'How do I ask pto?']
    """

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._others: dict[str, list[str]] = {}
        for group in groups:
            for word in group:
                others = [each for each in group if each.lower() != word.lower()]
                self._others.setdefault(word.lower(), []).extend(others)
        words = sorted(self._others, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_whole, words)), re.IGNORECASE) if words else None

    def variants(self, text: str) -> list[str]:
        """The text with one of its words replaced by each synonym, in the order of the groups."""
        found = dict.fromkeys(self._variants(text))
        found.pop(text, None)
        return list(found)[:MOST_VARIANTS]

    def _variants(self, text: str) -> Iterator[str]:
        if self._pattern is None:
            return
        present = {match[0].lower() for match in self._pattern.finditer(text)}
        for word in (each for each in self._others if each in present):
            for other in self._others[word]:
                pattern = re.compile(_whole(word), re.IGNORECASE)
                yield pattern.sub(lambda match, other=other: other, text)  # type: ignore[misc]


def _whole(word: str) -> str:
    """A pattern of a word that is not a part of another; Chinese has no spaces to tell."""
    first = r"(?<!\w)" if word[0].isascii() else ""
    last = r"(?!\w)" if word[-1].isascii() else ""
    return f"{first}{re.escape(word)}{last}"

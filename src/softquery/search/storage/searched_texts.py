"""Several searched texts of one row: each is stored like a row of its own, and names its owner.

A row with three phrasings is stored as three rows, next to each other in one segment: the row as it
was given, and two that have its columns, another text in `question`, and a cell `matched`, which
says whose text they are and where it stands. A search finds any of them and shows the owner once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from softquery.search.storage.entries import ANSWER, ID, MATCHED, QUESTION

SEPARATOR = "\x1f"
"""Between the id of a row and the number of a further text of it."""
LONGEST_COPY = 2000
"""Characters of an answer that is repeated with each further text of its row."""


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A further text by which a row is found.

    Attributes:
        owner: The id of the row.
        column: Where the text stands.
        text: It.
        start: The character at which it begins in that column, if it is a passage of it.
        end: Where it ends.
    """

    owner: str
    column: str
    text: str
    start: int | None = None
    end: int | None = None

    def stored(self, row: Mapping[str, str], number: int) -> dict[str, str]:
        """The row as which it is stored.

        Args:
            row: The owner.
            number: How many texts of the owner there were before, the question included.
        """
        place: dict[str, Any] = {"row": self.owner, "column": self.column}
        if self.start is not None:
            place |= {"start": self.start, "end": self.end}
        kept = {
            name: value
            for name, value in row.items()
            if name in (ANSWER, *_SHORT_NAMES) or len(value) <= LONGEST_COPY
        }
        if kept.get(ANSWER):
            kept[ANSWER] = answer_key(kept[ANSWER])
        own = {ID: f"{self.owner}{SEPARATOR}{number}", QUESTION: self.text}
        return {**kept, **own, MATCHED: json.dumps(place, ensure_ascii=False)}

    def shown(self) -> dict[str, Any]:
        """As a hit shows it."""
        found: dict[str, Any] = {"column": self.column, "text": self.text}
        if self.start is not None:
            found |= {"start": self.start, "end": self.end}
        return found


_SHORT_NAMES = (ID, QUESTION)


def answer_key(answer: str) -> str:
    """What tells an answer from others: itself, or a digest of a long one.

    >>> answer_key("Yes."), len(answer_key("Yes. " * 1000))
    ('Yes.', 33)
    """
    if len(answer) <= LONGEST_COPY:
        return answer
    return SEPARATOR + blake2b(answer.encode(), digest_size=16).hexdigest()


def owner_of(key: str, cell: str) -> str:
    """The id of the row that a stored row belongs to: its own, unless it is a further text.

    Args:
        key: The id of the stored row.
        cell: What it has in the column `matched`.
    """
    found = read_text(cell, "")
    return key if found is None else found.owner


def read_text(cell: str, text: str) -> SearchedText | None:
    """The further text that a stored row is; None if it is a row as it was given.

    >>> read_text('{"row": "7", "column": "answer", "start": 0, "end": 9}', "By train.")
    SearchedText(owner='7', column='answer', text='By train.', start=0, end=9)
    """
    if not cell:
        return None
    try:
        place = json.loads(cell)
        owner, column = place["row"], place["column"]
        start, end = place.get("start"), place.get("end")
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if not isinstance(owner, str) or not isinstance(column, str):
        return None
    if not all(type(each) is int for each in (start, end)):
        start = end = None
    return SearchedText(owner, column, text, start, end)


def groups(rows: Sequence[Mapping[str, str]]) -> list[list[Mapping[str, str]]]:
    """Stored rows by their owners, which stand next to each other.

    >>> [len(group) for group in groups([{"id": "a"}, {"id": "a2", "matched": "{}"}, {"id": "b"}])]
    [2, 1]
    """
    found: list[list[Mapping[str, str]]] = []
    for row in rows:
        if found and row.get(MATCHED):
            found[-1].append(row)
        else:
            found.append([row])
    return found

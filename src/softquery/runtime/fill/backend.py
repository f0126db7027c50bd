"""What computes the words for masks: an encoder with its head for hidden words.

M masked places, V pieces of the vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import BertRow


class MaskedRow(NamedTuple):
    """A row of pieces, and the places in it that are asked for."""

    row: BertRow
    places: Sequence[int]


class FillBackend(Protocol):
    """An encoder with its head for hidden words."""

    @property
    def name(self) -> str:
        """The name of the backend, such as `"onnx"`."""

    def logits(self, rows: Sequence[MaskedRow]) -> list[Floats]:
        """Logits of all pieces at the places of each row: [M, V]."""


def flat_places(rows: Sequence[MaskedRow]) -> list[int]:
    """The places of padded rows laid end to end.

    >>> flat_places([MaskedRow(BertRow([2, 4, 3], 3), [1]), MaskedRow(BertRow([4, 3], 2), [0])])
    [1, 3]
    """
    length = max(len(each.row.ids) for each in rows)
    return [number * length + place for number, each in enumerate(rows) for place in each.places]


def by_row(logits: Floats, rows: Sequence[MaskedRow]) -> list[Floats]:
    """The logits of every row, cut from those of all places."""
    found, start = [], 0
    for each in rows:
        found.append(logits[start : start + len(each.places)])
        start += len(each.places)
    return found

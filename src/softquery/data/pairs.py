"""Pairs of sentences with a label: rows of a file to batches of tensors."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from softquery.data.tokens import Sentences, Tokens, WordIds, distributions, parsed_label, softened
from softquery.files import Row
from softquery.nn import Lexicon
from softquery.text import TextPipeline

Item = TypeVar("Item")
CHUNK = 4096
"""Rows that are tokenised at a time."""
NO_LABEL = -1
"""The class of a pair that only a teacher has an opinion of."""


class PairBatch(NamedTuple):
    """B pairs, and the label of each where it is known.

    Labels are class ids, graded floats, or a distribution over C classes for each pair. Where there
    is a lexicon, ids are its rows.
    """

    first: Tokens
    second: Tokens
    label: Shaped[Tensor, "B *C"] | None
    lexicon: Lexicon | None = None
    taught: Float[Tensor, "B C"] | None = None
    """A teacher's logits of each pair; labels are then those of a file, `NO_LABEL` or NaN where it
    has none."""

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self.first.ids)

    def apart(self, both: Shaped[Tensor, "N T *D"]) -> tuple[Tensor, Tensor]:
        """What was computed of `first.beside(second)`, cut to the rows and lengths of each side."""
        lengths = self.first.ids.shape[1], self.second.ids.shape[1]
        return both[: self.size, : lengths[0]], both[self.size :, : lengths[1]]

    def swapped(self, chosen: Bool[Tensor, " B"]) -> "PairBatch":
        """The batch with the two sentences of the chosen pairs in the other order.

        Both sides must be padded to one length.
        """
        first, second = (
            Tokens(
                *(
                    torch.where(chosen.unsqueeze(1), other, one)
                    for one, other in zip(mine, theirs, strict=True)
                )
            )
            for mine, theirs in ((self.first, self.second), (self.second, self.first))
        )
        return self._replace(first=first, second=second)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A whole set of pairs as ids, ready to be cut into batches."""

    first: Sentences
    second: Sentences
    label: Shaped[Tensor, "N *C"]
    num_cut: int = 0
    """Sentences that were longer than the pipeline's limit."""
    lexicon: Lexicon | None = None
    """The words that ids are rows of, for models that read their characters."""
    taught: Float[Tensor, "N C"] | None = None
    """A teacher's logits of each pair."""

    def __len__(self) -> int:
        return len(self.label)

    def lengths(self) -> Int[Tensor, " N"]:
        """The longer side of each pair: what its batch must be padded to."""
        return torch.maximum(self.first.lengths, self.second.lengths)

    def to(self, device: torch.device | str) -> "Pairs":
        """The same pairs on another device."""
        return replace(
            self,
            first=self.first.to(device),
            second=self.second.to(device),
            label=self.label.to(device),
            lexicon=None if self.lexicon is None else self.lexicon.to(device),
            taught=None if self.taught is None else self.taught.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int) -> PairBatch:
        """The chosen pairs, both sides padded to `length`."""
        sides = (self.first.pad(rows, length), self.second.pad(rows, length))
        taught = None if self.taught is None else self.taught[rows]
        return PairBatch(*sides, self.label[rows], self.lexicon, taught)


def encode_pairs(
    rows: Iterable[Row],
    pipeline: TextPipeline,
    *,
    parse_label: Callable[[str], int | float],
    parse_distribution: Callable[[str], list[float]] | None = None,
    max_characters: int | None = None,
) -> Pairs:
    """Tokenise the rows' `sentence1`, `sentence2` and `label`.

    Args:
        rows: As `read_rows` gives them.
        pipeline: Turns sentences into ids.
        parse_label: From the label's text to a class id or a graded value; a `ValueError` is
            reported with the row.
        parse_distribution: Reads `probabilities`, a teacher's distribution that replaces the label
            in rows that have one; omitted, they are ignored.
        max_characters: Characters per word, for a model that reads them; ids are then rows of a
            lexicon, and no word is unknown.
    """
    word_ids = WordIds(pipeline)
    encode = pipeline.encode_ids_with_cuts if max_characters is None else word_ids.encode_texts
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    labels: list[int | float] = []
    taught: dict[int, list[float]] = {}
    num_cut = 0
    stream = iter(rows)
    while chunk := list(islice(stream, CHUNK)):
        if parse_distribution is not None:
            taught |= distributions(chunk, parse_distribution, before=len(labels))
        labels.extend(parsed_label(row, parse_label) for row in chunk)
        for side, column in zip(sides, ("sentence1", "sentence2"), strict=True):
            texts = [row.values[column] for row in chunk]
            ids, cuts = encode(texts)
            side.extend(ids)
            num_cut += sum(cut > 0 for cut in cuts)
    kind = torch.float32 if any(isinstance(value, float) for value in labels) else torch.int64
    label = torch.tensor(labels, dtype=kind)
    return Pairs(
        Sentences.pack(sides[0]),
        Sentences.pack(sides[1]),
        softened(label, taught) if taught else label,
        num_cut,
        None if max_characters is None else word_ids.lexicon(max_characters=max_characters),
    )


def first_sentence(row: Row) -> str:
    """The key by which pairs are held back together."""
    return row.values["sentence1"]


def split_rows(
    rows: list[Item], *, share: float, seed: int, key: Callable[[Item], Hashable]
) -> tuple[list[Item], list[Item]]:
    """Hold back a seeded share of the rows, in the order of the file: (kept, held back).

    Rows with the same key stay together, so that nothing is tuned on what was trained on.
    """
    keys = [key(row) for row in rows]
    groups = {each: place for place, each in enumerate(dict.fromkeys(keys))}
    order = torch.randperm(len(groups), generator=torch.Generator().manual_seed(seed))
    held = set(order[: round(share * len(groups))].tolist())
    kept = [row for row, each in zip(rows, keys, strict=True) if groups[each] not in held]
    return kept, [row for row, each in zip(rows, keys, strict=True) if groups[each] in held]


def take_share(rows: list[Item], *, share: float, seed: int) -> list[Item]:
    """A seeded share of the rows, at least one, in the order of the file.

    Larger shares hold the smaller ones of the same seed.

    >>> [len(take_share(list(range(50)), share=share, seed=1)) for share in (1, 0.1, 0.001)]
    [50, 5, 1]
    """
    if share >= 1:
        return rows
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    chosen = order[: max(1, round(share * len(rows)))].sort().values
    return [rows[place] for place in chosen.tolist()]

"""Documents of sentences of words, and batches of documents of like shape.

N documents in all, M sentences of all of them, B documents of a batch, S sentences, T words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from softquery.data.buckets import Slot, round_up
from softquery.data.tokens import Sentences

MOST_WORDS = (1 << 16) - 1
"""Of a sentence: a batch's shape is told as one number, S · 2¹⁶ + T."""


class DocumentBatch(NamedTuple):
    """B documents, and the class of each where it is known."""

    ids: Int[Tensor, "B S T"]
    mask: Bool[Tensor, "B S T"]
    label: Shaped[Tensor, "B *C"] | None

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.ids)

    @property
    def sentence_mask(self) -> Bool[Tensor, "B S"]:
        """Where there is a sentence."""
        return self.mask[:, :, 0]


class DocumentShape(NamedTuple):
    """What documents are padded to."""

    num_sentences: int
    num_words: int

    @property
    def as_length(self) -> int:
        """Both in the one number that a `Slot` has for the shape of its batch.

        >>> DocumentShape.of_length(DocumentShape(12, 40).as_length)
        DocumentShape(num_sentences=12, num_words=40)
        """
        return self.num_sentences * (MOST_WORDS + 1) + self.num_words

    @classmethod
    def of_length(cls, length: int) -> "DocumentShape":
        """The shape that `as_length` told."""
        return cls(*divmod(length, MOST_WORDS + 1))

    @property
    def num_tokens(self) -> int:
        """Of one document, padding included."""
        return self.num_sentences * self.num_words


@dataclass(frozen=True, slots=True)
class Documents:
    """A whole set of documents, ready to be cut into batches."""

    sentences: Sentences
    """Those of all documents, one after the other; none is empty."""
    starts: Int[Tensor, " N"]
    counts: Int[Tensor, " N"]
    """First sentence and number of sentences of each document."""
    label: Shaped[Tensor, "N *C"] | None = None
    num_cut: int = 0
    """Documents that were longer than the model's limits."""

    @classmethod
    def pack(cls, documents: Sequence[Sequence[Sequence[int]]]) -> "Documents":
        """Lay documents of sentences of ids end to end.

        >>> packed = Documents.pack([[[7, 8], [9]], []])
        >>> packed.batch(torch.tensor([0, 1]), DocumentShape(2, 2).as_length).ids.tolist()
        [[[7, 8], [9, 0]], [[0, 0], [0, 0]]]
        """
        counts = torch.tensor([len(document) for document in documents], dtype=torch.int64)
        sentences = Sentences.pack(list(chain.from_iterable(documents)))
        return cls(sentences, counts.cumsum(0) - counts, counts)

    def __len__(self) -> int:
        return len(self.counts)

    def to(self, device: torch.device | str) -> "Documents":
        """The same documents on another device."""
        return replace(
            self,
            sentences=self.sentences.to(device),
            starts=self.starts.to(device),
            counts=self.counts.to(device),
            label=None if self.label is None else self.label.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int) -> DocumentBatch:
        """The chosen documents, padded to the shape that `length` tells."""
        shape = DocumentShape.of_length(length)
        label = None if self.label is None else self.label[rows]
        size = (len(rows), *shape)
        if len(self.sentences) == 0:  # documents of nothing alone
            nothing = torch.zeros(size, dtype=torch.int64, device=rows.device)
            return DocumentBatch(nothing, nothing.bool(), label)
        place = torch.arange(shape.num_sentences, device=rows.device)
        there = place < self.counts[rows].unsqueeze(1)  # [B, S]
        chosen = (self.starts[rows].unsqueeze(1) + place).clamp(max=len(self.sentences) - 1)
        tokens = self.sentences.pad(chosen.flatten(), shape.num_words)
        mask = tokens.mask.view(size) & there.unsqueeze(-1)
        return DocumentBatch(tokens.ids.view(size).masked_fill(~mask, 0), mask, label)

    def shapes(self, pad_multiple: int) -> Int[Tensor, "N 2"]:
        """Sentences and words that each document is padded to, few different numbers of either."""
        longest = torch.zeros(len(self), dtype=torch.int64)
        lengths, counts = self.sentences.lengths.cpu(), self.counts.cpu()
        owners = torch.arange(len(self)).repeat_interleave(counts)
        longest.scatter_reduce_(0, owners, lengths, reduce="amax")
        words = [round_up(int(length), pad_multiple) for length in longest]
        return torch.tensor(
            [[padded_count(int(count)), width] for count, width in zip(counts, words, strict=True)],
            dtype=torch.int64,
        ).view(-1, 2)


def padded_count(count: int) -> int:
    """A number of sentences, rounded up to one of few: at most a third is padding.

    >>> [padded_count(count) for count in (0, 1, 5, 9, 13, 33)]
    [1, 1, 6, 12, 16, 48]
    """
    size = 1
    while size < count:
        half = size * 3 // 2
        if size > 1 and half >= count:
            return half
        size *= 2
    return size


def document_slots(
    shapes: Int[Tensor, "N 2"],
    *,
    batch_size: int,
    num_tokens: int,
    seed: int | None = None,
    epoch: int = 0,
) -> list[Slot]:
    """Every document once, in batches of one shape and a bounded number of tokens.

    Documents that are padded to one shape fill whole batches of one size, so that every epoch has
    the same few shapes and each can be recorded as a CUDA graph; what is left over at a shape goes
    together with what is left over at the next ones. The same seed and epoch give the same
    batches.

    Args:
        shapes: As `Documents.shapes` gives them.
        batch_size: The most documents of a batch.
        num_tokens: The most tokens of a batch, padding included; a document that has more by itself
            is a batch.
        seed: The run's seed; None keeps the order, for measuring.
        epoch: The epoch's number.
    """
    if seed is None:
        order, generator = torch.arange(len(shapes)), None
    else:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        order = torch.randperm(len(shapes), generator=generator)
    groups: dict[DocumentShape, list[int]] = {}
    for row, shape in zip(order.tolist(), shapes[order].tolist(), strict=True):
        groups.setdefault(DocumentShape(*shape), []).append(row)
    slots: list[Slot] = []
    left: list[tuple[DocumentShape, int]] = []
    for common, rows in sorted(groups.items()):
        size = max(1, min(batch_size, num_tokens // common.num_tokens))
        whole = len(rows) // size * size
        slots.extend(_slot(rows[at : at + size], common) for at in range(0, whole, size))
        left.extend((common, row) for row in rows[whole:])
    slots.extend(_left_over(left, batch_size, num_tokens))
    if generator is None:
        return slots
    return [slots[at] for at in torch.randperm(len(slots), generator=generator).tolist()]


def _left_over(
    left: Sequence[tuple[DocumentShape, int]], batch_size: int, num_tokens: int
) -> Iterator[Slot]:
    """Batches of documents of several shapes, as large as the limits allow."""
    rows: list[int] = []
    common = DocumentShape(1, 1)
    for shape, row in left:
        wider = DocumentShape(*map(max, common, shape))
        if rows and (len(rows) == batch_size or (len(rows) + 1) * wider.num_tokens > num_tokens):
            yield _slot(rows, common)
            rows, wider = [], shape
        rows.append(row)
        common = wider
    if rows:
        yield _slot(rows, common)


def _slot(rows: Sequence[int], shape: DocumentShape) -> Slot:
    return Slot(torch.tensor(rows), shape.as_length)

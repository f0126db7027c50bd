"""One or two texts in a row as BERT reads them, and words that are cut into pieces.

N rows in all, B of a batch, T pieces, W words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional as F

from softquery.answers import ContextWindow, ContextWindows
from softquery.data.questions import shared_sentences
from softquery.data.tokens import Sentences, Tokens
from softquery.text import PieceEncoder, TextPipeline


class PieceBatch(NamedTuple):
    """B rows of pieces: `[CLS] a [SEP] b [SEP]`, and to which of the two texts each belongs."""

    tokens: Tokens
    segments: Int[Tensor, "B T"]
    label: Shaped[Tensor, "B *C"] | None = None
    taught: Float[Tensor, "B C"] | None = None
    """A teacher's logits of each row."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.segments)

    def inside_second(self) -> Bool[Tensor, "B T"]:
        """The second text itself, without the mark at its end."""
        mask = self.tokens.mask & (self.segments == 1)
        return mask & F.pad(mask[:, 1:], (0, 1))  # the last piece has nothing behind it

    def swapped(self, chosen: Bool[Tensor, " B"]) -> "PieceBatch":
        """The batch with the two texts of the chosen rows in the other order."""
        place = torch.arange(self.segments.shape[1], device=chosen.device)
        total = self.tokens.mask.sum(dim=1, keepdim=True)
        second = self.segments.sum(dim=1, keepdim=True)  # with the mark at its end
        first = total - second
        # [CLS] b [SEP] a [SEP]: the mark at the beginning stays where it is.
        source = torch.where(place <= second, first + place - 1, place - second)
        source = torch.where((place == 0) | (place >= total), place, source)
        source = torch.where(chosen.unsqueeze(1), source, place)
        split = torch.where(chosen.unsqueeze(1), second + 1, first)
        segments = ((place >= split) & self.tokens.mask).to(self.segments.dtype)
        ids = self.tokens.ids.gather(1, source)
        return self._replace(tokens=Tokens(ids, self.tokens.mask), segments=segments)


@dataclass(frozen=True, slots=True)
class PiecePairs:
    """A whole set of pairs, each side between its marks; a batch joins both in one row."""

    first: Sentences
    second: Sentences
    label: Shaped[Tensor, "N *C"]
    num_cut: int = 0
    """Texts that were longer than the limit."""
    taught: Float[Tensor, "N C"] | None = None
    """A teacher's logits of each pair."""

    def __len__(self) -> int:
        return len(self.first)

    def lengths(self) -> Int[Tensor, " N"]:
        """Pieces of each row."""
        return self.first.lengths + self.second.lengths - 1

    def to(self, device: torch.device | str) -> "PiecePairs":
        """The same pairs on another device."""
        return replace(
            self,
            first=self.first.to(device),
            second=self.second.to(device),
            label=self.label.to(device),
            taught=None if self.taught is None else self.taught.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int) -> PieceBatch:
        """The chosen pairs, padded to `length`."""
        joined = joined_rows(self.first, self.second, rows, length)
        taught = None if self.taught is None else self.taught[rows]
        return joined._replace(label=self.label[rows], taught=taught)


@dataclass(frozen=True, slots=True)
class PieceWindows:
    """A whole set of context windows, each in one row with its question."""

    question: Sentences
    context: Sentences
    label: Int[Tensor, "N 2"] | None = None
    """The first and the last piece of the answer in the window; `NO_ANSWER` twice for none."""
    windowed: ContextWindows | None = None
    """Where the windows come from."""

    def __len__(self) -> int:
        return len(self.context)

    def lengths(self) -> Int[Tensor, " N"]:
        """Pieces of each row."""
        return self.question.lengths + self.context.lengths - 1

    def to(self, device: torch.device | str) -> "PieceWindows":
        """The same windows on another device."""
        return replace(
            self,
            question=self.question.to(device),
            context=self.context.to(device),
            label=None if self.label is None else self.label.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int) -> PieceBatch:
        """The chosen windows, padded to `length`; labels count from the beginning of the row."""
        batch = joined_rows(self.question, self.context, rows, length)
        if self.label is None:
            return batch
        label = self.label[rows]
        moved = label + self.question.lengths[rows].unsqueeze(1)
        return batch._replace(label=torch.where(label < 0, label, moved))


def joined_rows(
    first: Sentences, second: Sentences, rows: Int[Tensor, " B"], length: int
) -> PieceBatch:
    """Two texts in one row; the second loses the mark at its beginning.

    >>> texts = Sentences.pack([[2, 7, 3]]), Sentences.pack([[2, 8, 9, 3]])
    >>> batch = joined_rows(*texts, torch.tensor([0]), 7)
    >>> batch.tokens.ids.tolist(), batch.segments.tolist()
    ([[2, 7, 3, 8, 9, 3, 0]], [[0, 0, 0, 1, 1, 1, 0]])
    """
    place = torch.arange(length, device=rows.device)
    sizes = first.lengths[rows].unsqueeze(1)
    is_first = place < sizes
    mask = place < sizes + second.lengths[rows].unsqueeze(1) - 1
    one = (first.starts[rows].unsqueeze(1) + place).clamp(max=len(first.ids) - 1)
    other = second.starts[rows].unsqueeze(1) + 1 + place - sizes
    ids = torch.where(
        is_first, first.ids[one], second.ids[other.clamp(min=0, max=len(second.ids) - 1)]
    ).to(torch.int64)
    segments = (mask & ~is_first).to(torch.int64)
    return PieceBatch(Tokens(ids.masked_fill(~mask, 0), mask), segments)


def encode_piece_windows(
    windows: Sequence[ContextWindow],
    pipeline: TextPipeline,
    *,
    labels: Sequence[tuple[int, int]] | None = None,
) -> PieceWindows:
    """Context windows as ids of pieces.

    Args:
        windows: As `softquery.answers.make_windows` makes them with a pipeline of pieces.
        pipeline: That pipeline.
        labels: The first and last piece of the answer in each window, `NO_ANSWER` twice for none.
    """
    cutting = PieceEncoder(pipeline)
    label = None
    if labels is not None:
        label = torch.tensor(labels, dtype=torch.int64).reshape(-1, 2)
    return PieceWindows(
        shared_sentences([window.question for window in windows], cutting.marked),
        shared_sentences([window.words for window in windows], cutting.marked),
        label,
    )


class WordPieceBatch(NamedTuple):
    """B sentences as pieces, the place of each word's first piece, and a tag for each word."""

    tokens: Tokens
    places: Int[Tensor, "B W"]
    word_mask: Bool[Tensor, "B W"]
    label: Int[Tensor, "B W"] | None

    @property
    def size(self) -> int:
        """Number of sentences."""
        return len(self.places)


@dataclass(frozen=True, slots=True)
class WordPieces:
    """A whole set of sentences as pieces of words, ready to be cut into batches."""

    pieces: Sentences
    """Each sentence between its marks."""
    places: Sentences
    """The place of each word's first piece."""
    label: Sentences | None = None
    """The tag of each word."""
    num_cut: int = 0
    """Sentences that are read in parts."""

    def __len__(self) -> int:
        return len(self.pieces)

    def lengths(self) -> Int[Tensor, " N"]:
        """Pieces of each sentence."""
        return self.pieces.lengths

    def num_words(self) -> Int[Tensor, " N"]:
        """Words of each sentence."""
        return self.places.lengths

    def to(self, device: torch.device | str) -> "WordPieces":
        """The same sentences on another device."""
        return replace(
            self,
            pieces=self.pieces.to(device),
            places=self.places.to(device),
            label=None if self.label is None else self.label.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int) -> WordPieceBatch:
        """The chosen sentences; words are padded as pieces are, of which there are never fewer."""
        places, word_mask = self.places.pad(rows, length)
        label = None if self.label is None else self.label.pad(rows, length).ids
        return WordPieceBatch(self.pieces.pad(rows, length), places, word_mask, label)

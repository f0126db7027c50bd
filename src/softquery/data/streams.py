"""Running text window by window: streams for language models, windows of words for word2vec.

A corpus lies on the disk as the ids of its word types, once as written and once with every line
reversed, and is memory-mapped, never loaded. Cut into S equal parts it makes S streams, which are
read side by side; each step reads the next T words of every stream, so that the state of an LSTM
can be carried from step to step (truncated backpropagation through time).

B streams or windows of a batch, T steps of a window or targets of its words, U distinct types in
it, C characters of a type, or words around another, R rows of such a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from softquery.data.buckets import Slot
from softquery.text import UNK_ID
from softquery.text.characters import FILLER

TYPES_MULTIPLE = 8
"""Distinct types are padded to a multiple of it, which suits matrix products on GPUs."""


CROPS = (16, 24)
"""Characters to which short types are cropped; half of all types fit the first."""


class StreamBatch(NamedTuple):
    """A window of B streams in both reading directions, with the next words.

    `forwards` and `backwards` are rows of `characters`. The targets are ids of the vocabulary that
    is predicted, `<unk>` for all words beyond it.
    """

    characters: Shaped[Tensor, "U C"]
    forwards: Int[Tensor, "B T"]
    backwards: Int[Tensor, "B T"]
    forward_targets: Int[Tensor, "B T"]
    backward_targets: Int[Tensor, "B T"]
    streams: Int[Tensor, " B"]
    state: Any = None
    """The model's state after the words before, or None at the beginning."""
    crops: tuple[tuple[int, int], ...] = ()
    """(types, characters): consecutive types are cropped to so many characters; empty for none."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Consecutive words as streams; the tensors may be mapped from a file, or lie on a GPU.

    Attributes:
        forwards: Ids as written; every line begins with `<bos>` and ends with `<eos>`.
        backwards: The same with each line reversed: from `<eos>` to `<bos>`.
        characters: The characters of each type.
        vocab_size: Types below it are predicted; all others count as `<unk>`.
        num_streams: Parts that are read side by side.
        lengths: Characters to which types are cropped by class, see `cropped`.
        classes: The class of each type, an index of `lengths`.
        multiple: Types of a class are padded to a multiple of it.
    """

    forwards: Int[Tensor, " N"]
    backwards: Int[Tensor, " N"]
    characters: Shaped[Tensor, "types C"]
    vocab_size: int
    num_streams: int
    lengths: tuple[int, ...] = ()
    classes: Int[Tensor, " types"] | None = None
    multiple: int = TYPES_MULTIPLE

    @property
    def stream_length(self) -> int:
        """Words of one stream; what is left over at the end is not read."""
        return len(self.forwards) // self.num_streams

    def num_steps(self, unroll: int) -> int:
        """Windows of `unroll` words that have a word after them."""
        return max(0, self.stream_length - 1) // unroll

    def part(self, start: int, end: int, *, num_streams: int) -> "Streams":
        """Some of the words, cut into other streams."""
        return replace(
            self,
            forwards=self.forwards[start:end],
            backwards=self.backwards[start:end],
            num_streams=num_streams,
        )

    def cropped(self, *, widest: int, multiple: int = TYPES_MULTIPLE) -> "Streams":
        """The same, with short types cropped to fewer characters in each batch.

        Filters followed by a maximum over places lose nothing as long as one place is left that
        sees filler alone.

        Args:
            widest: Characters that the widest filter sees.
            multiple: Types of a class are padded to a multiple of it; the larger, the fewer shapes
                a batch can have.
        """
        whole = self.characters.shape[1]
        lengths = [length for length in CROPS if widest < length < whole]
        needed = (self.characters != FILLER).sum(dim=1) + widest
        limits = torch.tensor(lengths, device=needed.device, dtype=needed.dtype)
        return replace(
            self,
            lengths=(*lengths, whole),
            classes=torch.searchsorted(limits, needed),
            multiple=multiple,
        )

    def slot(self, start: int, length: int) -> Slot:
        """The window of all streams that begins `start` words after their beginning."""
        return Slot(torch.arange(self.num_streams) * self.stream_length + start, length)

    def batch(self, rows: Int[Tensor, " B"], length: int) -> StreamBatch:
        """The windows that begin at these places, on the device of `rows`."""
        forwards, forward_targets = self._window(self.forwards, rows, length)
        backwards, backward_targets = self._window(self.backwards, rows, length)
        types, places = torch.unique(torch.stack([forwards, backwards]), return_inverse=True)
        types, position, crops = self._arranged(types)
        places = position[places]
        return StreamBatch(
            self.characters[types.to(self.characters.device)].to(rows.device),
            places[0],
            places[1],
            torch.where(forward_targets < self.vocab_size, forward_targets, UNK_ID),
            torch.where(backward_targets < self.vocab_size, backward_targets, UNK_ID),
            rows // self.stream_length,
            crops=crops,
        )

    def _arranged(self, types: Tensor) -> tuple[Tensor, Tensor, tuple[tuple[int, int], ...]]:
        """Types class by class with padding, where each of them went, and how they are cropped."""
        device = types.device
        if self.classes is None:
            counts, order = [len(types)], torch.arange(len(types), device=device)
        else:
            classes = self.classes[types.to(self.classes.device)].to(device)
            order = torch.argsort(classes, stable=True)
            counts = torch.bincount(classes, minlength=len(self.lengths)).tolist()
        filled = [-(-count // self.multiple) * self.multiple for count in counts]
        gaps = torch.tensor([0, *(f - c for f, c in zip(filled, counts, strict=True))])[:-1]
        shift = gaps.cumsum(0).repeat_interleave(torch.tensor(counts)).to(device)
        position = torch.empty_like(order)
        position[order] = torch.arange(len(types), device=device) + shift
        arranged = types.new_full((sum(filled),), UNK_ID)
        arranged[position] = types
        return arranged, position, tuple(zip(filled, self.lengths, strict=False))

    def _window(self, ids: Tensor, rows: Tensor, length: int) -> tuple[Tensor, Tensor]:
        places = rows.unsqueeze(1) + torch.arange(length + 1, device=rows.device)
        words = ids[places.to(ids.device)].to(rows.device, torch.int64)
        return words[:, :-1], words[:, 1:]


class StreamSlots(Sequence[Slot]):
    """The windows of an epoch in reading order, made on demand.

    Args:
        streams: What is read.
        first: Number of the first window.
        count: Windows.
        unroll: Words of a window.
    """

    def __init__(self, streams: Streams, first: int, count: int, unroll: int) -> None:
        self.streams, self.first, self.unroll = streams, first, unroll
        self._length = count

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Any:
        """One window's slot; slices are lists."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} windows, got {place}")
        return self.streams.slot((self.first + place % len(self)) * self.unroll, self.unroll)


@dataclass(frozen=True, slots=True)
class Windows:
    """The words around each word of a corpus, with the targets they are scored against.

    Attributes:
        rows: Input rows of each word around: its own, and those of its n-grams.
        row_mask: Which of them are real.
        targets: Output rows.
        target_mask: Which of them are real.
        label: 1 for the true target, otherwise 0.
        offset: Added to a target's scores: 0, and for NCE the negative log of how often noise is
            expected to draw it.
    """

    rows: Int[Tensor, "B C R"]
    row_mask: Bool[Tensor, "B C R"]
    targets: Int[Tensor, "B T"]
    target_mask: Bool[Tensor, "B T"]
    label: Float[Tensor, "B T"]
    offset: Float[Tensor, "B T"]

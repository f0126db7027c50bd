"""Excerpts of documents as batches with hidden words, made on the device, the same everywhere.

Which words are hidden, and what replaces them, is a hash of their places in the text and of a salt
that changes with the epoch, not the output of a generator: each epoch draws differently, a resumed
run draws the same, and so do several processes. All shapes are known in advance and nothing is read
back, so that a CUDA graph can record it.

B bins of L tokens each, N = B·L tokens, P excerpts per bin, S = B·(P+1) sequences (the last one of
a bin is filler), M words to predict.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from softquery.attention import Packing
from softquery.data.buckets import EMPTY, Slot, fill_bins
from softquery.data.document_text import Numbers
from softquery.data.tokens import PackedTokens
from softquery.text import (
    BERT_CLS,
    BERT_MASK,
    BERT_PAD,
    BERT_RESERVED,
    BERT_SEP,
    CONTINUATION,
    TextPipeline,
    bert_vocabulary,
)

MaskedUnit = Literal["pieces", "words"]
NONE = -100
"""The target where there is none; torch's losses ignore it."""
COLUMNS = 5
RANGE = 1 << 32
_PLACE, _CHOICE, _WORD = 1, 2, 3
"""Purposes for which numbers are drawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Masking:
    """Which words are hidden and how (Devlin et al. 2019, Section 3.1, Task 1, and A.1)."""

    share: float = 0.15
    """Share of the text that is predicted."""
    unit: MaskedUnit = "pieces"
    """`"words"` hides all pieces of a word, or none."""
    as_mask: float = 0.8
    """Of these, the share that is replaced by `[MASK]`."""
    as_random: float = 0.1
    """Of these, the share that is replaced by a random word; the rest is left unchanged."""

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share}")
        if self.unit not in get_args(MaskedUnit):
            raise ValueError(f"unit must be one of {get_args(MaskedUnit)}, got {self.unit!r}")
        if self.as_mask < 0 or self.as_random < 0 or self.as_mask + self.as_random > 1:
            raise ValueError(
                f"as_mask ({self.as_mask}) and as_random ({self.as_random}) must be shares of 1"
            )


class MaskedBatch(NamedTuple):
    """Sequences end to end, which of their tokens are to be predicted, and what these are."""

    tokens: PackedTokens
    places: Int[Tensor, " M"]
    targets: Int[Tensor, " M"]
    """The tokens there; `NONE` for places that are only filler."""
    firsts: Int[Tensor, " S"]
    """Where each sequence begins."""
    follows: Int[Tensor, " S"]
    """1 where the second text follows the first, 0 where not, `NONE` where there is no pair."""


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text on some device, from which batches are made.

    Attributes:
        ids: The pieces, on the device, or mapped from the disk.
        masking: What is hidden; where there is none, every piece of the text is to be predicted at
            the place before it.
        ordinary: All ids but the reserved ones.
        continues: Whether an id continues a word.
        reserved: The ids of `[CLS]`, `[SEP]`, `[MASK]` and `[PAD]`.
    """

    ids: Int[Tensor, " pieces"]
    masking: Masking | None
    ordinary: Int[Tensor, " words"]
    continues: Bool[Tensor, " V"]
    reserved: tuple[int, int, int, int]

    @classmethod
    def of(
        cls,
        ids: Int[Tensor, " pieces"],
        pipeline: TextPipeline,
        masking: Masking | None,
        *,
        device: torch.device | str = "cpu",
    ) -> "MaskedText":
        """The text with all that a pipeline of unit `bert` says about its ids."""
        entries = bert_vocabulary(pipeline.tokenizer)
        ordinary = [n for n, entry in enumerate(entries) if entry not in BERT_RESERVED]
        continues = torch.tensor([entry.startswith(CONTINUATION) for entry in entries])
        marks = [pipeline.token_id(mark) or 0 for mark in (BERT_CLS, BERT_SEP, BERT_MASK, BERT_PAD)]
        return cls(
            ids,
            masking,
            torch.tensor(ordinary, device=device),
            continues.to(device),
            (marks[0], marks[1], marks[2], marks[3]),
        )

    def batch(self, rows: Int[Tensor, "B K"], length: int) -> MaskedBatch:
        """The bins that `bin_rows` describes, with words hidden, on the device of `rows`."""
        laid = self._lay_out(rows, length)
        plain = self._spelt(laid, rows.device)
        if self.masking is None:
            ids, places, targets = _next_pieces(plain, laid)
        else:
            ids, places, targets = self._hide(plain, laid, rows[:, :1], self.masking)
        tokens = PackedTokens(
            ids, laid.positions.flatten(), laid.segments.flatten(), Packing(laid.starts, length)
        )
        firsts = laid.starts[:-1].long().clamp(max=len(ids) - 1)
        return MaskedBatch(tokens, places, targets, firsts, laid.follows)

    def _lay_out(self, rows: Tensor, length: int) -> "_LaidOut":
        """Where each token of each bin comes from: `[CLS]` first `[SEP]` second `[SEP]`."""
        parts = rows[:, 1:].reshape(len(rows), -1, COLUMNS)  # [B, P, 5]
        first, second = parts[..., 1], parts[..., 3]
        sizes = first + 2 + (second + 1) * (second > 0)
        sizes = sizes.masked_fill(first == 0, 0)
        ends = sizes.cumsum(dim=1)
        begins = torch.cat([ends - sizes, ends[:, -1:]], dim=1)  # [B, P + 1], filling included
        where = torch.arange(length, device=rows.device).expand(len(rows), -1).contiguous()
        number = torch.searchsorted(ends, where, right=True)  # [B, L]: the excerpt of each token
        padded = torch.cat([parts, torch.zeros_like(parts[:, :1])], dim=1)
        start, first, second_start, second, _ = (
            padded[..., column].gather(1, number) for column in range(COLUMNS)
        )
        positions = where - begins.gather(1, number)
        is_first = (positions > 0) & (positions <= first)
        beyond = positions - first - 2
        is_second = (beyond >= 0) & (beyond < second)
        is_mark = (first > 0) & ((positions == first + 1) | ((second > 0) & (beyond == second)))
        origins = (start + positions - 1) * is_first + (second_start + beyond) * is_second
        opens = (positions == 1) | (beyond == 0)
        bases = torch.arange(len(rows), device=rows.device).unsqueeze(1) * length
        starts = torch.cat([(bases + begins).flatten(), (bases[-1] + length)])
        lacks = torch.full_like(parts[:, :1, 4], NONE)
        follows = torch.cat([parts[..., 4].masked_fill(parts[..., 3] == 0, NONE), lacks], dim=1)
        return _LaidOut(
            positions=positions,
            segments=((second > 0) & (beyond >= 0)).long(),
            origins=origins,
            is_text=is_first | is_second,
            is_mark=is_mark,
            is_first=(positions == 0) & (first > 0),
            opens=opens,
            starts=starts.int(),
            follows=follows.flatten(),
        )

    def _spelt(self, laid: "_LaidOut", device: torch.device) -> Tensor:
        """All ids as they are laid out, nothing hidden: [B, L]."""
        cls_id, sep_id, _, pad_id = self.reserved
        words = self.ids[laid.origins.to(self.ids.device)].to(device, torch.int64)
        ids = words.masked_fill(~laid.is_text, pad_id)
        return ids.masked_fill(laid.is_first, cls_id).masked_fill(laid.is_mark, sep_id)

    def _hide(
        self, ids: Tensor, laid: "_LaidOut", salt: Tensor, masking: Masking
    ) -> tuple[Tensor, Tensor, Tensor]:
        """All ids with some of them hidden, their places, and what they were."""
        mask_id = self.reserved[2]
        places, are_chosen = self._choose(ids, laid, salt, masking)
        found = ids.flatten()[places]
        origins = laid.origins.flatten()[places]
        salts = salt.expand_as(laid.origins).flatten()[places]
        choice = drawn(origins, salts, _CHOICE)
        as_mask, as_random = masking.as_mask, masking.as_random
        others = self.ordinary[drawn(origins, salts, _WORD) % len(self.ordinary)]
        is_mask = choice < int(as_mask * RANGE)
        is_random = ~is_mask & (choice < int((as_mask + as_random) * RANGE))
        shown = torch.where(is_random, others, found).masked_fill(is_mask, mask_id)
        flat = ids.flatten()
        hidden = flat.scatter(0, places, torch.where(are_chosen, shown, flat[places]))
        return hidden, places, found.masked_fill(~are_chosen, NONE)

    def _choose(
        self, words: Tensor, laid: "_LaidOut", salt: Tensor, masking: Masking
    ) -> tuple[Tensor, Tensor]:
        """The places with the highest draws, and which of them count.

        The number of places is always the same; where a bin is not full, some do not count.
        """
        origins = laid.origins
        if masking.unit == "words":  # the pieces of a word share one draw
            opens = laid.opens | ~self.continues[words]
            where = torch.arange(words.shape[1], device=words.device).expand_as(words)
            origins = origins.gather(1, where.masked_fill(~opens, 0).cummax(dim=1).values)
        draws = drawn(origins, salt, _PLACE).masked_fill(~laid.is_text, -1).flatten()
        most = min(len(draws) - 1, math.ceil(masking.share * len(draws)))
        best, places = draws.topk(most + 1)
        wanted = (masking.share * laid.is_text.sum()).round().long().clamp(1, most)
        # Strictly above the first one too many: no piece of a word that would be cut is taken.
        counts = best > best.gather(0, wanted.view(1))
        return places[:-1], counts[:-1]


class _LaidOut(NamedTuple):
    """What every token of B bins is, [B, L], and where the sequences lie."""

    positions: Tensor
    segments: Tensor
    origins: Tensor
    is_text: Tensor
    is_mark: Tensor
    is_first: Tensor
    opens: Tensor
    starts: Tensor
    follows: Tensor


def _next_pieces(ids: Tensor, laid: _LaidOut) -> tuple[Tensor, Tensor, Tensor]:
    """All ids, all places but the last, and the piece of the text that follows each.

    Where a mark, another excerpt or padding follows, nothing is to be predicted: an excerpt ends
    where it is cut, which says nothing about the text.
    """
    flat, is_text = ids.flatten(), laid.is_text.flatten()
    places = torch.arange(len(flat) - 1, device=flat.device)
    return flat, places, flat[1:].masked_fill(~is_text[1:], NONE)


def drawn(places: Int[Tensor, "*B"], salt: Int[Tensor, "*#B"], purpose: int) -> Int[Tensor, "*B"]:
    """Numbers from 0 to 2³² as a hash of places in a text, a salt and a purpose.

    >>> draws = drawn(torch.arange(20_000), torch.tensor([7]), 1).double() / RANGE
    >>> round(float(draws.mean()), 1), round(float((draws < 0.15).double().mean()), 2)
    (0.5, 0.15)
    """
    return _hashed(_hashed(places + purpose * 0x9E3779B9) ^ _hashed(salt + purpose))


def _hashed(numbers: Int[Tensor, "*B"]) -> Int[Tensor, "*B"]:
    """The finaliser of MurmurHash3 (Appleby 2011): every bit changes about half of all bits."""
    numbers = numbers & (RANGE - 1)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        numbers = ((numbers ^ (numbers >> shift)) * factor) & (RANGE - 1)
    return numbers ^ (numbers >> 16)


def bin_rows(
    excerpts: Numbers, length: int, *, salt: int, draw: np.random.Generator
) -> Int[Tensor, "bins K"]:
    """Excerpts packed into bins of `length` tokens, in random order.

    A row describes a bin: the salt, and five numbers for each of its excerpts.
    """
    pair = excerpts[:, 3] > 0
    sizes = excerpts[:, 1] + 2 + (excerpts[:, 3] + 1) * pair
    most = most_excerpts(length)
    filled = fill_bins(sizes, length, most=most, draw=draw)
    filled = filled[draw.permutation(len(filled))]
    described = np.concatenate([excerpts, np.zeros((1, COLUMNS), dtype=np.int64)])
    found = described[np.where(filled == EMPTY, len(excerpts), filled)]  # [bins, most, 5]
    rows = found.reshape(len(filled), most * COLUMNS)
    return torch.from_numpy(np.concatenate([np.full((len(rows), 1), salt), rows], axis=1))


def most_excerpts(length: int) -> int:
    """Excerpts that a bin may hold.

    >>> most_excerpts(128), most_excerpts(512)
    (8, 16)
    """
    return min(16, max(4, length // 16))


def bin_slots(rows: Int[Tensor, "bins K"], length: int, batch_size: int) -> list[Slot]:
    """Batches of bins, all of one size; a remainder is used only if it is all there is."""
    whole = max(1, len(rows) // batch_size) * batch_size
    return [Slot(part, length) for part in torch.split(rows[:whole], batch_size) if len(part)]

"""What computes for a matcher: the shape that every backend has."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle

Floats = NDArray[np.float32]
Read = Sequence[Sequence[Any]]
"""Sentences as a backend takes them: ids, words where its model spells them, or, for a head on
pairs, the parts of the text that its tokens stand for."""
PAIR_HEAD = "pair-head"
"""The model of a matcher that is a head on another one and on a sentence encoder."""
BATCH = 13
"""The most pairs or sentences that a graph in ONNX sees at a time. A pair costs the same in any
batch, so that small batches of like lengths are padded less: eight for a hundred candidates."""
NARROW = 400
"""Numbers per token up to which a pair is so cheap that a batch's own cost shows."""
TOKENS = 2000
"""The most tokens of either side, padding included, unless one row alone has more."""


def is_pair_head(bundle: Bundle) -> bool:
    """Whether a bundle is a head on a matcher and a sentence encoder."""
    return bundle.config.kind == "matcher" and bundle.config.model["name"] == PAIR_HEAD


class Alignment(NamedTuple):
    """One pair: its logits [C], and who looked at whom ([P, H] and [H, P])."""

    logits: Floats
    first_to_second: Floats
    second_to_first: Floats


def most_pairs(encoding: Floats) -> int:
    """The most pairs of encodings like this one that are compared at a time; more if narrow.

    >>> most_pairs(np.zeros((9, 800))), most_pairs(np.zeros((9, 384))), most_pairs(np.zeros(384))
    (13, 26, 13)
    """
    is_narrow = encoding.ndim > 1 and encoding.shape[-1] <= NARROW
    return 2 * BATCH if is_narrow else BATCH


class MatchBackend(Protocol):
    """A model's `encode` and `compare`, over sentences that were read and stored encodings."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    def encode(self, sentences: Read) -> list[Floats]:
        """What `compare` needs of each sentence, fit to be stored."""

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        """Logits [B, C] of encodings pairwise, or of one first side with every second side."""

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """Logits and alignments of one pair; None for a model that aligns nothing."""

    def pair_logits(self, first: Read, second: Read) -> Floats:
        """Logits [B, C] straight from sentences, for bulk work."""

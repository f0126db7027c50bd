"""What a tagger's backends give, and how it becomes tags. Needs no torch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.answers import TagSet
from softquery.bundle import Bundle
from softquery.decoding import viterbi

Floats = NDArray[np.float32]
WORD_HEAD = "word-head"
"""The model of a tagger that is a head on a shipped model, as a bundle's config names it."""


def is_word_head(bundle: Bundle) -> bool:
    """Whether a bundle is a head on a shipped model, which has no graphs of its own."""
    return bundle.config.kind == "tagger" and bundle.config.model["name"] == WORD_HEAD


class Chain(NamedTuple):
    """Scores of tags among themselves, as a model learnt them."""

    between: Floats
    start: Floats
    end: Floats

    @classmethod
    def read(cls, stored: Mapping[str, NDArray[Any]]) -> "Chain | None":
        """Of a conditional random field among a bundle's weights; None where there is none."""
        if "crf.between" not in stored:
            return None
        return cls(*(stored[f"crf.{name}"].astype(np.float32) for name in cls._fields))


def decode_tags(scores: Sequence[Floats], tags: TagSet, chain: Chain | None) -> list[list[str]]:
    """The best tags of each sentence, those that the tag set forbids left out.

    Args:
        scores: [T, L] for each sentence.
        tags: The tags, in the order of the scores.
        chain: What a conditional random field adds.
    """
    rules = tags.forbidden()
    if chain is not None:
        rules = tuple(rule + learnt for rule, learnt in zip(rules, chain, strict=True))  # type: ignore[assignment]
    found = viterbi(scores, *rules)
    return [[tags.labels[label] for label in path.labels] for path in found]

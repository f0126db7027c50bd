"""From scores of tags to tags. Needs no torch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery.answers import TagSet
from softquery.decoding import viterbi

Floats = NDArray[np.float32]


class Chain(NamedTuple):
    """Scores of tags among themselves, as a model learnt them."""

    between: Floats
    start: Floats
    end: Floats


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

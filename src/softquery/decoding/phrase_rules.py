"""Words of several tokens that may not come, and several constraints as one.

N rows (hypotheses), T tokens of each so far, V tokens of the vocabulary.
"""

from collections.abc import Sequence

import numpy as np

from softquery.decoding.rules import Constraint
from softquery.decoding.step import Ids, Mask


class BannedPhrases:
    """No hypothesis holds any of these sequences of tokens; see `Constraint`.

    Args:
        phrases: Sequences of at least one token each.
        vocab_size: V.

    >>> BannedPhrases([(1, 2)], 4)(np.array([[0, 1], [1, 0]])).tolist()
    [[True, True, False, True], [True, True, True, True]]
    """

    def __init__(self, phrases: Sequence[Sequence[int]], vocab_size: int) -> None:
        self.phrases = [np.array(phrase, np.int64) for phrase in phrases]
        self.vocab_size = vocab_size

    def __call__(self, tokens: Ids) -> Mask:
        """What may follow each row."""
        found = np.ones((len(tokens), self.vocab_size), np.bool_)
        for phrase in self.phrases:
            before = len(phrase) - 1
            if tokens.shape[1] < before:
                continue
            ends = tokens[:, tokens.shape[1] - before :]
            found[(ends == phrase[:-1]).all(axis=1), phrase[-1]] = False
        return found


class AllOf:
    """Every one of several constraints; see `Constraint`.

    Args:
        constraints: At least one.
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.constraints = tuple(constraints)

    def __call__(self, tokens: Ids) -> Mask:
        """What all of them admit."""
        masks = [constraint(tokens) for constraint in self.constraints]
        found: Mask = np.logical_and.reduce(masks)
        return found

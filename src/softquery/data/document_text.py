"""Documents as one row of pieces, and the excerpts of them that a model reads.

An excerpt is one stretch of a document, or two: the second follows the first or comes from
elsewhere, which the model must decide (Devlin et al. 2019, Section 3.1, Task 2).
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.int64]

START, SIZE, SECOND_START, SECOND_SIZE, FOLLOWS = range(5)
"""Columns of an excerpt: where its two parts begin, how long they are, and whether they belong
together."""
NO_PAIR = -1
"""Stands in the last column where there is no second part."""
SHORTEST = 2
"""Pieces of an excerpt; what is shorter is not read."""
RANDOM_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class DocumentText:
    """Pieces of all documents end to end; the tensor may be mapped from a file.

    Attributes:
        ids: The pieces.
        starts: Where each document begins, and where the last one ends.
        sentences: Where each sentence begins.
    """

    ids: Int[Tensor, " pieces"]
    starts: Numbers
    sentences: Numbers

    @property
    def num_pieces(self) -> int:
        """Pieces of all documents."""
        return int(self.starts[-1] - self.starts[0])

    def between(self, start: int, end: int) -> "DocumentText":
        """What lies between two places, parts of documents included."""
        inside = self.starts[(self.starts > start) & (self.starts < end)]
        return replace(self, starts=np.concatenate([[start], inside, [end]]))

    def parted(self, share: float) -> tuple["DocumentText", "DocumentText"]:
        """All but the end, and the end, which holds a share of the pieces."""
        start, end = int(self.starts[0]), int(self.starts[-1])
        cut = end - max(SHORTEST, round(share * self.num_pieces))
        return self.between(start, max(start, cut)), self.between(max(start, cut), end)

    def part(self, number: int, count: int) -> "DocumentText":
        """One of `count` parts that are about equally long."""
        start, size = int(self.starts[0]), self.num_pieces
        return self.between(start + size * number // count, start + size * (number + 1) // count)

    def excerpts(self, size: int) -> Numbers:
        """Every document in stretches of `size` pieces, the last one shorter: [E, 5]."""
        counts = -(-np.diff(self.starts) // size)
        ends = np.repeat(self.starts[1:], counts)
        within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        starts = np.repeat(self.starts[:-1], counts) + size * within
        sizes = np.minimum(size, ends - starts)
        kept = sizes >= SHORTEST
        nothing = np.zeros_like(starts)
        columns = [starts, sizes, nothing, nothing, nothing + NO_PAIR]
        found: Numbers = np.stack(columns, axis=1)[kept].astype(np.int64)
        return found

    def pairs(self, size: int, draw: np.random.Generator) -> Numbers:
        """Excerpts in two parts each; for half of them the second parts are exchanged.

        Parts are exchanged with parts of the same length: the length does not reveal an exchange,
        and nothing is read twice or left out. Where an excerpt is the only one of its length, which
        is rare in much text, its second part is replaced by as long a stretch from the beginning of
        any other.
        """
        found = self.excerpts(size)
        starts, ends = found[:, START], found[:, START] + found[:, SIZE]
        cuts = self._cuts(starts, ends, draw)
        found[:, SIZE] = cuts - starts
        found[:, SECOND_START], found[:, SECOND_SIZE] = cuts, ends - cuts
        found[:, FOLLOWS] = 1
        chosen = np.flatnonzero(draw.random(len(found)) < RANDOM_SHARE)
        partners = _partners(chosen, found[:, SECOND_SIZE], draw)
        apart = chosen != partners
        found[chosen[apart], SECOND_START] = cuts[partners[apart]]
        found[chosen[apart], FOLLOWS] = 0
        alone = chosen[~apart]
        others = draw.integers(max(1, len(found)), size=len(alone))
        fits = (others != alone) & ((ends - starts)[others] >= found[alone, SECOND_SIZE])
        found[alone[fits], SECOND_START] = starts[others[fits]]
        found[alone[fits], FOLLOWS] = 0
        return found

    def _cuts(self, starts: Numbers, ends: Numbers, draw: np.random.Generator) -> Numbers:
        """A place inside each stretch: the beginning of a sentence, or any where there is none."""
        wished = starts + 1 + (draw.random(len(starts)) * (ends - starts - 1)).astype(np.int64)
        bounds = np.concatenate([[np.iinfo(np.int64).min // 2], self.sentences, ends[-1:] + 1])
        after = np.searchsorted(
            bounds[:-1], wished
        )  # the first sentence that begins there or later
        cuts: Numbers = wished.copy()
        nearest = np.full_like(wished, np.iinfo(np.int64).max)
        for candidate in (bounds[after - 1], bounds[np.minimum(after, len(bounds) - 1)]):
            distance = np.abs(candidate - wished)
            better = (starts < candidate) & (candidate < ends) & (distance < nearest)
            cuts[better], nearest[better] = candidate[better], distance[better]
        return cuts


def _partners(chosen: Numbers, sizes: Numbers, draw: np.random.Generator) -> Numbers:
    """For each chosen excerpt another of the same size, in circles; itself where it is alone."""
    if not len(chosen):
        return chosen
    order = np.lexsort((draw.random(len(chosen)), sizes[chosen]))
    ranked = sizes[chosen][order]
    opens = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    first = np.flatnonzero(opens)[opens.cumsum() - 1]  # of the circle that each one stands in
    after = np.arange(1, len(chosen) + 1)
    closes = np.concatenate([opens[1:], [True]])
    after[closes] = first[closes]
    partners = np.empty_like(chosen)
    partners[order] = chosen[order[after]]
    return partners

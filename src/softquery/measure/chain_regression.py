"""A linear-chain conditional random field with an L2 penalty, in numpy (Lafferty et al., 2001).

Each token has scores that are linear in what it is described by, and each pair of neighbouring tags
a score of its own. The loss is convex, so that what is fitted does not depend on chance. Sentences
are laid out by steps: the first tokens of all, the longest sentence first, then the second ones,
so that no step computes anything for a sentence that has ended.

N tokens, D width of a vector, K clues of a token, W different clues, L tags.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import Labels, as_labels, require_ids_below
from softquery.measure.softmax_regression import Flat, minimise

Ids = NDArray[np.int64]
SMALLEST = 1e-6
"""Added to the curvature, so that it can be inverted."""


@dataclass(frozen=True, slots=True)
class TokenRows:
    """What tokens are described by: a vector each, and clues that are there or not."""

    vectors: NDArray[np.float32]
    """[N, D]."""
    clues: Ids
    """[N, K]: the number of each clue; `num_clues` for one that is unknown."""
    num_clues: int

    def some(self, rows: Ids) -> "TokenRows":
        """Those of some rows."""
        return TokenRows(self.vectors[rows], self.clues[rows], self.num_clues)


class ChainFit(NamedTuple):
    """What was fitted."""

    vector: Flat
    """[D, L]."""
    clues: Flat
    """[W, L]."""
    bias: Flat
    """[L]."""
    between: Flat
    """[L, L]: of one tag and the next."""
    start: Flat
    end: Flat


def fit_chain(
    rows: TokenRows,
    tags: ArrayLike,
    lengths: Sequence[int],
    *,
    num_tags: int,
    penalty: float,
    chain_penalty: float,
    max_iterations: int = 150,
    tolerance: float = 2e-5,
) -> ChainFit:
    """Fit the scores of tags to sentences.

    Args:
        rows: Of the tokens, sentence after sentence.
        tags: One tag id per token.
        lengths: How many tokens each sentence has, at least one.
        num_tags: The number of tags.
        penalty: Half of it times the squared weights is added to the summed loss of all tokens.
        chain_penalty: The same of the scores of tags among themselves.
        max_iterations: The most steps.
        tolerance: Stop where no entry of the gradient of the mean loss is larger.

    >>> rows = TokenRows(np.array([[1.0], [-1.0], [1.0]], np.float32), np.zeros((3, 0), int), 0)
    >>> fit = fit_chain(rows, [1, 0, 1], [2, 1], num_tags=2, penalty=0.1, chain_penalty=0.1)
    >>> (rows.vectors @ fit.vector + fit.bias).argmax(axis=1).tolist()
    [1, 0, 1]
    """
    gold = as_labels(tags, name="tags")
    require_ids_below(gold, num_tags, name="tags")
    if not 0 < len(rows.vectors) == len(rows.clues) == len(gold) == sum(lengths):
        raise ValueError(
            f"{len(rows.vectors)} vectors, {len(rows.clues)} rows of clues, {len(gold)} tags and "
            f"sentences of {sum(lengths)} tokens do not fit"
        )
    steps = Steps.of(lengths)
    laid = rows.some(steps.order)
    loss = _ChainLoss(laid, gold[steps.order], steps, num_tags, (penalty, chain_penalty))
    found, _ = minimise(loss, loss.zeros(), loss.by_curvature(), max_iterations, tolerance)
    return loss.parts(found)


@dataclass(frozen=True, slots=True)
class Steps:
    """Tokens of sentences in the order of their places, the longest sentence first."""

    order: Ids
    """[N]: which token stands at each place."""
    bounds: Ids
    """[T + 1]: where each step begins."""

    @classmethod
    def of(cls, lengths: Sequence[int]) -> "Steps":
        """The layout of sentences of these lengths.

        >>> steps = Steps.of([1, 2])
        >>> steps.order.tolist(), steps.bounds.tolist()
        ([1, 0, 2], [0, 2, 3])
        """
        many = np.asarray(lengths, dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(many)[:-1]])
        longest = np.argsort(-many, kind="stable")
        active = [longest[many[longest] > step] for step in range(int(many.max(initial=0)))]
        order = [starts[some] + step for step, some in enumerate(active)]
        bounds = np.cumsum([0, *map(len, active)])
        return cls(np.concatenate([np.zeros(0, np.int64), *order]), bounds)

    @property
    def num_sentences(self) -> int:
        """How many sentences there are."""
        return int(self.bounds[1])

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def at(self, step: int) -> slice:
        """The tokens of a step."""
        return slice(int(self.bounds[step]), int(self.bounds[step + 1]))

    def going_on(self, step: int) -> int:
        """How many sentences have a token after this step."""
        return 0 if step + 1 >= len(self) else int(self.bounds[step + 2] - self.bounds[step + 1])


class _ClueSums:
    """Products with a matrix of clues that is kept as numbers alone."""

    def __init__(self, clues: Ids, num_clues: int) -> None:
        self.clues, self.num_clues = clues, num_clues
        self._sorted = []
        for column in clues.T:
            order = np.argsort(column, kind="stable")
            found, starts = np.unique(column[order], return_index=True)
            self._sorted.append((order, found, starts))

    def times(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """[N, L]: the sum of the weights [W, L] of each token's clues."""
        wide = np.vstack([weights, np.zeros((1, weights.shape[1]), dtype=np.float32)])
        total = np.zeros((len(self.clues), weights.shape[1]), dtype=np.float32)
        for column in self.clues.T:
            total += wide[column]
        return total

    def back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """[W, L]: for each clue the sum of the values [N, L] of its tokens."""
        total = np.zeros((self.num_clues + 1, values.shape[1]), dtype=np.float32)
        for order, found, starts in self._sorted:
            total[found] += np.add.reduceat(values[order], starts, axis=0)
        return total[:-1]

    def counts(self) -> Flat:
        """How many tokens have each clue."""
        return np.bincount(self.clues.ravel(), minlength=self.num_clues + 1)[:-1].astype(float)


class _ChainLoss:
    """The mean loss of the gold tags with its gradient, at weights in one row."""

    def __init__(
        self,
        rows: TokenRows,
        gold: Labels,
        steps: Steps,
        num_tags: int,
        penalties: tuple[float, float],
    ) -> None:
        self.rows, self.gold, self.steps, self.num_tags = rows, gold, steps, num_tags
        self._clues = _ClueSums(rows.clues, rows.num_clues)
        width = rows.vectors.shape[1]
        shapes = ((width, num_tags), (rows.num_clues, num_tags), (num_tags,))
        chain = ((num_tags, num_tags), (num_tags,), (num_tags,))
        self._shapes = (*shapes, *chain)
        self._bounds = np.cumsum([0, *(int(np.prod(shape)) for shape in self._shapes)])
        every = (penalties[0], penalties[0], 0.0, *[penalties[1]] * 3)
        self._penalty = np.repeat(every, np.diff(self._bounds)) / len(gold)
        first, follows = steps.at(0), self._following()
        between = np.zeros((num_tags, num_tags))
        np.add.at(between, (gold[follows[0]], gold[follows[1]]), 1)
        counts = [np.bincount(gold[some], minlength=num_tags) for some in (first, self._last())]
        self._gold_chain = (between, *map(np.float64, counts))

    def zeros(self) -> Flat:
        """Weights to begin with."""
        return np.zeros(int(self._bounds[-1]))

    def parts(self, flat: Flat) -> ChainFit:
        """The weights by what they are of."""
        cut = np.split(flat, self._bounds[1:-1])
        return ChainFit(*(each.reshape(s) for each, s in zip(cut, self._shapes, strict=True)))

    def by_curvature(self) -> Callable[[Flat], Flat]:
        """Multiplication by the inverse of half the squares of each column."""
        num, tags = len(self.gold), self.num_tags
        squares = np.einsum("nd,nd->d", self.rows.vectors, self.rows.vectors, dtype=np.float64)
        columns = np.concatenate([squares, self._clues.counts(), [num]])
        chain = np.full(int(self._bounds[-1] - self._bounds[3]), num / tags)
        moments = np.concatenate([np.repeat(columns, tags), chain]) / (2 * num)
        inverse = 1 / (moments + np.maximum(self._penalty, SMALLEST))
        return lambda flat: inverse * flat

    def __call__(self, flat: Flat) -> tuple[float, Flat]:
        """The loss and its gradient."""
        fit, num = self.parts(flat), len(self.gold)
        scores = self.rows.vectors @ fit.vector.astype(np.float32)
        scores += self._clues.times(fit.clues.astype(np.float32))
        wide = scores.astype(np.float64) + fit.bias
        value, chances, chain = self._expected(wide, fit)
        value -= float(wide[np.arange(num), self.gold].sum())
        for weights, counts in zip(
            (fit.between, fit.start, fit.end), self._gold_chain, strict=True
        ):
            value -= float((weights * counts).sum())
        chances[np.arange(num), self.gold] -= 1
        narrow = chances.astype(np.float32)
        gradients = (
            self.rows.vectors.T @ narrow,
            self._clues.back(narrow),
            chances.sum(axis=0),
            *(one - other for one, other in zip(chain, self._gold_chain, strict=True)),
        )
        gradient = np.concatenate([each.ravel() for each in gradients]) / num
        gradient += self._penalty * flat
        return value / num + 0.5 * float((self._penalty * flat**2).sum()), gradient

    def _expected(self, scores: Flat, fit: ChainFit) -> tuple[float, Flat, tuple[Flat, ...]]:
        """The log of the sum over all sequences, chances [N, L], and expected counts of tags."""
        steps, best = self.steps, scores.max(axis=1, keepdims=True)
        here, between = np.exp(scores - best), np.exp(fit.between)
        forward, sums = np.empty_like(here), np.empty((len(here), 1))
        before = np.exp(fit.start)
        for step in range(len(steps)):
            some = steps.at(step)
            many = some.stop - some.start
            before = before * here[some] if step == 0 else (before[:many] @ between) * here[some]
            sums[some] = before.sum(axis=1, keepdims=True)
            before = before / sums[some]
            forward[some] = before
        ends = np.exp(fit.end)
        backward, counts = np.empty_like(here), np.zeros_like(between)
        after, total = np.empty((0, self.num_tags)), float(best.sum() + np.log(sums).sum())
        for step in reversed(range(len(steps))):
            some, going = steps.at(step), steps.going_on(step)
            last = forward[some][going:]
            closing = (last * ends).sum(axis=1, keepdims=True)
            total += float(np.log(closing).sum())
            counts += forward[some][:going].T @ after
            now = np.vstack([after @ between.T, ends / closing])
            backward[some] = now
            after = now * here[some] / sums[some]
        chances = forward * backward
        chain = (
            counts * between,
            chances[steps.at(0)].sum(axis=0),
            chances[self._last()].sum(axis=0),
        )
        return total, chances, chain

    def _following(self) -> tuple[Ids, Ids]:
        """The places of neighbouring tokens."""
        pairs = [
            (
                self.steps.bounds[step] + np.arange(going),
                self.steps.bounds[step + 1] + np.arange(going),
            )
            for step in range(len(self.steps))
            if (going := self.steps.going_on(step))
        ]
        none = np.zeros(0, dtype=np.int64)
        one, other = zip(*pairs, strict=True) if pairs else ((none,), (none,))
        return np.concatenate(one), np.concatenate(other)

    def _last(self) -> Ids:
        """The places of last tokens."""
        found = [
            np.arange(
                self.steps.bounds[step] + self.steps.going_on(step), self.steps.bounds[step + 1]
            )
            for step in range(len(self.steps))
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])

"""Fit a head on pairs: settings by cross-validation, weights exactly, in seconds. No torch.

N pairs, M logits of the matcher, D width of a vector, C labels.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softquery.measure.cross_validation import NEVER, stratified_folds
from softquery.recipes.few_labels import HeadSettings
from softquery.running.few_labels.head_search import (
    HeadFeatures,
    HeadSearch,
    fit_weights,
    search_head,
)
from softquery.runtime.batches import Floats
from softquery.runtime.match.pair_head import PairHead, between, opinions

Ids = NDArray[np.int64]
SETTINGS = HeadSettings(costs=(0.1, 1.0, 10.0, 100.0), word_weights=(0.0, 1.0))
"""What is tried; 0 leaves products and differences of vectors out."""
INNER_FOLDS = 4
LINE_COST = 10.0
"""Of a head on what the matcher says and on the cosine."""
MOST_SEARCHED = 1_000
"""Rows by which settings are chosen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedPairs:
    """Pairs as a head reads them."""

    said: Floats
    """[N, M]: the matcher's logits."""
    first: Floats
    """[N, D]."""
    second: Floats

    def some(self, rows: Ids) -> "ComparedPairs":
        """Those of some rows."""
        return ComparedPairs(said=self.said[rows], first=self.first[rows], second=self.second[rows])


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedPairHead:
    """A head, and how its settings did on rows that were held out."""

    head: PairHead
    search: HeadSearch | None = None
    """None where no settings were chosen."""

    def logits(self, pairs: ComparedPairs) -> Floats:
        """Logits [N, C]."""
        return self.head.logits(pairs.said, pairs.first, pairs.second)


def fit_pair_head(
    pairs: ComparedPairs, gold: Ids, groups: Sequence[Hashable], *, num_labels: int, seed: int
) -> FittedPairHead | None:
    """Choose settings by cross-validation, and fit a head to all rows; None where nothing can be.

    Args:
        pairs: The rows.
        gold: Their label ids.
        groups: What must not be torn apart.
        num_labels: The number of labels C.
        seed: Of the folds.
    """
    some = np.arange(len(gold))
    if len(some) > MOST_SEARCHED:
        some = np.sort(np.random.default_rng(seed).permutation(len(some))[:MOST_SEARCHED])
    folds = stratified_folds(
        gold[some], [groups[row] for row in some.tolist()], num_folds=INNER_FOLDS, seed=seed
    )
    if (folds == NEVER).all():
        return None
    opinion = _Scaled.by_column(opinions(pairs.said, pairs.first, pairs.second))
    vectors = _Scaled.by_row(between(pairs.first, pairs.second))
    features = HeadFeatures(opinion.values, vectors.values)
    search = search_head(
        features.rows(some),
        gold[some],
        folds,
        SETTINGS,
        num_classes=num_labels,
        advance=lambda done, head: None,
    )
    cost, weight = search.best.cost, search.best.word_weight
    by_opinion, by_vectors, bias = fit_weights(
        features, gold, num_classes=num_labels, cost=cost, word_weight=weight
    )
    by_opinion, by_vectors = opinion.undone(by_opinion), vectors.undone(by_vectors)
    bias = bias - opinion.middle @ by_opinion - vectors.middle @ by_vectors
    return FittedPairHead(
        head=PairHead(opinion=by_opinion, vectors=by_vectors, bias=bias.astype(np.float32)),
        search=replace(search, held=some[search.held]),
    )


def fit_pair_line(pairs: ComparedPairs, gold: Ids, *, num_labels: int) -> FittedPairHead | None:
    """Fit a head on what the matcher says and on the cosine of both texts; None for one label.

    These are too few numbers for settings to choose.

    Args:
        pairs: The rows.
        gold: Their label ids.
        num_labels: The number of labels.
    """
    if len(np.unique(gold)) < 2:
        return None
    opinion = _Scaled.by_column(opinions(pairs.said, pairs.first, pairs.second))
    nothing = np.zeros((len(gold), 0), dtype=np.float32)
    weights, _, bias = fit_weights(
        HeadFeatures(opinion.values, nothing),
        gold,
        num_classes=num_labels,
        cost=LINE_COST,
        word_weight=0.0,
    )
    weights = opinion.undone(weights)
    width = 2 * pairs.first.shape[1]
    head = PairHead(
        opinion=weights,
        vectors=np.zeros((width, num_labels), dtype=np.float32),
        bias=(bias - opinion.middle @ weights).astype(np.float32),
    )
    return FittedPairHead(head=head)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """Columns less their mean, and of a size that one cost suits."""

    values: Floats
    middle: Floats
    scale: Floats
    """By which columns were multiplied."""

    @classmethod
    def by_column(cls, columns: Floats) -> "_Scaled":
        """Each with a variance of one."""
        return cls._of(columns, 1 / np.maximum(columns.std(axis=0), 1e-6))

    @classmethod
    def by_row(cls, columns: Floats) -> "_Scaled":
        """All by one number, so that the mean square of a row's length is one."""
        total = np.sqrt(columns.var(axis=0).sum())
        return cls._of(columns, np.full(columns.shape[1], 1 / max(float(total), 1e-6)))

    @classmethod
    def _of(cls, columns: Floats, scale: NDArray[np.floating]) -> "_Scaled":
        middle, narrow = columns.mean(axis=0), scale.astype(np.float32)
        return cls((columns - middle) * narrow, middle, narrow)

    def undone(self, weights: Floats) -> Floats:
        """Weights of what was scaled, as those of what was not."""
        found: Floats = (weights * self.scale[:, None]).astype(np.float32)
        return found

"""Fits a sum of oblivious trees by gradient boosting, in numpy.

Each tree is grown level by level: all of its leaves are split by the feature and the threshold that
lower the log loss most over all of them together (Newton steps with an L2 penalty, Chen & Guestrin
2016, Equation 7). Where a feature may only raise the score, a leaf above the threshold is at least
as high as the one below.

N rows, F features, B bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softquery.search.score.trees import Trees


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeOptions:
    """How trees are grown."""

    num_trees: int = 80
    depth: int = 4
    rate: float = 0.15
    """How much of each tree is taken."""
    penalty: float = 20.0
    """Of the squares of leaves, in rows."""
    num_bins: int = 32
    share: float = 0.6
    """Of the features, drawn anew for each tree."""
    seed: int = 1


def fit_trees(
    rows: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray,
    options: TreeOptions,
    rising: Sequence[int] = (),
) -> Trees:
    """Fit trees whose sum is the log-odds that a row is right.

    Args:
        rows: [N, F]; NaN where a feature is missing.
        right: Whether each row is right: [N].
        weights: What each row counts: [N].
        options: How they are grown.
        rising: Features that may only raise the score.
    """
    draw = np.random.default_rng(options.seed)
    edges = [_edges(column, options.num_bins) for column in rows.T]
    bins = np.stack([_binned(column, edge) for column, edge in zip(rows.T, edges, strict=True)])
    share = float(weights @ right / weights.sum())
    base = float(np.log(share / (1 - share)))
    sums = np.full(len(rows), base)
    grown = []
    count = max(1, round(options.share * len(edges)))
    for _ in range(options.num_trees):
        chance = 1 / (1 + np.exp(-sums))
        gradient = weights * (right - chance)
        curvature = weights * chance * (1 - chance)
        allowed = draw.permutation(len(edges))[:count]
        tree = _grow(bins, edges, gradient, curvature, allowed, frozenset(rising), options)
        features, places, leaf, values = tree
        values = options.rate * values
        sums += values[leaf]
        thresholds = [edges[f][place] for f, place in zip(features, places, strict=True)]
        grown.append((features, thresholds, values))
    return Trees(
        base,
        np.array([features for features, _, _ in grown]),
        np.array([thresholds for _, thresholds, _ in grown]),
        np.array([values for _, _, values in grown]),
    )


def _edges(column: np.ndarray, count: int) -> np.ndarray:
    """Thresholds between the bins of a feature: quantiles of what is not missing."""
    known = column[~np.isnan(column)]
    if not len(known):
        return np.zeros(1)
    return np.unique(np.round(np.quantile(known, np.linspace(0, 1, count + 1)[1:-1]), 6))


def _binned(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How many thresholds each value is above; a missing one is above none."""
    found = np.searchsorted(edges, column, side="left")
    return np.where(np.isnan(column), 0, found).astype(np.int64)


def _grow(bins, edges, gradient, curvature, allowed, rising, options):  # type: ignore[no-untyped-def]
    """One tree: its features, the places of its thresholds, the leaf of each row, the leaves."""
    leaf = np.zeros(bins.shape[1], dtype=np.int64)
    features: list[int] = []
    places: list[int] = []
    for level in range(options.depth):
        best = (-np.inf, 0, 0)
        for feature in allowed.tolist():
            gain, place = _best_split(
                leaf, 1 << level, bins[feature], len(edges[feature]), gradient, curvature,
                options.penalty, feature in rising,
            )  # fmt: skip
            best = max(best, (gain, feature, place))
        _, feature, place = best
        leaf = leaf + ((bins[feature] > place).astype(np.int64) << level)
        features.append(feature)
        places.append(place)
    size = 1 << options.depth
    top = np.bincount(leaf, gradient, size)
    bottom = np.bincount(leaf, curvature, size)
    values = top / (bottom + options.penalty)
    for level, feature in enumerate(features):
        if feature in rising:
            values = _risen(values, level)
    return features, places, leaf, values


def _best_split(leaf, num_leaves, bins, num_edges, gradient, curvature, penalty, is_rising):  # type: ignore[no-untyped-def]
    """The best gain of a threshold, and its place."""
    width = num_edges + 1
    key = leaf * width + bins
    size = num_leaves * width
    top = np.bincount(key, gradient, size).reshape(num_leaves, width).cumsum(axis=1)
    bottom = np.bincount(key, curvature, size).reshape(num_leaves, width).cumsum(axis=1)
    low, low_bottom = top[:, :-1], bottom[:, :-1]
    high, high_bottom = top[:, -1:] - low, bottom[:, -1:] - low_bottom
    gains = low**2 / (low_bottom + penalty) + high**2 / (high_bottom + penalty)
    if is_rising:
        falls = high / (high_bottom + penalty) < low / (low_bottom + penalty)
        whole = (top[:, -1:] ** 2) / (bottom[:, -1:] + penalty)
        gains = np.where(falls, whole, gains)
    total = gains.sum(axis=0)
    place = int(total.argmax())
    return float(total[place]), place


def _risen(values: np.ndarray, level: int) -> np.ndarray:
    """Leaves of which that above a level's threshold is at least as high as that below."""
    numbers = np.arange(len(values))
    below = numbers[(numbers >> level) & 1 == 0]
    above = below | (1 << level)
    mean = (values[below] + values[above]) / 2
    falls = values[above] < values[below]
    values = values.copy()
    values[below] = np.where(falls, mean, values[below])
    values[above] = np.where(falls, mean, values[above])
    return values

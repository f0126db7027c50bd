"""Fit a head on a frozen sentence encoder: its settings by cross-validation, its weights exactly.

Rows are described by as many numbers as there are rows, whatever the width: the minimum lies in
what they span (the representer theorem; Schölkopf, Herbrich and Smola, 2001), so that products
between rows are all that a fit needs. Needs no torch.

N rows, D width of a vector, W words, C classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.measure import Scaling, fit_temperature
from softquery.measure.softmax_regression import fit_softmax
from softquery.recipes.few_labels import HeadSettings
from softquery.runtime.batches import Floats

Ids = NDArray[np.int64]
Advance = Callable[[int, "TriedHead"], bool | None]
"""Told how many settings were tried, and how the last one did."""
ROUGH, FINE = 1e-3, 1e-4
"""Where fits stop that are compared, and the one that is kept."""
MOST_BY_PRODUCTS = 2_000
"""Rows up to which a fit goes by their products with each other."""
SMALLEST_SHARE = 1e-8
"""Of the largest eigenvalue; what is smaller is rounding."""


@dataclass(frozen=True, slots=True)
class HeadFeatures:
    """What a head reads of its rows."""

    vectors: Floats
    """[N, D], less their mean."""
    words: Floats
    """[N, W]."""

    def rows(self, some: Ids) -> "HeadFeatures":
        """Those of some rows."""
        return HeadFeatures(self.vectors[some], self.words[some])

    def beside(self, word_weight: float) -> Floats:
        """Both in one matrix [N, D + W]."""
        return np.hstack([self.vectors, np.float32(word_weight) * self.words])


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedHead:
    """Settings, and how well they do on rows that were held out."""

    cost: float
    word_weight: float
    log_likelihood: float
    """The mean over rows, at the best temperature."""
    accuracy: float
    temperature: float


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadSearch:
    """What was tried, the best of it, and its logits for rows that were held out."""

    tried: tuple[TriedHead, ...]
    best: TriedHead
    logits: NDArray[np.float64]
    """[H, C], each by a fit that had not seen the row."""
    held: Ids
    """The H rows."""


def search_head(
    features: HeadFeatures,
    labels: Ids,
    folds: Ids,
    settings: HeadSettings,
    *,
    num_classes: int,
    advance: Advance,
) -> HeadSearch:
    """Try all settings by cross-validation; the best has the highest likelihood.

    Likelihood tells settings apart by every row, and accuracy only by rows near a border.

    Args:
        features: Of the rows.
        labels: Their class ids.
        folds: By `stratified_folds`; at least one row is held out.
        settings: What to try.
        num_classes: The number of classes.
        advance: Told of progress; where it says True, no further weight of words is tried.
    """
    held = np.flatnonzero(folds >= 0)
    found: list[tuple[TriedHead, NDArray[np.float64]]] = []
    products = _Products.of(features)
    is_enough = False
    for word_weight in settings.word_weights:
        rows = products.rows(word_weight)
        every = {cost: np.zeros((len(labels), num_classes)) for cost in sorted(settings.costs)}
        for fold in range(int(folds.max()) + 1):
            _hold_out(rows, labels, folds == fold, every)
        for cost, logits in every.items():
            head = _tried(logits[held], labels[held], cost=cost, word_weight=word_weight)
            found.append((head, logits[held]))
            is_enough = bool(advance(len(found), head)) or is_enough
        if is_enough:
            break
    return _best(found, held)


def search_by_fold(
    features_of: Callable[[int], HeadFeatures],
    labels: Ids,
    folds: Ids,
    settings: HeadSettings,
    *,
    num_classes: int,
    advance: Callable[[int], bool | None],
) -> HeadSearch | None:
    """As `search_head`, where each fold has features that were learnt from the rest.

    Args:
        features_of: The features of all rows, learnt without the rows of a fold.
        labels: Their class ids.
        folds: As there.
        settings: What to try.
        num_classes: The number of classes.
        advance: Told how many folds are done; where it says True, the search is given up.
    """
    held = np.flatnonzero(folds >= 0)
    found = {
        word_weight: {cost: np.zeros((len(labels), num_classes)) for cost in sorted(settings.costs)}
        for word_weight in settings.word_weights
    }
    for fold in range(int(folds.max()) + 1):
        products = _Products.of(features_of(fold))
        for word_weight, every in found.items():
            _hold_out(products.rows(word_weight), labels, folds == fold, every)
        if advance(fold + 1):
            return None
    return _best(
        [
            (
                _tried(logits[held], labels[held], cost=cost, word_weight=word_weight),
                logits[held],
            )
            for word_weight, every in found.items()
            for cost, logits in every.items()
        ],
        held,
    )


@dataclass(frozen=True, slots=True)
class _Products:
    """Products between all rows: of their vectors, and of their words."""

    vectors: Floats
    words: Floats

    @classmethod
    def of(cls, features: HeadFeatures) -> "_Products":
        return cls(features.vectors @ features.vectors.T, features.words @ features.words.T)

    def rows(self, word_weight: float) -> Floats:
        """Rows that have these products with each other."""
        return factor(self.vectors + np.float32(word_weight) ** 2 * self.words).rows


def _tried(logits: NDArray[np.float64], gold: Ids, *, cost: float, word_weight: float) -> TriedHead:
    temperature = fit_temperature(logits, gold)
    return TriedHead(
        cost=cost,
        word_weight=word_weight,
        log_likelihood=Scaling(temperature=temperature).log_likelihood(logits, gold),
        accuracy=float((logits.argmax(axis=1) == gold).mean()),
        temperature=temperature,
    )


def _best(found: Sequence[tuple[TriedHead, NDArray[np.float64]]], held: Ids) -> HeadSearch:
    best, logits = max(found, key=lambda each: each[0].log_likelihood)
    return HeadSearch(tried=tuple(head for head, _ in found), best=best, logits=logits, held=held)


def _hold_out(
    rows: Floats, labels: Ids, is_out: NDArray[np.bool_], every: dict[float, NDArray[np.float64]]
) -> None:
    """Note the logits of held-out rows for each cost; each fit starts from that of a lower one."""
    start = None
    for cost, logits in every.items():
        start, _ = fit_softmax(
            rows[~is_out],
            labels[~is_out],
            num_classes=logits.shape[1],
            penalty=_penalty(cost, int((~is_out).sum())),
            curvature="diagonal",
            start=start,
            tolerance=ROUGH,
        )
        logits[is_out] = rows[is_out] @ start[:-1] + start[-1]


def _penalty(cost: float, num_rows: int) -> float:
    """Of the mean loss, where the cost is that of each row's loss."""
    return 1 / (cost * num_rows)


@dataclass(frozen=True, slots=True)
class Factored:
    """Rows that have the same products with each other as those of a wider matrix."""

    rows: Floats
    """[N, R]."""
    back: NDArray[np.float64]
    """[N, R]: the wider matrix, turned, times this brings weights back to its columns."""


def factor(products: Floats) -> Factored:
    """A factor of the products between all rows, without directions that are rounding."""
    values, vectors = np.linalg.eigh(products.astype(np.float64))
    kept = values > SMALLEST_SHARE * max(values[-1], np.finfo(np.float64).tiny)
    roots = np.sqrt(values[kept])
    return Factored((vectors[:, kept] * roots).astype(np.float32), vectors[:, kept] / roots)


def fit_weights(
    features: HeadFeatures, labels: Ids, *, num_classes: int, cost: float, word_weight: float
) -> tuple[Floats, Floats, Floats]:
    """The weights of vectors [D, C] and of words [W, C], and the bias [C]."""
    wide, penalty = features.beside(word_weight), _penalty(cost, len(labels))
    few = factor(wide @ wide.T) if len(wide) <= MOST_BY_PRODUCTS else None
    found, _ = fit_softmax(
        wide if few is None else few.rows,
        labels,
        num_classes=num_classes,
        penalty=penalty,
        curvature="diagonal",
        tolerance=FINE,
    )
    weights = found[:-1] if few is None else wide.T @ (few.back @ found[:-1])
    width = features.vectors.shape[1]
    vector, words = weights[:width], word_weight * weights[width:]
    return vector.astype(np.float32), words.astype(np.float32), found[-1].astype(np.float32)

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
    between = features.vectors @ features.vectors.T
    between_words = features.words @ features.words.T
    is_enough = False
    for word_weight in settings.word_weights:
        rows = factor(between + np.float32(word_weight) ** 2 * between_words).rows
        every = _held_out(rows, labels, folds, sorted(settings.costs), num_classes)
        for cost, logits in every.items():
            some, gold = logits[held], labels[held]
            temperature = fit_temperature(some, gold)
            head = TriedHead(
                cost=cost,
                word_weight=word_weight,
                log_likelihood=Scaling(temperature=temperature).log_likelihood(some, gold),
                accuracy=float((some.argmax(axis=1) == gold).mean()),
                temperature=temperature,
            )
            found.append((head, some))
            is_enough = bool(advance(len(found), head)) or is_enough
        if is_enough:
            break
    best, logits = max(found, key=lambda each: each[0].log_likelihood)
    return HeadSearch(tried=tuple(head for head, _ in found), best=best, logits=logits, held=held)


def _held_out(
    rows: Floats, labels: Ids, folds: Ids, costs: Sequence[float], num_classes: int
) -> dict[float, NDArray[np.float64]]:
    """Logits [N, C] of held-out rows for each cost; each fit starts from that of a lower one."""
    found = {cost: np.zeros((len(rows), num_classes)) for cost in costs}
    for fold in range(int(folds.max()) + 1):
        is_out, start = folds == fold, None
        for cost in costs:
            start, _ = fit_softmax(
                rows[~is_out],
                labels[~is_out],
                num_classes=num_classes,
                penalty=_penalty(cost, int((~is_out).sum())),
                curvature="diagonal",
                start=start,
                tolerance=ROUGH,
            )
            found[cost][is_out] = rows[is_out] @ start[:-1] + start[-1]
    return found


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

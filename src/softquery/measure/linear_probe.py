"""A linear probe: multinomial logistic regression on standardised columns.

Its minimum is unique (see `softmax_regression`), so that a comparison of two layers does not depend
on chance in training.

N rows, D width, C classes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import (
    Labels,
    as_labels,
    require_ids_below,
    require_same_length,
)
from softquery.measure.softmax_regression import fit_softmax

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LinearProbe:
    """A fitted classifier; `fit_linear` makes one."""

    centre: Floats
    scale: Floats
    weights: Floats
    """[D + 1, C], the bias in the last row."""
    num_iterations: int

    def predict(self, vectors: Floats) -> Labels:
        """The likeliest class of each row."""
        logits = _logits(_standardised(vectors, self.centre, self.scale), self.weights)
        likeliest: Labels = logits.argmax(axis=1).astype(np.int64)
        return likeliest


def fit_linear(
    vectors: Floats,
    labels: ArrayLike,
    *,
    num_classes: int,
    penalty: float = 1e-5,
    max_iterations: int = 200,
    tolerance: float = 1e-4,
) -> LinearProbe:
    """Fit a classifier to rows of vectors, whose columns are standardised first.

    Args:
        vectors: [N, D].
        labels: One class id per row.
        num_classes: The number of classes.
        penalty: Half of it times the squared weights, without the bias, is added to the mean loss.
        max_iterations: The most steps.
        tolerance: Stop where no entry of the gradient is larger.

    >>> rows = np.array([[0.0], [1.0], [4.0], [5.0]], dtype=np.float32)
    >>> fit_linear(rows, [0, 0, 1, 1], num_classes=2).predict(rows).tolist()
    [0, 0, 1, 1]
    """
    classes = as_labels(labels, name="labels")
    require_ids_below(classes, num_classes, name="labels")
    if vectors.ndim != 2:
        raise ValueError(f"vectors must be [rows, width], got {list(vectors.shape)}")
    require_same_length(vectors=vectors, labels=classes)
    centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = vectors.std(axis=0, dtype=np.float64).astype(np.float32)
    scale = np.where(deviation > 0, deviation, np.float32(1))
    found, num_iterations = fit_softmax(
        _standardised(vectors, centre, scale),
        classes,
        num_classes=num_classes,
        penalty=penalty,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    return LinearProbe(centre, scale, found.astype(np.float32), num_iterations)


def _standardised(vectors: Floats, centre: Floats, scale: Floats) -> Floats:
    rows: Floats = vectors - centre
    rows /= scale
    return rows


def _logits(vectors: Floats, weights: Floats) -> Floats:
    logits: Floats = vectors @ weights[:-1] + weights[-1]
    return logits

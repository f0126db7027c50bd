"""A linear probe: multinomial logistic regression in numpy.

The loss is convex and its penalty makes the minimum unique, so that a comparison of two layers does
not depend on chance in training. It is minimised by L-BFGS (Liu and Nocedal, 1989; the
two-loop recursion is Algorithm 7.4 of Nocedal and Wright, "Numerical Optimization", 2006), which
starts from the bound on the curvature of Böhning (1992), because the columns of a layer are so
correlated that plain steps would converge slowly.

N rows, D width, C classes.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import (
    Labels,
    as_labels,
    require_ids_below,
    require_same_length,
)

Floats = NDArray[np.float32]
Flat = NDArray[np.float64]
Loss = Callable[[Flat], tuple[float, Flat]]
"""A function that returns its value and its gradient."""
ROWS_AT_ONCE = 1 << 14
MEMORY = 10
"""How many steps L-BFGS keeps."""
ENOUGH_DECREASE, SHORTEST_STEP = 1e-4, 1e-8
SMALLEST = 1e-6
"""Added to the moments, so that they can be inverted even with duplicate columns."""


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
    rows, shape = _standardised(vectors, centre, scale), (vectors.shape[1] + 1, num_classes)

    def loss(flat: Flat) -> tuple[float, Flat]:
        return _loss(flat.reshape(shape), rows, classes, penalty)

    start = np.zeros(shape[0] * shape[1])
    by_curvature = _curvature(rows, penalty)
    found, num_iterations = _minimise(loss, start, by_curvature, max_iterations, tolerance)
    return LinearProbe(centre, scale, found.reshape(shape).astype(np.float32), num_iterations)


def _standardised(vectors: Floats, centre: Floats, scale: Floats) -> Floats:
    rows: Floats = vectors - centre
    rows /= scale
    return rows


def _logits(vectors: Floats, weights: Floats) -> Floats:
    logits: Floats = vectors @ weights[:-1] + weights[-1]
    return logits


def _loss(weights: Flat, vectors: Floats, classes: Labels, penalty: float) -> tuple[float, Flat]:
    """Mean cross-entropy with the penalty, and its gradient, computed in parts to save memory."""
    narrow = weights.astype(np.float32)
    gradient, total = np.zeros_like(weights), 0.0
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        rows = vectors[start : start + ROWS_AT_ONCE]
        gold = classes[start : start + ROWS_AT_ONCE]
        # Classes are the first axis, because numpy sums slowly along a short last one.
        logits = narrow[:-1].T @ rows.T
        logits += narrow[-1][:, None]
        logits -= logits.max(axis=0)
        each = np.arange(len(rows))
        chosen = logits[gold, each]
        chances = np.exp(logits, out=logits)
        sums = chances.sum(axis=0)
        total += float((np.log(sums) - chosen).sum(dtype=np.float64))
        chances /= sums
        chances[gold, each] -= 1
        gradient[:-1] += (chances @ rows).T
        gradient[-1] += chances.sum(axis=1)
    gradient /= len(classes)
    gradient[:-1] += penalty * weights[:-1]
    value = total / len(classes) + 0.5 * penalty * float((weights[:-1] ** 2).sum())
    return value, gradient.ravel()


def _curvature(rows: Floats, penalty: float) -> Callable[[Flat], Flat]:
    """Multiplication by the inverse of half the second moments, which bound the Hessian."""
    size = rows.shape[1] + 1
    moments = np.zeros((size, size))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        moments[:-1, :-1] += part.T @ part
    # The columns have mean 0, so that the bias has no mixed moments.
    moments[-1, -1] = len(rows)
    inverse = np.linalg.inv(moments / (2 * len(rows)) + max(penalty, SMALLEST) * np.eye(size))
    return lambda flat: (inverse @ flat.reshape(size, -1)).ravel()


def _minimise(
    loss: Loss,
    point: Flat,
    by_curvature: Callable[[Flat], Flat],
    max_iterations: int,
    tolerance: float,
) -> tuple[Flat, int]:
    """L-BFGS with a step that is halved until the loss falls enough."""
    value, gradient = loss(point)
    steps: deque[tuple[Flat, Flat]] = deque(maxlen=MEMORY)
    for iteration in range(max_iterations):
        if np.abs(gradient).max() <= tolerance:
            return point, iteration
        direction = -_two_loops(gradient, steps, by_curvature)
        slope, length = float(direction @ gradient), 1.0
        while True:
            new_value, new_gradient = loss(point + length * direction)
            if new_value <= value + ENOUGH_DECREASE * length * slope:
                break
            length /= 2
            if length < SHORTEST_STEP:  # no lower point within float32 precision
                return point, iteration
        moved, turned = length * direction, new_gradient - gradient
        if float(moved @ turned) > 0:
            steps.append((moved, turned))
        point, value, gradient = point + moved, new_value, new_gradient
    return point, max_iterations


def _two_loops(
    gradient: Flat, steps: deque[tuple[Flat, Flat]], by_curvature: Callable[[Flat], Flat]
) -> Flat:
    """The gradient times the inverse curvature as estimated from the kept steps."""
    found: Flat = gradient.copy()
    weights = []
    for moved, turned in reversed(steps):
        weight = float(moved @ found) / float(moved @ turned)
        found -= weight * turned
        weights.append(weight)
    found = by_curvature(found)
    if steps:
        moved, turned = steps[-1]
        found *= float(moved @ turned) / float(turned @ by_curvature(turned))
    for (moved, turned), weight in zip(steps, reversed(weights), strict=True):
        found += (weight - float(turned @ found) / float(moved @ turned)) * moved
    return found

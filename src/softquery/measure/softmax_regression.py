"""Multinomial logistic regression with an L2 penalty, in numpy.

The loss is convex and its penalty makes the minimum unique, so that what is fitted does not depend
on chance. It is minimised by L-BFGS (Liu and Nocedal, 1989; the two-loop recursion is Algorithm 7.4
of Nocedal and Wright, "Numerical Optimization", 2006), which starts from the bound on the curvature
of Böhning (1992): half the second moments of the columns.

N rows, D width, C classes.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.measure.basic_metrics import (
    Labels,
    as_labels,
    require_ids_below,
    require_same_length,
)

Rows = NDArray[np.floating[Any]]
Flat = NDArray[np.float64]
Loss = Callable[[Flat], tuple[float, Flat]]
"""A function that returns its value and its gradient."""
Curvature = Literal["full", "diagonal"]
ROWS_AT_ONCE = 1 << 14
MEMORY = 10
"""How many steps L-BFGS keeps."""
ENOUGH_DECREASE, SHORTEST_STEP = 1e-4, 1e-8
SMALLEST = 1e-6
"""Added to the moments, so that they can be inverted even with duplicate columns."""


class SoftmaxFit(NamedTuple):
    """What was fitted."""

    weights: Flat
    """[D + 1, C], the bias in the last row."""
    num_iterations: int


def fit_softmax(
    rows: Rows,
    labels: ArrayLike,
    *,
    num_classes: int,
    penalty: float,
    curvature: Curvature = "full",
    start: Flat | None = None,
    max_iterations: int = 200,
    tolerance: float = 1e-4,
) -> SoftmaxFit:
    """Fit weights and a bias to rows.

    Args:
        rows: [N, D]; the precision of their numbers is that of the products.
        labels: One class id per row.
        num_classes: The number of classes.
        penalty: Half of it times the squared weights, without the bias, is added to the mean loss.
        curvature: `"full"` is best where columns are correlated and few, `"diagonal"` where they
            are not, or too many for a matrix of them to be inverted.
        start: Weights to begin with, such as those of a larger penalty; zeros by default.
        max_iterations: The most steps.
        tolerance: Stop where no entry of the gradient is larger.

    >>> fit = fit_softmax(np.array([[-1.0], [1.0]]), [0, 1], num_classes=2, penalty=0.1)
    >>> (np.array([[-1.0], [1.0]]) @ fit.weights[:-1] + fit.weights[-1]).argmax(axis=1).tolist()
    [0, 1]
    """
    classes = as_labels(labels, name="labels")
    require_ids_below(classes, num_classes, name="labels")
    if rows.ndim != 2:
        raise ValueError(f"rows must be [rows, width], got {list(rows.shape)}")
    require_same_length(rows=rows, labels=classes)
    shape = (rows.shape[1] + 1, num_classes)

    def loss(flat: Flat) -> tuple[float, Flat]:
        return softmax_loss(flat.reshape(shape), rows, classes, penalty)

    begin = np.zeros(shape[0] * shape[1]) if start is None else start.ravel().astype(np.float64)
    invert = _full if curvature == "full" else _diagonal
    found, steps = minimise(loss, begin, invert(rows, penalty), max_iterations, tolerance)
    return SoftmaxFit(found.reshape(shape), steps)


def softmax_loss(weights: Flat, rows: Rows, classes: Labels, penalty: float) -> tuple[float, Flat]:
    """Mean cross-entropy with the penalty, and its gradient, computed in parts to save memory.

    Args:
        weights: [D + 1, C], the bias in the last row.
        rows: [N, D].
        classes: One class id per row.
        penalty: Of the squared weights, halved, without the bias.
    """
    narrow = weights.astype(rows.dtype)
    gradient, total = np.zeros_like(weights), 0.0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        gold = classes[start : start + ROWS_AT_ONCE]
        # Classes are the first axis, because numpy sums slowly along a short last one.
        logits = narrow[:-1].T @ some.T
        logits += narrow[-1][:, None]
        logits -= logits.max(axis=0)
        each = np.arange(len(some))
        chosen = logits[gold, each]
        chances = np.exp(logits, out=logits)
        sums = chances.sum(axis=0)
        total += float((np.log(sums) - chosen).sum(dtype=np.float64))
        chances /= sums
        chances[gold, each] -= 1
        gradient[:-1] += (chances @ some).T
        gradient[-1] += chances.sum(axis=1)
    gradient /= len(classes)
    gradient[:-1] += penalty * weights[:-1]
    value = total / len(classes) + 0.5 * penalty * float((weights[:-1] ** 2).sum())
    return value, gradient.ravel()


def _full(rows: Rows, penalty: float) -> Callable[[Flat], Flat]:
    """Multiplication by the inverse of half the second moments, which bound the Hessian."""
    size = rows.shape[1] + 1
    moments = np.zeros((size, size))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        moments[:-1, :-1] += part.T @ part
    # Taken as if the columns had mean 0, so that the bias has no mixed moments.
    moments[-1, -1] = len(rows)
    inverse = np.linalg.inv(moments / (2 * len(rows)) + max(penalty, SMALLEST) * np.eye(size))
    return lambda flat: (inverse @ flat.reshape(size, -1)).ravel()


def _diagonal(rows: Rows, penalty: float) -> Callable[[Flat], Flat]:
    """The same with the squares of each column alone."""
    moments = np.ones(rows.shape[1] + 1)
    moments[:-1] = np.einsum("nd,nd->d", rows, rows, dtype=np.float64) / len(rows)
    inverse = 1 / (moments / 2 + max(penalty, SMALLEST))
    return lambda flat: (inverse[:, None] * flat.reshape(len(inverse), -1)).ravel()


def minimise(
    loss: Loss,
    point: Flat,
    by_curvature: Callable[[Flat], Flat],
    max_iterations: int,
    tolerance: float,
) -> tuple[Flat, int]:
    """The point where a loss is lowest by L-BFGS, and how many steps it took.

    A step is halved until the loss falls enough.

    Args:
        loss: Its value and its gradient at a point.
        point: Where to begin.
        by_curvature: Multiplies by the inverse of a bound on the curvature.
        max_iterations: The most steps.
        tolerance: Stop where no entry of the gradient is larger.
    """
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

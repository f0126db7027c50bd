"""Checks of the arrays that metrics take.

A wrong shape is a programming error (`ValueError`); no rows at all is a user's error, such as an
empty selection (`InputError`).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softquery.errors import InputError

Labels = NDArray[np.int64]
Numbers = NDArray[np.float64]


def as_labels(values: ArrayLike, *, name: str) -> Labels:
    """Label ids, one per row: integers from 0, at least one of them.

    >>> as_labels([0, 2, 1], name="gold").tolist()
    [0, 2, 1]
    """
    array = np.asarray(values)
    require_rows(array, name=name)
    if array.ndim != 1 or not (array.dtype == bool or np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"{name} must be one integer per row, got {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0:
        raise ValueError(f"{name} must hold label ids from 0, got {array.min()}")
    return array.astype(np.int64)


def as_numbers(values: ArrayLike, *, name: str, num_axes: int = 1) -> Numbers:
    """Finite floats with the given number of axes and at least one row.

    >>> as_numbers([1, 2], name="score")
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    require_rows(array, name=name)
    if array.ndim != num_axes:
        raise ValueError(f"{name} must have {num_axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but holds NaN or infinity")
    return array


def require_rows(array: NDArray[np.generic], *, name: str) -> None:
    """Refuse to measure without rows."""
    if array.ndim > 0 and len(array) == 0:
        raise InputError(f"there are no rows to measure ({name} is empty)")


def require_same_length(**arrays: NDArray[np.generic]) -> None:
    """Refuse arrays of different lengths.

    >>> require_same_length(gold=np.zeros(3), predicted=np.zeros(2))
    Traceback (most recent call last):
    ValueError: rows differ: gold has 3, predicted has 2
    """
    if len({len(array) for array in arrays.values()}) > 1:
        counts = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise ValueError(f"rows differ: {counts}")


def require_ids_below(labels: Labels, limit: int, *, name: str) -> None:
    """Refuse label ids that are not below the number of labels."""
    if labels.max() >= limit:
        raise ValueError(f"{name} holds label id {labels.max()}, but there are {limit} labels")

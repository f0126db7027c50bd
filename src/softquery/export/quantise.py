"""Weights as int8: one scale a row, symmetric around zero."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.weights import SCALE

SMALLEST = 4096
"""Matrices with fewer entries stay float32: nothing is won there."""


def quantise(
    weights: dict[str, NDArray[Any]], *, recurrent: bool = True
) -> dict[str, NDArray[Any]]:
    """Store every large matrix as int8 with scales.

    Args:
        weights: By torch's names.
        recurrent: Whether LSTM matrices are taken along; ONNX Runtime has no int8 GRU.

    >>> stored = quantise({"w": np.full((64, 64), 0.5, dtype=np.float32)})
    >>> stored["w"].dtype.name, int(stored["w"][0, 0]), stored["w:scale"].shape
    ('int8', 127, (64,))
    """
    stored: dict[str, NDArray[Any]] = {}
    for name, values in weights.items():
        is_recurrent = ".weight_ih_l0" in name or ".weight_hh_l0" in name
        if values.ndim != 2 or values.size < SMALLEST or (is_recurrent and not recurrent):
            stored[name] = values
            continue
        scale = np.maximum(np.abs(values).max(axis=1), 1e-12).astype(np.float32) / 127
        stored[name] = np.clip(np.round(values / scale[:, None]), -127, 127).astype(np.int8)
        stored[name + SCALE] = scale
    return stored

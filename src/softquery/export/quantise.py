"""Weights as int8: one scale per row, symmetric around zero."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.graph_weights import SCALE

SMALLEST = 4096
"""Matrices with fewer entries stay float32: nothing is won there."""


def quantise(weights: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Store every large matrix, and every large set of filters, as int8 with scales.

    Both directions of an LSTM are taken as a whole or not at all, as ONNX Runtime's int8 LSTM asks.
    GRUs stay float32: there is no int8 GRU.

    Args:
        weights: By torch's names.

    >>> stored = quantise({"w": np.full((64, 64), 0.5, dtype=np.float32)})
    >>> stored["w"].dtype.name, int(stored["w"][0, 0]), stored["w:scale"].shape
    ('int8', 127, (64,))
    """
    stored: dict[str, NDArray[Any]] = {}
    thin = {
        _layer(name)
        for name, values in weights.items()
        if _is_recurrent(name) and (values.size < SMALLEST or _is_gru(name, values))
    }
    for name, values in weights.items():
        is_large = values.dtype.kind == "f" and values.ndim >= 2 and values.size >= SMALLEST
        if not is_large or (_is_recurrent(name) and _layer(name) in thin):
            stored[name] = values
            continue
        rows = values.reshape(len(values), -1)
        scale = np.maximum(np.abs(rows).max(axis=1), 1e-12).astype(np.float32) / 127
        small = np.clip(np.round(rows / scale[:, None]), -127, 127).astype(np.int8)
        stored[name], stored[name + SCALE] = small.reshape(values.shape), scale
    return stored


def _is_recurrent(name: str) -> bool:
    return ".weight_ih_l0" in name or ".weight_hh_l0" in name


def _is_gru(name: str, values: NDArray[Any]) -> bool:
    """Whether it is the recurrent matrix of three gates."""
    return ".weight_hh_l0" in name and len(values) == 3 * values.shape[1]


def _layer(name: str) -> str:
    """What both directions belong to."""
    return name.replace(".backwards.", ".forwards.").split(".forwards.")[0]

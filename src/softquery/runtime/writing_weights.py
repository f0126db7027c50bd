"""Weights of generators as their graphs take them. Needs no torch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.runtime.weights import Array, Weights

TABLES = ("words.source.weight", "words.target.weight")
LONGEST = 2048
"""Positions that are kept ready where they are computed."""
_ORDER = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}
"""torch's gates in ONNX's order."""


def writing_weights(weights: Weights, config: Mapping[str, Any]) -> dict[str, Array]:
    """Every array that a generator's graphs may ask for, by their names.

    Matrices are laid out for multiplication from the right; the table that predicts words is
    `words.turned`; a layer of a recurrent encoder becomes `reader.LAYER.W`, `.R` and `.B`.

    Args:
        weights: By torch's names, as float32.
        config: The model's settings.
    """
    made: dict[str, Array] = {
        name: values
        if name in TABLES or values.ndim != 2 or not name.endswith("weight")
        else np.ascontiguousarray(values.T)
        for name, values in weights.items()
    }
    output = weights.get("words.output", weights["words.target.weight"])
    made["words.turned"] = np.ascontiguousarray(output.T)
    if config.get("positions") == "sinusoidal":
        table = sinusoids(max(LONGEST, config["max_length"]), config["hidden_size"])
        made |= {f"{side}_positions.table": table for side in ("source", "target")}
    if "cell" in config:
        made |= _recurrent(weights, config)
    return made


def _recurrent(weights: Weights, config: Mapping[str, Any]) -> dict[str, Array]:
    """What an encoder's own operators take, and the parts of its scores."""
    sides = [side for side in ("forwards", "backwards") if config["direction"] in (side, "both")]
    made: dict[str, Array] = {}
    for layer in range(config["num_layers"]):
        names = [f"reader.{side}.{layer}" for side in sides]
        for letter, kind in (("W", "input"), ("R", "recurrent")):
            parts = [_gates(weights[f"{name}.{kind}_weight"], config["cell"]) for name in names]
            made[f"reader.{layer}.{letter}"] = np.stack(parts)
        biases = [
            np.concatenate(
                [_gates(weights[f"{name}.{kind}_bias"], config["cell"]) for kind in
                 ("input", "recurrent")]
            )
            for name in names
        ]  # fmt: skip
        made[f"reader.{layer}.B"] = np.stack(biases)
    if (general := weights.get("asking.score.query_projection.weight")) is not None:
        made["asking.score.turned"] = general
    if (whole := weights.get("asking.score.projection.weight")) is not None:
        size = config["hidden_size"]
        parts = [np.ascontiguousarray(part.T) for part in (whole[:, :size], whole[:, size:])]
        made["asking.score.query_part.weight"], made["asking.score.key_part.weight"] = parts
    return made


def _gates(values: Array, cell: str) -> Array:
    order = _ORDER[cell]
    gates = values.reshape(len(order), -1, *values.shape[1:])
    return np.ascontiguousarray(gates[list(order)].reshape(values.shape))


def sinusoids(length: int, size: int) -> NDArray[np.float32]:
    """As the model computes them in torch (Vaswani et al. 2017, Section 3.5).

    >>> sinusoids(1, 2).tolist()
    [[0.0, 1.0]]
    """
    place = np.arange(length, dtype=np.float32)[:, None]
    even = np.arange(0, size, 2, dtype=np.float32)
    angle = place * np.exp(even * np.float32(-np.log(10_000.0) / size))
    both: Any = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, -1)
    return np.ascontiguousarray(both[:, :size], dtype=np.float32)

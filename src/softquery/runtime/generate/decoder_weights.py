"""Weights of generators as their graphs take them. Needs no torch."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.graph_weights import SCALE, Array, Weights, dequantised, kept
from softquery.runtime.graphs import stored_weights, used_weights

TABLES = ("words.source.weight", "words.target.weight")
READER = "reader."
ZERO = ":zero"
"""What stands behind the name of an int8 weight in the name of its zero points."""
TOGETHER = "query_key_value"
"""A layer that makes all three of what asks itself: their matrices side by side."""
_APART = ("query_projection", "key_projection", "value_projection")
_OWN = re.compile(r"decoder\.\d+\.own_attention\.query_projection(\.weight.*|\.bias)")
_ENDING = re.compile("_(weight|bias)$")
"""A cell's matrices are named like layers."""
LONGEST = 2048
"""Positions that are kept ready where they are computed."""
MOST_POSITIONS = 1 << 16
"""The most that a model may want to be kept ready."""
_ORDER = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}
"""torch's gates in ONNX's order."""


def generator_weights(weights: Weights, config: Mapping[str, Any]) -> dict[str, Array]:
    """Every array that a generator's graphs may ask for, by their names.

    Matrices are laid out for multiplication from the right, those that are stored as int8 with
    scales and zero points; what predicts words is `words.turned`; a layer of a recurrent encoder
    becomes `reader.LAYER.W`, `.R` and `.B`, in float32.

    Some are there in two forms, as graphs of different age take them: the matrices of a decoder's
    own attention also side by side, the layer before a recurrent decoder's words also in two parts,
    `readout.source` for what comes of the source and `readout.own` for the rest.

    Args:
        weights: By torch's names, as they are stored.
        config: The model's settings.
    """
    wide = dequantised(weights)
    stored = {n: v for n, v in weights.items() if n.endswith(SCALE) or n + SCALE in weights}
    weights = {**wide, **stored}
    made: dict[str, Array] = {}
    for name in wide:
        if name in TABLES:
            made |= kept(weights, name)
        elif name.startswith(READER):
            continue
        elif wide[name].ndim == 2 and name.endswith("weight"):
            made |= _turned(weights, name, _ENDING.sub(r".\1", name))
        else:
            made[_ENDING.sub(r".\1", name)] = wide[name]
    output = "words.output" if "words.output" in wide else "words.target.weight"
    made |= _turned(weights, output, "words.turned.weight")
    made["words.turned.bias"] = wide["words.bias"]
    if config.get("positions") == "sinusoidal":
        if not 0 < config["max_length"] <= MOST_POSITIONS:
            raise ValueError(f"max_length must be from 1 to {MOST_POSITIONS:,}")
        table = sinusoids(max(LONGEST, config["max_length"]), config["hidden_size"])
        made |= {f"{side}_positions.table": table for side in ("source", "target")}
    if "cell" in config:
        made |= _recurrent(wide, config)
        made |= _read_apart(made, config)
    return made | _side_by_side(made)


def fitting_weights(bundle: Bundle) -> dict[str, Array]:
    """A bundle's weights for its graphs, refused where they do not fit its settings.

    Where the graphs ask for no scales, int8 is a way of storing: they are handed float32.
    """
    stored: Weights = stored_weights(bundle)
    try:
        if not any(name.endswith(SCALE) for name in used_weights(bundle.path, "step")):
            stored = dequantised(stored)
        return generator_weights(stored, bundle.config.model["config"])
    except (KeyError, ValueError, IndexError, TypeError) as error:
        missing = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise BundleError(f"{bundle.weights_path}: does not fit config.json ({missing})") from None


def _turned(weights: Weights, name: str, called: str) -> dict[str, Array]:
    """A matrix for multiplication from the right."""
    turned = {called: np.ascontiguousarray(weights[name].T)}
    if (scale := weights.get(name + SCALE)) is None:
        return turned
    return {**turned, called + SCALE: scale, called + ZERO: np.zeros(len(scale), dtype=np.int8)}


def _side_by_side(made: Weights) -> dict[str, Array]:
    """What a decoder's own attention asks, and is asked, by one product."""
    return {
        name.replace(_APART[0], TOGETHER): np.concatenate(
            [made[name.replace(_APART[0], part)] for part in _APART], axis=-1
        )
        for name in made
        if _OWN.fullmatch(name)
    }


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


def _read_apart(made: Weights, config: Mapping[str, Any]) -> dict[str, Array]:
    """The rows of the readout that read the source, and those that read the decoder."""
    if config["context"] == "first_state":
        return {}
    asks_after = config["context"] == "attention" and config["attention"]["asker"] == "current"
    whole = "readout" if asks_after else "readout.pairs"
    own = config["hidden_size"] + (0 if asks_after else config["embedding_size"])
    rows = made[f"{whole}.weight"]
    if asks_after:  # [c; h], otherwise [h; word; c]
        parts = {"readout.source": rows[:-own], "readout.own": rows[-own:]}
    else:
        parts = {"readout.source": rows[own:], "readout.own": rows[:own]}
    found = {f"{part}.weight": np.ascontiguousarray(some) for part, some in parts.items()}
    for kind in (f".weight{SCALE}", f".weight{ZERO}", ".bias"):  # one a column: both parts' own
        if whole + kind in made:
            found |= {part + kind: made[whole + kind] for part in parts}
    return found


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

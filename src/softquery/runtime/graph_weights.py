"""Weights as a bundle stores them, and as the ONNX graphs take them. Needs no torch.

A bundle holds its weights once, under torch's names, either as float32 or as int8 with one scale a
row (`NAME:scale`). The graphs in `onnx/` hold none: they are handed these arrays when a session is
made, with LSTM gates in ONNX's order and matrices laid out for multiplication from the right.

An int8 LSTM also gets scales that never depend on the batch. ONNX Runtime takes the range of its
inputs, and at every step that of its states, from the batch at hand. So each LSTM is given two more
inputs and two more units, which no gate of the others reads (their weights are 0), and whose values
are the ends of the range:

- the two inputs are the constants that the graph cuts its real inputs to;
- one unit has all gates open and writes 1 at every step, the other writes -1. A cell cannot grow
  faster, so at step t their states, tanh(t) and -tanh(t), are the ends of what any state can be.

What a row's state is quantised by is thus a matter of its step alone.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from softquery.errors import BundleError

Array = NDArray[np.generic]
Weights = Mapping[str, Array]
SCALE = ":scale"
"""What stands behind the name of an int8 weight in the name of its scales."""

TABLES = (
    "table.weight",
    "embedding.words.weight",
    "embedding.positions.weight",
    "embedding.segments.weight",
)
"""How the names of tables end, which are looked up and not multiplied."""

EXTRA = 2
"""Inputs and units that are added to each direction of an int8 LSTM."""
_OPEN = 20.0
"""A gate's bias for which its sigmoid, or tanh, is 1 in float32."""
_LSTM_GATES = 4
_GATES = {4: (0, 3, 1, 2), 3: (1, 0, 2)}
"""torch's gates in ONNX's order: LSTM i o f c of i f g o, GRU z r h of r z n."""


def dequantised(weights: Weights) -> dict[str, Array]:
    """Every weight as float32.

    >>> stored = {"w": np.array([[2, -4]], dtype=np.int8), "w:scale": np.array([0.5], np.float32)}
    >>> dequantised(stored)["w"].tolist()
    [[1.0, -2.0]]
    """
    whole: dict[str, Array] = {}
    for name, values in weights.items():
        if name.endswith(SCALE):
            continue
        scale = weights.get(name + SCALE)
        wide: NDArray[np.float32] = values.astype(np.float32, copy=False)
        if scale is not None:
            if values.ndim < 2 or scale.shape != values.shape[:1]:
                raise BundleError(f"{name}{SCALE} does not fit its weight")
            wide = wide * scale.astype(np.float32).reshape(-1, *(1,) * (values.ndim - 1))
        whole[name] = wide
    return whole


def kept(weights: Weights, name: str) -> dict[str, Array]:
    """A weight as it is stored, with its scales where it has some."""
    return {each: weights[each] for each in (name, name + SCALE) if each in weights}


def arrange(weights: Weights, model: str) -> dict[str, Array]:
    """Every array that a graph may ask for, by the graph's names.

    - a matrix `NAME.weight` of a linear layer becomes `NAME.weight` transposed, with its scales;
    - a pair of recurrent directions `NAME.forwards.*`, `NAME.backwards.*` becomes `NAME.W`,
      `NAME.R`, `NAME.B` and, in int8, their scales and zero points, with inputs and units that
      bound them;
    - ESIM's folded projection is cut into `project.own`, `project.aligned`, `project.product`;
    - everything else, embedding tables among it, stays as it is.

    Args:
        weights: By torch's names.
        model: The name of the model that they belong to, such as `"esim"`.
    """
    weights = _cut_projection(weights) if model == "esim" else weights
    arranged: dict[str, Array] = {}
    pairs = {name.split(".forwards.")[0] for name in weights if ".forwards." in name}
    for name in pairs:
        arranged.update(_recurrent(weights, name))
    for name, values in weights.items():
        if ".forwards." in name or ".backwards." in name or name.endswith(SCALE):
            continue
        arranged.update(_plain(weights, name, values))
    return arranged


def _cut_projection(weights: Weights) -> Weights:
    """ESIM's projection of [a; ã; a ⊙ ã] as one matrix for each of the three."""
    name = "project.0.weight"
    product = len(weights.get("alignment.weight", ())) or weights[name].shape[1] // 3
    width = (weights[name].shape[1] - product) // 2
    blocks = np.split(weights[name], [width, 2 * width], axis=1)
    cut = {key: value for key, value in weights.items() if not key.startswith("project.0.")}
    for part, block in zip(("own", "aligned", "product"), blocks, strict=True):
        cut[f"project.{part}.weight"] = block
        if name + SCALE in weights:
            cut[f"project.{part}.weight{SCALE}"] = weights[name + SCALE]
    return {**cut, "project.own.bias": weights["project.0.bias"]}


def _plain(weights: Weights, name: str, values: Array) -> dict[str, Array]:
    scale = weights.get(name + SCALE)
    if not name.endswith(".weight") or name.endswith(TABLES):
        return {name: values} if scale is None else {name: values, name + SCALE: scale}
    turned = np.ascontiguousarray(values.T)
    if scale is None:
        return {name: turned}
    return {name: turned, name + SCALE: scale, name + ":zero": np.zeros(len(scale), dtype=np.int8)}


def _recurrent(weights: Weights, name: str) -> dict[str, Array]:
    """Both directions in ONNX's layout; in int8 with what bounds them."""
    arrays = _stacked(weights, name)
    if f"W{SCALE}" in arrays and f"R{SCALE}" in arrays:
        arrays = _bounded(arrays)
    return {f"{name}.{letter}": values for letter, values in arrays.items()}


def _stacked(weights: Weights, name: str) -> dict[str, Array]:
    arranged: dict[str, Array] = {}
    sides = [f"{name}.forwards", f"{name}.backwards"]
    for letter, kind in (("W", "weight_ih_l0"), ("R", "weight_hh_l0")):
        parts = [weights[f"{side}.{kind}"] for side in sides]
        hidden_size = weights[f"{sides[0]}.weight_hh_l0"].shape[1]
        stacked = np.stack([_reordered(part, hidden_size) for part in parts])
        scales = [weights.get(f"{side}.{kind}{SCALE}") for side in sides]
        if scales[0] is None or scales[1] is None:
            arranged[letter] = stacked
            continue
        # ONNX Runtime's int8 LSTM takes its matrices transposed, with a scale for each column.
        arranged[letter] = np.ascontiguousarray(stacked.transpose(0, 2, 1))
        arranged[f"{letter}{SCALE}"] = np.stack(
            [_reordered(scale, hidden_size) for scale in (scales[0], scales[1])]
        )
        arranged[f"{letter}:zero"] = np.zeros(stacked.shape[:2], dtype=np.int8)
    arranged["B"] = np.stack(
        [
            np.concatenate(
                [_reordered(weights[f"{side}.bias_{way}_l0"], hidden_size) for way in ("ih", "hh")]
            )
            for side in sides
        ]
    )
    return arranged


def _reordered(values: Array, hidden_size: int) -> Array:
    gates = values.reshape(-1, hidden_size, *values.shape[1:])
    return gates[list(_GATES[len(gates)])].reshape(values.shape)


def _bounded(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """An int8 LSTM in ONNX's layout, with the inputs and units that bound it.

    Args:
        arrays: `W` [2, D, 4 S], `R` [2, S, 4 S] as int8; `W:scale`, `W:zero`, `R:scale`, `R:zero`
            [2, 4 S]; `B` [2, 8 S]. Gates are i, o, f, c.
    """
    grown: dict[str, Array] = {}
    for letter in "WR":
        wide = _more_units(arrays[letter], 0)
        grown[letter] = np.pad(wide, ((0, 0), (0, EXTRA), (0, 0)))
        grown[f"{letter}:scale"] = _more_units(arrays[f"{letter}:scale"], 1)
        grown[f"{letter}:zero"] = _more_units(arrays[f"{letter}:zero"], 0)
    input_bias, state_bias = np.split(arrays["B"], 2, axis=1)
    ends = np.full((_LSTM_GATES, EXTRA), _OPEN)
    ends[-1] = (_OPEN, -_OPEN)  # what the cell takes up: 1 and -1
    grown["B"] = np.concatenate(
        [_more_units(input_bias, ends), _more_units(state_bias, 0)], axis=1
    ).astype(arrays["B"].dtype)
    return grown


def _more_units(values: Array, filling: float | NDArray[np.float64]) -> Array:
    """[..., 4 S] to [..., 4 (S + 2)], the new units behind the others of each gate."""
    gates = values.reshape(*values.shape[:-1], _LSTM_GATES, -1)
    shape = (*gates.shape[:-1], EXTRA)
    more = np.broadcast_to(np.asarray(filling), shape).astype(values.dtype)
    wide: Array = np.concatenate([gates, more], axis=-1)
    return wide.reshape(*values.shape[:-1], -1)

"""int8 LSTMs whose scales never depend on the batch.

ONNX Runtime's int8 LSTM takes the range of its inputs, and at every step that of its states, from
the batch at hand. So each LSTM is given two more inputs and two more units, which no gate of the
others reads (their weights are 0), and whose values are the ends of the range:

- the two inputs are the constants that the graph cuts its real inputs to;
- one unit has all gates open and writes 1 at every step, the other writes -1. A cell cannot grow
  faster, so at step t their states, tanh(t) and -tanh(t), are the ends of what any state can be.

What a row's state is quantised by is thus a matter of its step alone.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
EXTRA = 2
"""Inputs and units that are added to each direction."""
_OPEN = 20.0
"""A gate's bias for which its sigmoid, or tanh, is 1 in float32."""
_GATES = 4


def bounded(arrays: Mapping[str, Array]) -> dict[str, Array]:
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
    ends = np.full((_GATES, EXTRA), _OPEN)
    ends[-1] = (_OPEN, -_OPEN)  # what the cell takes up: 1 and -1
    grown["B"] = np.concatenate(
        [_more_units(input_bias, ends), _more_units(state_bias, 0)], axis=1
    ).astype(arrays["B"].dtype)
    return grown


def _more_units(values: Array, filling: float | NDArray[np.float64]) -> Array:
    """[..., 4 S] to [..., 4 (S + 2)], the new units behind the others of each gate."""
    gates = values.reshape(*values.shape[:-1], _GATES, -1)
    shape = (*gates.shape[:-1], EXTRA)
    more = np.broadcast_to(np.asarray(filling), shape).astype(values.dtype)
    wide: Array = np.concatenate([gates, more], axis=-1)
    return wide.reshape(*values.shape[:-1], -1)

"""The arrays of a published ELMo and our weights, each made from the other. Needs no torch.

The published form is TensorFlow's: matrices multiply from the right, a cell's gates stand in the
order input, candidate, forget, output, and a bias of 1 for the forget gate is left unsaid.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.interop.elmo_options import ElmoOptions
from softquery.text import NUM_CHARACTERS

Array = NDArray[np.float32]
DIRECTIONS = ("forwards", "backwards")
_GATES = (0, 2, 1, 3)
"""Input, candidate, forget, output to input, forget, candidate, output; it is its own inverse."""


@dataclass(frozen=True, slots=True)
class Published:
    """One array of the published form.

    Attributes:
        name: Its path in the file.
        shape: What the options make of it.
        weights: From the array to our weights, by our names.
        array: From all our weights back to the array.
    """

    name: str
    shape: tuple[int, ...]
    weights: Callable[[Array], dict[str, Array]]
    array: Callable[[Mapping[str, Array]], Array]


def published_arrays(options: ElmoOptions) -> Iterator[Published]:
    """Every array that a model of this size has."""
    yield Published(
        "char_embed",
        (NUM_CHARACTERS - 1, options.character_size),
        lambda array: {"reader.table.weight": np.pad(array, ((1, 0), (0, 0)))},
        lambda weights: weights["reader.table.weight"][1:],
    )
    yield from _filters(options)
    for number in range(options.num_highways):
        root = f"reader.highways.{number}"
        for ours, theirs in (("gate", "carry"), ("change", "transform")):
            yield from _linear(
                f"{root}.{ours}",
                (f"CNN_high_{number}/W_{theirs}", f"CNN_high_{number}/b_{theirs}"),
                (options.num_filters, options.num_filters),
            )
    shape = (options.num_filters, options.projection_size)
    yield from _linear("reader.projection", ("CNN_proj/W_proj", "CNN_proj/b_proj"), shape)
    for place, direction in enumerate(DIRECTIONS):
        for number in range(options.num_layers):
            root = f"RNN_{place}/RNN/MultiRNNCell/Cell{number}/LSTMCell"
            yield from _cell(f"{direction}.layers.{number}", root, options)


def join_biases(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Our weights from all arrays together: the filters' biases are one vector of ours."""
    parts = {name: value for name, value in weights.items() if name.startswith("reader.bias.")}
    joined = np.concatenate([parts[f"reader.bias.{n}"] for n in range(len(parts))])
    kept = {name: value for name, value in weights.items() if name not in parts}
    return {**kept, "reader.bias": joined}


def _filters(options: ElmoOptions) -> Iterator[Published]:
    start = 0
    for number, (width, count) in enumerate(zip(options.widths, options.filters, strict=True)):
        kernel, bias, span = f"reader.kernels.{number}", f"reader.bias.{number}", (start, count)
        yield Published(
            f"CNN/W_cnn_{number}",
            (1, width, options.character_size, count),
            lambda array, kernel=kernel: {kernel: array[0].transpose(2, 1, 0)},  # type: ignore[misc]
            lambda weights, kernel=kernel: weights[kernel].transpose(2, 1, 0)[None],  # type: ignore[misc]
        )
        yield Published(
            f"CNN/b_cnn_{number}",
            (count,),
            lambda array, bias=bias: {bias: array},  # type: ignore[misc]
            lambda weights, span=span: weights["reader.bias"][span[0] : sum(span)],  # type: ignore[misc]
        )
        start += count


def _linear(ours: str, theirs: tuple[str, str], shape: tuple[int, int]) -> Iterator[Published]:
    yield Published(
        theirs[0],
        shape,
        lambda array: {f"{ours}.weight": array.T},
        lambda weights: weights[f"{ours}.weight"].T,
    )
    yield Published(
        theirs[1],
        shape[1:],
        lambda array: {f"{ours}.bias": array},
        lambda weights: weights[f"{ours}.bias"],
    )


def _cell(ours: str, root: str, options: ElmoOptions) -> Iterator[Published]:
    hidden, size = options.hidden_size, options.projection_size
    remembering = np.zeros(4 * hidden, dtype=np.float32)
    remembering[hidden : 2 * hidden] = 1.0  # our second gate
    yield Published(
        f"{root}/W_0",
        (2 * size, 4 * hidden),
        lambda array: {
            f"{ours}.input_weight": _turned(array[:size].T, hidden),
            f"{ours}.recurrent_weight": _turned(array[size:].T, hidden),
        },
        lambda weights: np.concatenate(
            [_turned(weights[f"{ours}.{name}_weight"], hidden).T for name in ("input", "recurrent")]
        ),
    )
    yield Published(
        f"{root}/B",
        (4 * hidden,),
        lambda array: {f"{ours}.bias": _turned(array, hidden) + remembering},
        lambda weights: _turned(weights[f"{ours}.bias"] - remembering, hidden),
    )
    yield Published(
        f"{root}/W_P_0",
        (hidden, size),
        lambda array: {f"{ours}.projection": array.T},
        lambda weights: weights[f"{ours}.projection"].T,
    )


def _turned(values: NDArray[Any], hidden: int) -> NDArray[Any]:
    """Rows with the four gates in the other order."""
    gates = values.reshape(4, hidden, *values.shape[1:])
    return gates[list(_GATES)].reshape(values.shape)

"""A biLM's weights as its two ONNX graphs take them. Needs no torch.

`read` is given the reader's weights, `context` those of one direction: both directions are the same
graph over other weights. Matrices are laid out for multiplication from the right, and a cell's
gates stand in the order input, forget, output, candidate, so that one sigmoid serves three of them.

E width of a character, W widest window, F filters in all, P width of a direction, H of its cell.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import BundleError
from softquery.runtime.embed.bilm_sizes import BiLmSizes

Array = NDArray[Any]
Weights = Mapping[str, Array]
DIRECTIONS = ("forwards", "backwards")
_GATES = (0, 1, 3, 2)
"""Input, forget, output, candidate among torch's input, forget, candidate, output."""


def reader_weights(stored: Weights, sizes: BiLmSizes, prefix: str = "") -> dict[str, Array]:
    """`table` [262, E], `kernel` [W E, F], `bias`, `highway.N.*`, `projection.*`.

    Args:
        stored: As float32, by torch's names.
        sizes: The model's.
        prefix: What stands before the names, where the biLM lies inside another model.
    """
    root, widest = f"{prefix}reader", max(sizes.widths)
    kernels = [stored[f"{root}.kernels.{place}"] for place in range(len(sizes.widths))]
    padded = [np.pad(each, ((0, 0), (0, 0), (0, widest - each.shape[2]))) for each in kernels]
    arranged = {
        "table": stored[f"{root}.table.weight"],
        "kernel": np.concatenate(padded).transpose(2, 1, 0).reshape(-1, sizes.num_filters),
        "bias": stored[f"{root}.bias"],
        "projection.weight": stored[f"{root}.projection.weight"].T,
        "projection.bias": stored[f"{root}.projection.bias"],
    }
    for place in range(sizes.num_highways):
        parts = [f"{root}.highways.{place}.{part}" for part in ("change", "gate")]
        for kind in ("weight", "bias"):
            joined = np.concatenate([stored[f"{part}.{kind}"] for part in parts])
            arranged[f"highway.{place}.{kind}"] = joined.T
    return {name: np.ascontiguousarray(values) for name, values in arranged.items()}


def direction_weights(
    stored: Weights, sizes: BiLmSizes, direction: str, prefix: str = ""
) -> dict[str, Array]:
    """For each layer N: `N.input`, `N.recurrent` [P, 4 H], `N.bias` and `N.projection` [H, P].

    Args:
        stored: As float32, by torch's names.
        sizes: The model's.
        direction: One of `DIRECTIONS`.
        prefix: What stands before the names, where the biLM lies inside another model.
    """
    hidden, arranged = sizes.hidden_size, {}
    for place in range(sizes.num_layers):
        root = f"{prefix}{direction}.layers.{place}"
        for name, kind in (("input", "input_weight"), ("recurrent", "recurrent_weight")):
            arranged[f"{place}.{name}"] = _reordered(stored[f"{root}.{kind}"], hidden).T
        arranged[f"{place}.bias"] = _reordered(stored[f"{root}.bias"], hidden)
        arranged[f"{place}.projection"] = stored[f"{root}.projection"].T
    return {name: np.ascontiguousarray(values) for name, values in arranged.items()}


def fitting(stored: Weights, sizes: BiLmSizes, prefix: str = "") -> list[dict[str, Array]]:
    """The reader's weights and those of both directions, refused where they do not fit.

    Args:
        stored: As float32, by torch's names.
        sizes: The model's.
        prefix: What stands before the names, where the biLM lies inside another model.

    Raises:
        BundleError: What does not fit, without the file's name.
    """
    try:
        reader = reader_weights(stored, sizes, prefix)
        ways = [direction_weights(stored, sizes, each, prefix) for each in DIRECTIONS]
        if reader["projection.weight"].shape != (sizes.num_filters, sizes.width):
            raise ValueError(f"reader.projection does not make vectors {sizes.width} wide")
        wanted = {"projection": (sizes.hidden_size, sizes.width), "bias": (4 * sizes.hidden_size,)}
        for way, place, (name, shape) in product(ways, range(sizes.num_layers), wanted.items()):
            if way[f"{place}.{name}"].shape != shape:
                raise ValueError(f"layer {place} has another shape than {sizes.hidden_size} cells")
        return [reader, *ways]
    except KeyError as error:
        raise BundleError(f"does not fit config.json (no {error})") from None
    except (ValueError, IndexError, TypeError) as error:
        raise BundleError(f"does not fit config.json ({error})") from None


def _reordered(values: Array, hidden: int) -> Array:
    gates = values.reshape(4, hidden, *values.shape[1:])
    return gates[list(_GATES)].reshape(values.shape)

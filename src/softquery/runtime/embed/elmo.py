"""ELMo's biLM for a runtime without torch: its sizes, and its weights as its two graphs take them.

`read` is given the reader's weights, `context` those of one direction: both directions are the same
graph over other weights. Matrices are laid out for multiplication from the right, and a cell's
gates stand in the order input, forget, output, candidate, so that one sigmoid serves three of them.

E width of a character, W widest window, F filters in all, P width of a direction, H of its cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.fit_checks import check_characters
from softquery.runtime.inner.inner_weights import INNER, has_inner
from softquery.text.spelling_keys import joined_keys, multipliers

NAME = "elmo"
Array = NDArray[Any]
Weights = Mapping[str, Array]
DIRECTIONS = ("forwards", "backwards")
LARGEST_CLIP = 1e30
CHARACTERS, WORDS = "characters", "words"
_GATES = (0, 1, 3, 2)
"""Input, forget, output, candidate among torch's input, forget, candidate, output."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BiLmSizes:
    """What a runtime must know of a biLM besides its weights."""

    num_layers: int
    """Of LSTMs; the characters are one more."""
    width: int
    """Of one direction; a word's vector is twice as wide."""
    hidden_size: int
    residual: bool
    cell_clip: float
    """After every step; 0 for none, as for a model that was trained without."""
    projection_clip: float
    carried_clips: tuple[float, float]
    """Of outputs and cells that are carried on to the next sentence; 0 for none."""
    reads: str
    """`"characters"`, or `"words"` by a table."""
    max_characters: int
    widths: tuple[int, ...]
    filters: tuple[int, ...]
    num_highways: int
    activation: str

    @property
    def num_filters(self) -> int:
        """Filters of all widths."""
        return sum(self.filters)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "BiLmSizes":
        """From the config of an ELMo.

        Raises:
            BundleError: What is missing or cannot be, without the file's name.
        """
        try:
            reads, clips = config["characters"], config["way"] == "exact"
            limits = float(config["projection_clip"]), float(config["cell_clip"])
            sizes = cls(
                num_layers=config["num_layers"],
                width=config["projection_size"],
                hidden_size=config["hidden_size"],
                residual=config["residual"],
                cell_clip=limits[1] if clips else 0.0,
                projection_clip=limits[0] if clips else 0.0,
                carried_clips=limits,
                reads=config.get("reads", CHARACTERS),
                max_characters=reads["max_characters"],
                widths=tuple(reads["widths"]),
                filters=tuple(reads["filters"]),
                num_highways=reads["num_highways"],
                activation=reads["activation"],
            )
            sizes.check()
        except KeyError as error:
            raise BundleError(f"elmo lacks the setting {error}") from None
        except (TypeError, ValueError) as error:
            raise BundleError(f"elmo cannot be built: {error}") from None
        return sizes

    def check(self) -> None:
        """Refuse numbers that no biLM can have."""
        counts = (self.num_layers, self.width, self.hidden_size, *self.widths, *self.filters)
        if not all(type(count) is int and count > 0 for count in counts):
            raise ValueError(f"sizes must be positive whole numbers, got {counts}")
        if not self.widths or len(self.widths) != len(self.filters):
            raise ValueError(f"widths {self.widths} and filters {self.filters} must be pairs")
        if type(self.max_characters) is not int or self.max_characters < max(3, *self.widths):
            raise ValueError(f"max_characters ({self.max_characters}) must hold every filter")
        check_characters(self.max_characters)
        if type(self.num_highways) is not int or self.num_highways < 0:
            raise ValueError(f"num_highways must not be negative, got {self.num_highways}")
        if not all(0 <= clip <= LARGEST_CLIP for clip in self.carried_clips):
            raise ValueError(f"cell_clip and projection_clip must be from 0 to {LARGEST_CLIP:g}")
        if self.activation not in ("relu", "tanh"):
            raise ValueError(f"activation must be relu or tanh, got {self.activation!r}")
        if self.reads not in (CHARACTERS, WORDS):
            raise ValueError(f"reads must be {CHARACTERS} or {WORDS}, got {self.reads!r:.40}")
        if self.reads == WORDS:
            multipliers(self.max_characters)


def sizes_of(bundle: Bundle) -> BiLmSizes:
    """The sizes of the biLM that a bundle is or has inside."""
    model, place = bundle.config.model, bundle.path / "config.json"
    try:
        found = model["config"][INNER] if has_inner(bundle) else model
        name, config = found["name"], found["config"]
    except (KeyError, TypeError):
        raise BundleError(f"{place}: expected an elmo inside, found no such config") from None
    if name != NAME:
        raise BundleError(
            f"{bundle.path}: expected word vectors in context ({NAME}), found {name!r:.40}"
        )
    try:
        return BiLmSizes.from_config(config)
    except BundleError as error:
        raise BundleError(f"{place}: {error}") from None


def reader_weights(stored: Weights, sizes: BiLmSizes, prefix: str = "") -> dict[str, Array]:
    """`table` [262, E], `kernel` [W E, F], `bias`, `highway.N.*`, `projection.*`.

    Of a table of words `table` [V, P], and as whole numbers [V] `keys`, ascending, and `rows`.

    Args:
        stored: As float32, by torch's names.
        sizes: The model's.
        prefix: What stands before the names, where the biLM lies inside another model.
    """
    if sizes.reads == WORDS:
        return _lookup_weights(stored, f"{prefix}reader")
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


def bilm_weights(stored: Weights, sizes: BiLmSizes, prefix: str = "") -> list[dict[str, Array]]:
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
        _check_reader(reader, sizes)
        wanted = {"projection": (sizes.hidden_size, sizes.width), "bias": (4 * sizes.hidden_size,)}
        for way, place, (name, shape) in product(ways, range(sizes.num_layers), wanted.items()):
            if way[f"{place}.{name}"].shape != shape:
                raise ValueError(f"layer {place} has another shape than {sizes.hidden_size} cells")
        return [reader, *ways]
    except KeyError as error:
        raise BundleError(f"does not fit config.json (no {error})") from None
    except (ValueError, IndexError, TypeError) as error:
        raise BundleError(f"does not fit config.json ({error})") from None


def _lookup_weights(stored: Weights, root: str) -> dict[str, Array]:
    table = stored[f"{root}.table.weight"]
    keys, rows = joined_keys(stored[f"{root}.keys"]), stored[f"{root}.rows"].astype(np.int64)
    if not len(keys) == len(rows) == len(table) or (np.diff(keys) < 0).any():
        raise ValueError("reader.keys and reader.rows do not fit its table")
    if not ((rows >= 0) & (rows < len(table))).all():
        raise ValueError("reader.rows names words that its table does not hold")
    return {"table": np.ascontiguousarray(table), "keys": keys, "rows": rows}


def _check_reader(reader: Weights, sizes: BiLmSizes) -> None:
    if sizes.reads == WORDS:
        if reader["table"].shape[1:] != (sizes.width,):
            raise ValueError(f"reader.table does not hold vectors {sizes.width} wide")
    elif reader["projection.weight"].shape != (sizes.num_filters, sizes.width):
        raise ValueError(f"reader.projection does not make vectors {sizes.width} wide")


def _reordered(values: Array, hidden: int) -> Array:
    gates = values.reshape(4, hidden, *values.shape[1:])
    return gates[list(_GATES)].reshape(values.shape)

"""The `options.json` and the arrays of a published ELMo. Needs no torch."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle.config import LARGEST_TEXT
from softquery.errors import InputError
from softquery.plain_files import read_plain
from softquery.text import NUM_CHARACTERS

COUNTED = (NUM_CHARACTERS - 1, NUM_CHARACTERS)
"""`n_characters` without and with the symbol of padding; both kinds of files exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ElmoOptions:
    """The settings of a published model."""

    character_size: int
    max_characters: int
    widths: tuple[int, ...]
    filters: tuple[int, ...]
    num_highways: int
    activation: str
    hidden_size: int
    projection_size: int
    num_layers: int
    residual: bool
    cell_clip: float
    projection_clip: float

    @property
    def num_filters(self) -> int:
        """The number of filters of all widths."""
        return sum(self.filters)

    def to_config(self) -> dict[str, Any]:
        """The config of a bundle, without a softmax, which the published format lacks."""
        return {
            "vocab_size": 4,
            "characters": {
                "size": self.character_size,
                "max_characters": self.max_characters,
                "widths": list(self.widths),
                "filters": list(self.filters),
                "num_highways": self.num_highways,
                "activation": self.activation,
            },
            "hidden_size": self.hidden_size,
            "projection_size": self.projection_size,
            "num_layers": self.num_layers,
            "residual": self.residual,
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip,
            "way": "exact",
            "softmax": {"kind": "none"},
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "ElmoOptions":
        """The options from a bundle's config; clips are kept only where the model applies them."""
        reads, clips = config["characters"], config["way"] == "exact"
        return cls(
            character_size=reads["size"],
            max_characters=reads["max_characters"],
            widths=tuple(reads["widths"]),
            filters=tuple(reads["filters"]),
            num_highways=reads["num_highways"],
            activation=reads["activation"],
            hidden_size=config["hidden_size"],
            projection_size=config["projection_size"],
            num_layers=config["num_layers"],
            residual=config["residual"],
            cell_clip=config["cell_clip"] if clips else 0.0,
            projection_clip=config["projection_clip"] if clips else 0.0,
        )

    def to_published(self) -> dict[str, Any]:
        """The content of `options.json`; a clip of 0 means no clip."""
        return {
            "lstm": {
                "cell_clip": self.cell_clip or None,
                "use_skip_connections": self.residual,
                "n_layers": self.num_layers,
                "proj_clip": self.projection_clip or None,
                "projection_dim": self.projection_size,
                "dim": self.hidden_size,
            },
            "char_cnn": {
                "embedding": {"dim": self.character_size},
                "filters": [list(pair) for pair in zip(self.widths, self.filters, strict=True)],
                "n_highway": self.num_highways,
                "n_characters": NUM_CHARACTERS,
                "max_characters_per_token": self.max_characters,
                "activation": self.activation,
            },
        }


def read_options(path: str | PathLike[str]) -> ElmoOptions:
    """Read `options.json`, saying in one line what does not fit."""
    try:
        text = read_plain(Path(path), LARGEST_TEXT).decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})", source=path) from None
    try:
        return _parsed(json.loads(text))
    except json.JSONDecodeError as error:
        raise InputError(f"broken JSON: {error.msg}", source=path, row=error.lineno) from None
    except KeyError as error:
        missing = f"expected an ELMo's options, but {error.args[0]} is missing"
        raise InputError(missing, source=path) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"expected an ELMo's options ({error})", source=path) from None


def _parsed(options: dict[str, Any]) -> ElmoOptions:
    reads, lstm = _part(options, "char_cnn"), _part(options, "lstm")
    pairs = reads.get("filters", [])
    if not pairs or not all(len(pair) == 2 for pair in pairs):
        raise ValueError("char_cnn.filters must be pairs of a width and a number of filters")
    activation = reads.get("activation", "relu")
    if activation not in ("relu", "tanh"):
        raise ValueError(f"char_cnn.activation must be relu or tanh, got {activation!r}")
    if reads.get("n_characters", NUM_CHARACTERS) not in COUNTED:
        raise ValueError(f"char_cnn.n_characters must be 261 or 262, got {reads['n_characters']}")
    return ElmoOptions(
        character_size=_size(_part(reads, "embedding", "char_cnn."), "dim", "char_cnn.embedding."),
        max_characters=_size(reads, "max_characters_per_token", "char_cnn."),
        widths=tuple(int(width) for width, _ in pairs),
        filters=tuple(int(count) for _, count in pairs),
        num_highways=int(reads.get("n_highway") or 0),
        activation=activation,
        hidden_size=_size(lstm, "dim", "lstm."),
        projection_size=_size(lstm, "projection_dim", "lstm."),
        num_layers=_size(lstm, "n_layers", "lstm."),
        residual=bool(lstm.get("use_skip_connections", False)),
        cell_clip=float(lstm.get("cell_clip") or 0.0),
        projection_clip=float(lstm.get("proj_clip") or 0.0),
    )


def _part(options: dict[str, Any], name: str, within: str = "") -> dict[str, Any]:
    if not isinstance(options, dict) or not isinstance(options.get(name), dict):
        raise KeyError(f"{within}{name}")
    part: dict[str, Any] = options[name]
    return part


def _size(part: dict[str, Any], name: str, within: str) -> int:
    if name not in part:
        raise KeyError(f"{within}{name}")
    if type(part[name]) is not int or part[name] < 1:
        raise ValueError(f"{within}{name} must be a positive whole number, got {part[name]!r}")
    size: int = part[name]
    return size


Array = NDArray[np.float32]
DIRECTIONS = ("forwards", "backwards")
_GATES = (0, 2, 1, 3)
"""The order of gates there, by ours: swaps forget and candidate; it is its own inverse."""


@dataclass(frozen=True, slots=True)
class Published:
    """One array of the published format.

    Attributes:
        name: Its path in the file.
        shape: Its shape by the options.
        weights: Converts the array to our weights by name.
        array: Converts all our weights to the array.
    """

    name: str
    shape: tuple[int, ...]
    weights: Callable[[Array], dict[str, Array]]
    array: Callable[[Mapping[str, Array]], Array]


def published_arrays(options: ElmoOptions) -> Iterator[Published]:
    """Every array of a model with these options."""
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
    """Join the biases of the filters, which are one vector in our weights."""
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
    """Rows with the gates in the other order."""
    gates = values.reshape(4, hidden, *values.shape[1:])
    return gates[list(_GATES)].reshape(values.shape)

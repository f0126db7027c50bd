"""What a folder of sentence-transformers says about itself, in `modules.json` and beside it.

Modules run one after the other: a Transformer, Pooling, perhaps Dense, perhaps Normalize. Others
are refused by name. Needs no torch.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from softquery.errors import InputError
from softquery.interop.bert_config import parsed_json, read_json
from softquery.interop.bert_tokenizer import SHORTEST
from softquery.interop.published_weights import WEIGHTS, checked, read_arrays

MODULES: Final = "modules.json"
PACKAGE: Final = "sentence_transformers."
ORDER: Final = ("Transformer", "Pooling", "Dense", "Normalize")
"""Modules that are known, in the only order in which they may stand; two must be there."""
STATIC: Final = "StaticEmbedding"
POOLS: Final = {
    "cls": "cls",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
}
"""Names of pools there and here, in the order in which they are laid side by side."""
SWITCHES: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""How older folders name pools, each true or false; in the same order."""
ACTIVATIONS: Final = {"Identity": "identity", "Tanh": "tanh"}
"""Activations behind a linear layer, there and here."""
LENGTHS: Final = ("sentence_bert_config.json", "sentence_mpnet_config.json")
"""Where the length of texts is said, newest name first."""
SETTINGS, PROMPTS = "tokenizer_config.json", "config_sentence_transformers.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseLayer:
    """A linear layer behind the pools."""

    activation: str
    weights: dict[str, Any]
    """`output.weight` and `output.bias`."""

    @property
    def output_size(self) -> int:
        """Width of a vector."""
        return len(self.weights["output.bias"])


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceModules:
    """The parts of a folder behind the encoder, and how texts reach it."""

    encoder: Path
    """The folder of `transformers`."""
    pools: tuple[str, ...]
    pooled_from: int
    """Width of a state, as the pooling's config has it."""
    dense: DenseLayer | None
    normalised: bool
    max_tokens: int | None
    """Where texts are cut; None where the folder does not say."""
    lowercase: bool
    """Whether texts are lower-cased before the tokenizer sees them."""


def read_sentence_modules(folder: Path) -> SentenceModules:
    """Read `modules.json` and every config that it names.

    Args:
        folder: A folder of sentence-transformers.

    Raises:
        InputError: A module, a pool or an activation is not known, or a file is missing or broken.
    """
    modules = _modules(folder)
    encoder = modules["Transformer"]
    pooling = read_json(modules["Pooling"] / "config.json")
    pools = _pools(pooling, modules["Pooling"] / "config.json")
    width = _width(pooling, modules["Pooling"] / "config.json")
    dense = None
    if "Dense" in modules:
        dense = _dense(modules["Dense"], width * len(pools))
    _check_prompt(folder / PROMPTS)
    reading = _reading(encoder)
    return SentenceModules(
        encoder=encoder,
        pools=pools,
        pooled_from=width,
        dense=dense,
        normalised="Normalize" in modules,
        max_tokens=_max_tokens(encoder, reading),
        lowercase=reading.get("do_lower_case") is True,
    )


def has_pooling(folder: Path) -> bool:
    """Whether `modules.json` names a module that pools."""
    return any(entry["type"].endswith("Pooling") for entry in _entries(folder / MODULES))


def _modules(folder: Path) -> dict[str, Path]:
    """Each module's folder by the name of its class."""
    path = folder / MODULES
    found: dict[str, Path] = {}
    known = f"expected {', '.join(ORDER[:-1])} and {ORDER[-1]}, in this order"
    for number, entry in enumerate(_entries(path), start=1):
        kind = entry["type"]
        name = kind.rpartition(".")[2] if kind.startswith(PACKAGE) else kind
        if name == STATIC:
            raise InputError("holds a static table; use softquery import static", source=path)
        if name not in ORDER:
            raise InputError(f"module {number} is {kind!r:.80}; {known}", source=path)
        if found and ORDER.index(name) <= ORDER.index(list(found)[-1]):
            raise InputError(
                f"module {number}, {name}, stands in the wrong place; {known}", source=path
            )
        place = folder / entry["path"]
        if not place.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"module {number} leads out of the folder", source=path)
        found[name] = place
    if missing := [name for name in ORDER[:2] if name not in found]:
        raise InputError(f"there is no {missing[0]}; {known}", source=path)
    return found


def _entries(path: Path) -> list[dict[str, str]]:
    """The list of modules; each has a path and a type."""
    entries = parsed_json(path)
    fits = isinstance(entries, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and _is_path(entry["path"])
        and isinstance(entry.get("type"), str)
        for entry in entries
    )
    if not fits:
        raise InputError("expected a list of modules, each with a path and a type", source=path)
    return list(entries)


def _is_path(text: str) -> bool:
    """Whether it can name a file at all."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeError:
        return False


def _pools(config: dict[str, Any], path: Path) -> tuple[str, ...]:
    given = config.get("pooling_mode")
    if given is None:
        given = [name for switch, name in SWITCHES.items() if config.get(switch) is True]
        others = [key for key in config if key.startswith("pooling_mode_") and key not in SWITCHES]
        strange = [key for key in others if config[key]]
        given = [*given, *strange] or ["mean"]
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"pooling_mode must be a name or a list of names, got {given!r:.80}",
                         source=path)  # fmt: skip
    if unknown := [name for name in names if name not in POOLS]:
        raise InputError(
            f"the pool {unknown[0]!r:.60} is not supported (supported: {', '.join(POOLS)})",
            source=path,
        )
    if len(set(names)) != len(names):
        raise InputError(f"a pool is named twice: {', '.join(names)}", source=path)
    return tuple(POOLS[name] for name in names)


def _width(config: dict[str, Any], path: Path) -> int:
    width = config.get("word_embedding_dimension", config.get("embedding_dimension"))
    if type(width) is not int or width < 1:
        raise InputError(
            f"word_embedding_dimension must be a positive whole number, got {width!r:.80}",
            source=path,
        )
    return width


def _dense(folder: Path, input_size: int) -> DenseLayer:
    path = folder / "config.json"
    config = read_json(path)
    named = config.get("activation_function", "torch.nn.modules.activation.Tanh")
    activation = str(named).rpartition(".")[2]
    if not str(named).startswith("torch.nn.") or activation not in ACTIVATIONS:
        raise InputError(
            f"the activation {named!r:.80} is not supported (supported: {', '.join(ACTIVATIONS)})",
            source=path,
        )
    if config.get("use_residual"):
        raise InputError("use_residual is on, which is not supported", source=path)
    if config.get("in_features") != input_size:
        raise InputError(
            f"in_features is {config.get('in_features')!r:.40}, but the pools are {input_size} "
            "wide",
            source=path,
        )
    output_size = config.get("out_features")
    if type(output_size) is not int or output_size < 1:
        raise InputError(
            f"out_features must be a positive whole number, got {output_size!r:.40}", source=path
        )
    arrays, source = read_arrays(folder), folder / WEIGHTS
    weight = checked(arrays, "linear.weight", (output_size, input_size), source)
    bias = np.zeros(output_size, dtype=np.float32)
    if config.get("bias", True):
        bias = checked(arrays, "linear.bias", (output_size,), source)
    return DenseLayer(
        activation=ACTIVATIONS[activation],
        weights={"output.weight": weight, "output.bias": bias},
    )


def _reading(encoder: Path) -> dict[str, Any]:
    """The settings of the Transformer module, where there are any."""
    return next((read_json(encoder / name) for name in LENGTHS if (encoder / name).exists()), {})


def _max_tokens(encoder: Path, reading: dict[str, Any]) -> int | None:
    """The length that the module names, otherwise the tokenizer's."""
    length, source = reading.get("max_seq_length"), encoder / LENGTHS[0]
    if length is None and (encoder / SETTINGS).exists():
        source = encoder / SETTINGS
        length = read_json(source).get("model_max_length")
    if length is None:
        return None
    is_number = isinstance(length, (int, float)) and not isinstance(length, bool)
    if not is_number or not SHORTEST <= length < math.inf:
        raise InputError(
            f"the length of texts must be a whole number of at least {SHORTEST}, got "
            f"{length!r:.40}",
            source=source,
        )
    return int(length)


def _check_prompt(path: Path) -> None:
    """Refuse a text that would be put before every sentence."""
    config = read_json(path) if path.exists() else {}
    name, prompts = config.get("default_prompt_name"), config.get("prompts")
    if name is not None and isinstance(prompts, dict) and prompts.get(name):
        raise InputError(
            f"default_prompt_name {name!r:.40} puts {prompts[name]!r:.60} before every text, which "
            "is not supported",
            source=path,
        )

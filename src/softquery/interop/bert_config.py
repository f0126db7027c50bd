"""The `config.json` and the tensor names of a Hugging Face BERT. Needs no torch."""

import json
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final

from softquery.bundle.config import LARGEST_TEXT
from softquery.errors import InputError
from softquery.interop.published_weights import Named, Shape
from softquery.plain_files import read_plain

MODEL_TYPE: Final = "bert"
ACTIVATIONS: Final = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
"""Names of activations there and here."""
PUBLISHED: Final = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}
EMBEDDING: Final = "embedding_size"
SIZES: Final = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "intermediate_size": "inner_size",
    "max_position_embeddings": "max_length",
    "type_vocab_size": "num_segments",
}
"""Names of sizes there and here."""
ARCHITECTURES: Final = {
    "none": "BertModel",
    "words": "BertForMaskedLM",
    "words+next": "BertForPreTraining",
}
"""The class of `transformers` by the heads of a bundle."""


def read_bert_config(path: str | PathLike[str]) -> dict[str, Any]:
    """The settings of a BERT in our names, without heads and pooler."""
    return translated(path, _ours, "a BERT's")


def read_google_config(path: str | PathLike[str]) -> dict[str, Any]:
    """The same of a `bert_config.json`, which does not say that it is a BERT's.

    An `embedding_size` is that of tables that are narrower than the states.
    """
    return translated(path, _google, "a BERT's")


def translated(
    path: str | PathLike[str], ours: Callable[[dict[str, Any]], dict[str, Any]], whose: str
) -> dict[str, Any]:
    """The settings of a `config.json` in our names; whatever is wrong is an `InputError`.

    Args:
        path: The file.
        ours: Translates its object; may raise `KeyError`, `TypeError` and `ValueError`.
        whose: Which config is expected, such as `"a BERT's"`.
    """
    config = read_json(path)
    try:
        return ours(config)
    except KeyError as error:
        raise InputError(
            f"expected {whose} config, but {error.args[0]} is missing", source=path
        ) from None
    except (TypeError, ValueError) as error:
        raise InputError(str(error), source=path) from None


def read_json(path: str | PathLike[str]) -> dict[str, Any]:
    """The JSON object of a file; whatever is wrong with it is an `InputError`."""
    data = parsed_json(path)
    if not isinstance(data, dict):
        raise InputError(f"expected a JSON object, found {type(data).__name__}", source=path)
    return data


def parsed_json(path: str | PathLike[str]) -> Any:
    """What a JSON file holds; whatever is wrong with it is an `InputError`."""
    try:
        return json.loads(read_plain(Path(path), LARGEST_TEXT).decode("utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})", source=path) from None
    except json.JSONDecodeError as error:
        raise InputError(f"broken JSON: {error.msg}", source=path, row=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"broken JSON: {error}", source=path) from None


def _ours(config: dict[str, Any]) -> dict[str, Any]:
    check_type(config, MODEL_TYPE)
    activation = activation_of(config)
    positions = config.get("position_embedding_type") or "absolute"
    if positions != "absolute":
        raise ValueError(f"position_embedding_type must be 'absolute', got {positions!r:.80}")
    if config.get("add_cross_attention"):
        raise ValueError("add_cross_attention is on; expected a BERT that reads one text")
    return {
        **sizes_of(config, SIZES),
        EMBEDDING: 0,
        "activation": activation,
        "direction": "left" if config.get("is_decoder") else "both",
        "window": 0,
        **rates_of(config),
    }


def _google(config: dict[str, Any]) -> dict[str, Any]:
    ours = _ours({"model_type": MODEL_TYPE, **config})
    return {**ours, EMBEDDING: _size({EMBEDDING: ours["hidden_size"], **config}, EMBEDDING)}


def check_type(config: dict[str, Any], expected: str) -> None:
    """Refuse the config of another architecture."""
    found = config.get("model_type")
    if found != expected:
        raise ValueError(f"expected a model_type of {expected!r}, found {found!r:.80}")


def activation_of(config: dict[str, Any]) -> str:
    """The activation of a config by our name."""
    activation = config.get("hidden_act", "gelu")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ValueError(
            f"hidden_act must be one of {', '.join(ACTIVATIONS)}, got {activation!r:.80}"
        )
    return ACTIVATIONS[activation]


def sizes_of(config: dict[str, Any], names: dict[str, str]) -> dict[str, int]:
    """The sizes of a config by our names; heads must divide the width.

    Args:
        config: Theirs.
        names: Of sizes, there and here.
    """
    ours = {name: _size(config, theirs) for theirs, name in names.items()}
    if ours["hidden_size"] % ours["num_heads"]:
        raise ValueError(
            f"hidden_size ({ours['hidden_size']}) must be divisible by num_attention_heads "
            f"({ours['num_heads']})"
        )
    return ours


def rates_of(config: dict[str, Any]) -> dict[str, float]:
    """The dropouts of a config, and the epsilon of its normalisations."""
    return {
        "dropout": _share(config, "hidden_dropout_prob"),
        "attention_dropout": _share(config, "attention_probs_dropout_prob"),
        "norm_eps": _number(config.get("layer_norm_eps", 1e-12), "layer_norm_eps"),
    }


def published_config(config: dict[str, Any], pad_id: int) -> dict[str, Any]:
    """Our settings as a Hugging Face `config.json`."""
    return {
        "architectures": [ARCHITECTURES[config["heads"]]],
        "model_type": MODEL_TYPE,
        **{theirs: config[name] for theirs, name in SIZES.items()},
        "hidden_act": PUBLISHED[config["activation"]],
        "hidden_dropout_prob": config["dropout"],
        "attention_probs_dropout_prob": config["attention_dropout"],
        "layer_norm_eps": config["norm_eps"],
        "initializer_range": 0.02,
        "is_decoder": config["direction"] == "left",
        "pad_token_id": pad_id,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": True,
    }


def _size(config: dict[str, Any], name: str) -> int:
    value = config[name]
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r:.80}")
    return value


def _share(config: dict[str, Any], name: str) -> float:
    value = _number(config.get(name, 0.1), name)
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be in [0, 1), got {value}")
    return value


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number, got {value!r:.80}")
    return float(value)


PREFIX: Final = "bert."
"""The prefix of the encoder's names in a file that also holds heads."""
_BLOCK: Final = {
    "attention.self.query": "attention.query_projection",
    "attention.self.key": "attention.key_projection",
    "attention.self.value": "attention.value_projection",
    "attention.output.dense": "attention.output_projection",
    "attention.output.LayerNorm": "around_attention.norm",
    "intermediate.dense": "feed_forward.widen",
    "output.dense": "feed_forward.narrow",
    "output.LayerNorm": "around_feed_forward.norm",
}
_OLD: Final = {"gamma": "weight", "beta": "bias"}
"""Names of the parameters of a layer norm in the oldest files, there and here."""
POOLER: Final = "pooler.dense"
WIDEN: Final = "encoder.embedding_hidden_mapping_in"
"""From narrow tables to the width of states, as it is called in ALBERT."""
WORD_HEAD: Final = "cls.predictions.transform.dense.weight"
NEXT_HEAD: Final = "cls.seq_relationship.weight"
TURNED: Final = ("next_head.weight", "next_head.bias")
"""Weights whose two rows are swapped: "is next" comes first there and last here."""
TIED: Final = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")
"""Copies of the word embeddings and of the bias of the word head."""


def names(config: dict[str, Any]) -> Iterator[Named]:
    """The name there without prefix, the name here, and the shape of every weight."""
    size, inner, vocab = config["hidden_size"], config["inner_size"], config["vocab_size"]
    narrow = config[EMBEDDING] or size
    for theirs, ours, rows in (
        ("word", "words", vocab),
        ("position", "positions", config["max_length"]),
        ("token_type", "segments", config["num_segments"]),
    ):
        yield f"embeddings.{theirs}_embeddings.weight", f"embedding.{ours}.weight", (rows, narrow)
    yield from layer("embeddings.LayerNorm", "embedding.norm", (narrow,))
    if config[EMBEDDING]:
        yield from layer(WIDEN, "embedding.widen", (size, narrow))
    for number in range(config["num_layers"]):
        for theirs, ours in _BLOCK.items():
            shape: Shape = (size,) if "norm" in ours else (size, size)
            shape = {"feed_forward.widen": (inner, size), "feed_forward.narrow": (size, inner)}.get(
                ours, shape
            )
            yield from layer(f"encoder.layer.{number}.{theirs}", f"blocks.{number}.{ours}", shape)
    if config["pooler"]:
        yield from layer(POOLER, "pooler", (size, size))
    if config["heads"] != "none":
        root = "cls.predictions.transform"
        yield from layer(f"{root}.dense", "word_head.transform", (narrow, size))
        yield from layer(f"{root}.LayerNorm", "word_head.norm", (narrow,))
        yield "cls.predictions.bias", "word_head.bias", (vocab,)
    if config["heads"] == "words+next":
        yield from layer("cls.seq_relationship", "next_head", (2, size))


def plain(name: str) -> str:
    """A name of a file without the prefix, and as newer files spell it.

    >>> plain("bert.embeddings.LayerNorm.gamma")
    'embeddings.LayerNorm.weight'
    """
    *path, last = name.removeprefix(PREFIX).split(".")
    return ".".join([*path, _OLD.get(last, last)])


def prefixed(name: str, heads: str) -> str:
    """As a file with these heads has it."""
    return name if heads == "none" or name.startswith("cls.") else PREFIX + name


def layer(theirs: str, ours: str, shape: Shape) -> Iterator[Named]:
    """The weight and the bias of a linear layer or of a normalisation."""
    yield f"{theirs}.weight", f"{ours}.weight", shape
    yield f"{theirs}.bias", f"{ours}.bias", shape[:1]

"""A published BERT's folder, of `transformers` or of Google, read to our names. Needs no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softquery.errors import InputError
from softquery.interop.bert_config import (
    NEXT_HEAD,
    POOLER,
    TIED,
    TURNED,
    WIDEN,
    WORD_HEAD,
    names,
    plain,
    read_bert_config,
    read_google_config,
)
from softquery.interop.bert_tokenizer import read_bert_tokenizer
from softquery.interop.google_bert import (
    SETTINGS,
    checkpoint_of,
    google_name,
    google_names,
    is_cased,
    is_turned,
    read_google_tensors,
)
from softquery.interop.published_weights import (
    CONFIG,
    WEIGHTS,
    Arrays,
    check_folder,
    converted,
    read_arrays,
)
from softquery.text import TextPipeline, bert_vocabulary


@dataclass(frozen=True, kw_only=True, slots=True)
class BertFolder:
    """A BERT with whatever heads came along, and the tokenizer that goes with it."""

    place: Path
    settings: dict[str, Any]
    weights: dict[str, Any]
    pipeline: TextPipeline


def read_bert_folder(place: Path) -> BertFolder:
    """Read a folder with weights as safetensors, or else with a TensorFlow checkpoint.

    Args:
        place: Holds `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.txt`; or
            `bert_config.json`, a checkpoint and `vocab.txt`.

    Raises:
        InputError: If a tensor is missing or misshapen, or anything else does not fit.
    """
    check_folder(place)
    index = checkpoint_of(place)
    return _of_transformers(place) if index is None else _of_google(place, index)


def bert_weights(arrays: Arrays, config: dict[str, Any], source: Path) -> dict[str, Any]:
    """The weights of a BERT by our names.

    Args:
        arrays: By their names without prefix.
        config: Our settings, with heads and pooler.
        source: The file, for messages.
    """
    weights = converted(arrays, names(config), source)
    weights = {name: turned(name, array) for name, array in weights.items()}
    if config["heads"] != "none":
        for copy, name in zip(TIED, ("embedding.words.weight", "word_head.bias"), strict=True):
            given = arrays.get(copy)
            if given is not None and not np.array_equal(given.astype(np.float32), weights[name]):
                raise InputError(
                    f"the tensor {copy} is not tied to the input word embeddings", source=source
                )
    return weights


def check_vocabulary(
    pipeline: TextPipeline, vocab_size: int, folder: Path, config: str = CONFIG
) -> None:
    """Refuse a vocabulary with more entries than the model has rows for."""
    num_entries = len(bert_vocabulary(pipeline.tokenizer))
    if num_entries > vocab_size:
        raise InputError(
            f"the vocabulary has {num_entries} entries, but {config} says {vocab_size}",
            source=folder,
        )


def turned(name: str, array: Any) -> Any:
    """A weight by its name here, whose rows are the other way round there."""
    return array[::-1] if name in TURNED else array


def _of_transformers(place: Path) -> BertFolder:
    settings = read_bert_config(place / CONFIG)
    arrays = read_arrays(place, plain)
    settings |= _parts(WORD_HEAD in arrays, NEXT_HEAD in arrays, f"{POOLER}.weight" in arrays)
    weights = bert_weights(arrays, settings, place / WEIGHTS)
    pipeline = read_bert_tokenizer(place, settings["max_length"])
    check_vocabulary(pipeline, settings["vocab_size"], place)
    return BertFolder(place=place, settings=settings, weights=weights, pipeline=pipeline)


def _of_google(place: Path, index: Path) -> BertFolder:
    config = SETTINGS if (place / SETTINGS).exists() or not (place / CONFIG).exists() else CONFIG
    settings = read_google_config(place / config)
    tensors = read_google_tensors(index)
    has = [google_name(name) in tensors for name in (WORD_HEAD, NEXT_HEAD, f"{POOLER}.weight")]
    settings |= _parts(*has)
    if google_name(f"{WIDEN}.weight") not in tensors:
        settings["embedding_size"] = 0
    found = converted(tensors, google_names(settings), index, config)
    kernels = {ours for name, ours, _ in google_names(settings) if is_turned(name)}
    weights = {
        name: turned(name, np.ascontiguousarray(array.T) if name in kernels else array)
        for name, array in found.items()
    }
    pipeline = read_bert_tokenizer(place, settings["max_length"], lowercase=not is_cased(place))
    check_vocabulary(pipeline, settings["vocab_size"], place, config)
    return BertFolder(place=place, settings=settings, weights=weights, pipeline=pipeline)


def _parts(has_words: bool, has_next: bool, has_pooler: bool) -> dict[str, Any]:
    """The heads and the pooler that a folder holds."""
    heads = "none" if not has_words else "words+next" if has_next else "words"
    return {"heads": heads, "pooler": has_pooler or heads == "words+next"}

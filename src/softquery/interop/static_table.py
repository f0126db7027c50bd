"""Converts a static table of model2vec or sentence-transformers to a sentence encoder.

A text's vector is the mean of its tokens' rows, at length one. For model2vec, tokens that the
vocabulary lacks do not count; their row is zeros here, which leaves the direction of a mean as it
is. For sentence-transformers they have a row as others do. Needs no torch.
"""

import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from softquery import __version__
from softquery.bundle import BundleConfig, Card, make_card, write_bundle
from softquery.errors import InputError
from softquery.interop.bert_config import read_json
from softquery.interop.bert_tokenizer import SHORTEST, TOKENIZER, text_config
from softquery.interop.published_weights import CONFIG, WEIGHTS, check_folder, read_arrays
from softquery.text import BERT_RESERVED, TextPipeline

MODEL: Final = "pooled-encoder"
MODEL2VEC, THEIRS = "embeddings", "embedding.weight"
"""What the table is called by model2vec, and by sentence-transformers."""
NESTED: Final = "0_StaticEmbedding"
"""Where sentence-transformers may keep table and tokenizer."""
WEIGHTING, MAPPING = "weights", "mapping"
MAX_TOKENS: Final = 512
"""Where texts are cut unless the folder says otherwise."""
MOST_TOKENS: Final = 1 << 20
"""In place of no limit at all."""


def import_static(folder: str | PathLike[str], output: str | PathLike[str]) -> Path:
    """Write a static table as a sentence encoder that reads nothing but its rows.

    Args:
        folder: Holds `model.safetensors` and a WordPiece `tokenizer.json`, of model2vec with its
            `config.json`.
        output: The bundle to write; it must not exist.

    Raises:
        InputError: Something is missing, misshapen, or not supported.
    """
    place = Path(folder)
    check_folder(place)
    tables = place / NESTED if (place / NESTED).is_dir() else place
    arrays = read_arrays(tables)
    tokenizer = _read_tokenizer(tables / TOKENIZER)
    table = _table(arrays, tokenizer.get_vocab_size(), tables / WEIGHTS)
    if THEIRS in arrays:
        cut = tokenizer.truncation
        max_tokens = MOST_TOKENS if cut is None else cut["max_length"]
    else:
        max_tokens = _max_tokens(read_json(place / CONFIG), place / CONFIG)
        table[tokenizer.token_to_id(tokenizer.model.unk_token)] = 0.0
    pipeline = _pipeline(tokenizer, max_tokens)
    num_more, size = pipeline.vocab_size - len(table), table.shape[1]
    rows = np.concatenate([table, np.zeros((num_more, size), dtype=np.float32)])
    config = {
        "vocab_size": len(rows),
        "output_size": size,
        "embedding_size": size,
        "body": "static",
        "pools": ["mean"],
    }
    return write_bundle(
        output,
        config=BundleConfig(
            kind="sentence-encoder",
            model={"name": MODEL, "config": config},
            task={"name": "encode", "prefixes": []},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={
            "embedder.table.weight": rows,
            # The table has no layer behind it: what is pooled goes through unchanged.
            "output.weight": np.eye(size, dtype=np.float32),
            "output.bias": np.zeros(size, dtype=np.float32),
        },
        metrics={},
        card=_card(Path(output).name, config, place),
    )


def _read_tokenizer(path: Path) -> Tokenizer:
    """A WordPiece with a token for what it does not know."""
    data = read_json(path)
    kind = data["model"].get("type") if isinstance(data.get("model"), dict) else None
    if kind != "WordPiece":
        raise InputError(f"expected a WordPiece, found {kind!r:.40}", source=path)
    try:
        tokenizer = Tokenizer.from_str(json.dumps(data))
    except Exception as error:  # the library raises nothing narrower
        reason = " ".join(str(error).split())
        raise InputError(f"damaged or not a tokenizer ({reason})", source=path) from None
    if tokenizer.token_to_id(tokenizer.model.unk_token) is None:
        raise InputError(f"the vocabulary lacks {tokenizer.model.unk_token!r:.40}", source=path)
    numbers = tokenizer.get_vocab().values()
    if max(numbers) + 1 != len(numbers):
        raise InputError("the ids of the vocabulary have gaps", source=path)
    return tokenizer


def _table(arrays: dict[str, Any], num_tokens: int, source: Path) -> NDArray[np.float32]:
    """One row for each token, its weight included."""
    name = THEIRS if THEIRS in arrays else MODEL2VEC
    if name not in arrays:
        raise InputError(f"the tensor {name} is missing", source=source)
    table = arrays[name]
    if table.ndim != 2 or not table.size:
        raise InputError(
            f"the tensor {name} is no table: its shape is {table.shape}", source=source
        )
    if table.dtype.kind not in "fi" or not np.isfinite(table).all():
        raise InputError(
            f"the tensor {name} holds values that are not finite numbers", source=source
        )
    rows = table.astype(np.float32)
    if MAPPING in arrays:
        rows = rows[_mapping(arrays[MAPPING], num_tokens, len(rows), source)]
    if len(rows) != num_tokens:
        raise InputError(
            f"the tensor {name} has {len(rows)} rows, but {TOKENIZER} has {num_tokens} entries",
            source=source,
        )
    weighed: NDArray[np.float32] = rows * _weighting(arrays, num_tokens, source)[:, None]
    return weighed


def _mapping(mapping: Any, num_tokens: int, num_rows: int, source: Path) -> NDArray[Any]:
    """Which row each token has."""
    fits = mapping.shape == (num_tokens,) and mapping.dtype.kind in "iu"
    if not fits or mapping.min() < 0 or mapping.max() >= num_rows:
        raise InputError(
            f"the tensor {MAPPING} must give each of {num_tokens} entries one of {num_rows} rows",
            source=source,
        )
    return np.asarray(mapping)


def _weighting(arrays: dict[str, Any], num_tokens: int, source: Path) -> NDArray[np.float32]:
    """How much each token counts."""
    weights = arrays.get(WEIGHTING, np.ones(num_tokens, dtype=np.float32))
    if weights.shape != (num_tokens,) or not np.isfinite(weights).all():
        raise InputError(
            f"the tensor {WEIGHTING} must give each of {num_tokens} entries a finite number",
            source=source,
        )
    return np.asarray(weights, dtype=np.float32)


def _max_tokens(settings: dict[str, Any], path: Path) -> int:
    """Where texts are cut."""
    length = settings.get("max_length", settings.get("seq_length", MAX_TOKENS))
    if length is None:
        return MOST_TOKENS
    if type(length) is not int or length < 1:
        raise InputError(f"max_length must be a positive whole number, got {length!r:.40}",
                         source=path)  # fmt: skip
    return min(length, MOST_TOKENS)


def _pipeline(tokenizer: Tokenizer, max_tokens: int) -> TextPipeline:
    """The folder's tokenizer without marks, with entries for the tokens that ours needs.

    The entries that are added are never found in a text, where a bracket stands alone.
    """
    data = json.loads(tokenizer.to_str())
    vocabulary = data["model"]["vocab"]
    known = tokenizer.get_vocab()
    free = max(known.values()) + 1
    missing = [token for token in BERT_RESERVED if token not in known]
    vocabulary.update({token: free + place for place, token in enumerate(missing)})
    data["post_processor"] = None
    completed = Tokenizer.from_str(json.dumps(data))
    config = replace(
        text_config(completed.normalizer, SHORTEST), boundaries=False, max_tokens=max_tokens
    )
    return TextPipeline(completed, config)


def _card(name: str, config: dict[str, Any], folder: Path) -> str:
    card = Card(
        name=name,
        purpose="A vector for a sentence: the mean of its pieces' vectors.",
        languages=[],
        licence="unstated",
        data=[],
        training={
            "imported from": folder.resolve().name,
            "pieces": config["vocab_size"],
            "width of a vector": config["output_size"],
        },
        numbers=[],
        limits=[
            "Imported: what it was trained on, and under which licence, is not recorded.",
            "The order of words does not count.",
        ],
    )
    return make_card(card, kind="sentence-encoder")

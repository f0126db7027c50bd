"""The config, the tensor names and the tokenizer of a Hugging Face MPNet. Needs no torch."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final

from tokenizers import processors

from softquery.errors import InputError
from softquery.interop.bert_config import (
    activation_of,
    check_type,
    layer,
    rates_of,
    sizes_of,
    translated,
)
from softquery.interop.bert_tokenizer import TOKENIZER, read_word_pieces, text_config
from softquery.interop.published_weights import Named, Shape
from softquery.text import TextPipeline

MODEL_TYPE: Final = "mpnet"
PADDING_ID: Final = 1
"""Fixed in the published code; positions are counted from behind it."""
SIZES: Final = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "intermediate_size": "inner_size",
    "max_position_embeddings": "max_length",
    "relative_attention_num_buckets": "num_buckets",
}
"""Names of sizes there and here."""
MAX_DISTANCE: Final = 128
"""Fixed in the published code."""
FIRST, LAST = "<s>", "</s>"
PREFIX: Final = "mpnet."
_BLOCK: Final = {
    "attention.attn.q": "attention.query_projection",
    "attention.attn.k": "attention.key_projection",
    "attention.attn.v": "attention.value_projection",
    "attention.attn.o": "attention.output_projection",
    "attention.LayerNorm": "around_attention.norm",
    "intermediate.dense": "feed_forward.widen",
    "output.dense": "feed_forward.narrow",
    "output.LayerNorm": "around_feed_forward.norm",
}


def read_mpnet_config(path: str | PathLike[str]) -> dict[str, Any]:
    """The settings of an MPNet in our names."""
    return translated(path, _ours, "an MPNet's")


def _ours(config: dict[str, Any]) -> dict[str, Any]:
    check_type(config, MODEL_TYPE)
    sizes = sizes_of({"relative_attention_num_buckets": 32, **config}, SIZES)
    sizes["max_length"] -= PADDING_ID + 1
    if sizes["max_length"] < 1:
        raise ValueError("max_position_embeddings leaves no position for a token")
    if sizes["num_buckets"] % 4:
        raise ValueError(
            f"relative_attention_num_buckets must be a multiple of 4, got {sizes['num_buckets']}"
        )
    return {
        **sizes,
        "activation": activation_of(config),
        "padding_id": PADDING_ID,
        "max_distance": MAX_DISTANCE,
        **rates_of(config),
    }


def mpnet_names(config: dict[str, Any]) -> Iterator[Named]:
    """The name there without prefix, the name here, and the shape of every weight."""
    size, inner = config["hidden_size"], config["inner_size"]
    positions = config["max_length"] + config["padding_id"] + 1
    yield (
        "embeddings.word_embeddings.weight",
        "embedding.words.weight",
        (
            config["vocab_size"],
            size,
        ),
    )
    yield "embeddings.position_embeddings.weight", "embedding.positions.weight", (positions, size)
    yield from layer("embeddings.LayerNorm", "embedding.norm", (size,))
    distances = (config["num_buckets"], config["num_heads"])
    yield "encoder.relative_attention_bias.weight", "distances.table.weight", distances
    special = {"feed_forward.widen": (inner, size), "feed_forward.narrow": (size, inner)}
    for number in range(config["num_layers"]):
        for theirs, ours in _BLOCK.items():
            shape: Shape = (size,) if "norm" in ours else special.get(ours, (size, size))
            yield from layer(f"encoder.layer.{number}.{theirs}", f"blocks.{number}.{ours}", shape)


def plain_mpnet(name: str) -> str:
    """A name of a file without the prefix that it has beside a head."""
    return name.removeprefix(PREFIX)


def read_mpnet_tokenizer(folder: Path, max_tokens: int) -> TextPipeline:
    """The pipeline of a folder, from its `tokenizer.json`; its own marks stand at both ends.

    Args:
        folder: A folder of `save_pretrained`.
        max_tokens: The length at which texts are cut, marks included.
    """
    path = folder / TOKENIZER
    if not path.exists():
        raise InputError("no such file", source=path)
    tokenizer = read_word_pieces(path)
    marks = [(token, tokenizer.token_to_id(token)) for token in (FIRST, LAST)]
    if missing := [token for token, number in marks if number is None]:
        raise InputError(f"the vocabulary lacks {', '.join(missing)}", source=path)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{FIRST} $A {LAST}", special_tokens=marks
    )
    return TextPipeline(tokenizer, text_config(tokenizer.normalizer, max_tokens))

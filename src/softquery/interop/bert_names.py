"""The weights of a Hugging Face BERT and ours: the same arrays by other names. Needs no torch."""

from collections.abc import Iterator
from typing import Any, Final

Shape = tuple[int, ...]
Named = tuple[str, str, Shape]
PREFIX: Final = "bert."
"""Before the names of the encoder where the file holds heads, too."""
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
"""What the oldest files call the two parts of a normalisation."""
POOLER: Final = "pooler.dense"
WORD_HEAD: Final = "cls.predictions.transform.dense.weight"
NEXT_HEAD: Final = "cls.seq_relationship.weight"
TURNED: Final = ("next_head.weight", "next_head.bias")
"""Ours whose rows stand the other way round: theirs says yes first, ours no."""
TIED: Final = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")
"""Copies of the table of words and of the head's bias."""


def names(config: dict[str, Any]) -> Iterator[Named]:
    """Their name without the prefix, ours, and the shape, for every weight of such a BERT."""
    size, inner, vocab = config["hidden_size"], config["inner_size"], config["vocab_size"]
    for theirs, ours, rows in (
        ("word", "words", vocab),
        ("position", "positions", config["max_length"]),
        ("token_type", "segments", config["num_segments"]),
    ):
        yield f"embeddings.{theirs}_embeddings.weight", f"embedding.{ours}.weight", (rows, size)
    yield from _pair("embeddings.LayerNorm", "embedding.norm", (size,))
    for number in range(config["num_layers"]):
        for theirs, ours in _BLOCK.items():
            shape: Shape = (size,) if "norm" in ours else (size, size)
            shape = {"feed_forward.widen": (inner, size), "feed_forward.narrow": (size, inner)}.get(
                ours, shape
            )
            yield from _pair(f"encoder.layer.{number}.{theirs}", f"blocks.{number}.{ours}", shape)
    if config["pooler"]:
        yield from _pair(POOLER, "pooler", (size, size))
    if config["heads"] != "none":
        root = "cls.predictions.transform"
        yield from _pair(f"{root}.dense", "word_head.transform", (size, size))
        yield from _pair(f"{root}.LayerNorm", "word_head.norm", (size,))
        yield "cls.predictions.bias", "word_head.bias", (vocab,)
    if config["heads"] == "words+next":
        yield from _pair("cls.seq_relationship", "next_head", (2, size))


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


def _pair(theirs: str, ours: str, shape: Shape) -> Iterator[Named]:
    yield f"{theirs}.weight", f"{ours}.weight", shape
    yield f"{theirs}.bias", f"{ours}.bias", shape[:1]

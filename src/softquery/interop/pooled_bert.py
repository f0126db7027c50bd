"""Makes a sentence encoder of a published BERT that says nothing about pooling. Needs no torch."""

from os import PathLike
from pathlib import Path
from typing import Any, Final

from softquery import __version__
from softquery.bundle import BundleConfig, write_bundle
from softquery.errors import InputError
from softquery.interop.bert_folder import BertFolder, read_bert_folder
from softquery.interop.sentence_transformer_folders import (
    ARCHITECTURES,
    ENCODER,
    KIND,
    encoder_card,
)

POOLER: Final = "pooler"
POOLS: Final = ("cls", "max", "mean", POOLER)
"""The first token's state, the largest values, the mean; or the first token's state through the
layer on top of it, with its tanh."""
HEADS: Final = ("word_head.", "next_head.", "pooler.")
"""How the names of weights begin that an encoder does not need."""


def import_pooled_bert(folder: str | PathLike[str], output: str | PathLike[str], pool: str) -> Path:
    """Write a published BERT as a sentence encoder whose vectors have length one.

    Args:
        folder: As for `import_bert`.
        output: The bundle to write; it must not exist.
        pool: One of `POOLS`.

    Raises:
        InputError: Something is missing, misshapen, or not supported.
    """
    if pool not in POOLS:
        raise InputError(f"--pool must be one of {', '.join(POOLS)}, got {pool!r:.60}")
    found = read_bert_folder(Path(folder))
    _check(found, pool)
    config = {
        "encoder": {**found.settings, "heads": "none", "pooler": False},
        "output_size": found.settings["hidden_size"],
        "pools": ["cls" if pool == POOLER else pool],
        "dense": "tanh" if pool == POOLER else "none",
        "length": "one",
    }
    return write_bundle(
        output,
        config=BundleConfig(
            kind=KIND,
            model={"name": ARCHITECTURES["bert"].name, "config": config},
            task={"name": "encode", "prefixes": []},
            text=found.pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=found.pipeline.tokenizer.to_str(),
        weights=_weights(found, pool),
        metrics={},
        card=encoder_card(Path(output).name, config, found.place),
    )


def _check(found: BertFolder, pool: str) -> None:
    if found.settings["direction"] != "both":
        raise InputError("is_decoder is on; expected an encoder", source=found.place)
    if pool == POOLER and not found.settings["pooler"]:
        raise InputError(
            "has no pooler, the layer on top of the first token; choose another --pool",
            source=found.place,
        )


def _weights(found: BertFolder, pool: str) -> dict[str, Any]:
    """The encoder's weights, and those of the pooler as the layer behind the pools."""
    weights = {
        ENCODER + name: array for name, array in found.weights.items() if not name.startswith(HEADS)
    }
    if pool == POOLER:
        parts = ("weight", "bias")
        weights |= {f"output.{part}": found.weights[f"pooler.{part}"] for part in parts}
    return weights

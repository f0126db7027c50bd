"""Converts a folder of sentence-transformers to a bundle that gives the same vectors.

A folder with pooling becomes a sentence encoder; a cross-encoder, which has none, a matcher.
Needs no torch.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from tokenizers import normalizers

from softquery import __version__
from softquery.bundle import BundleConfig, Card, make_card, write_bundle
from softquery.errors import InputError
from softquery.interop.bert_config import names, plain, read_bert_config, read_json
from softquery.interop.bert_folder import check_vocabulary
from softquery.interop.bert_tokenizer import read_bert_tokenizer
from softquery.interop.cross_encoder import import_cross_encoder, is_cross_encoder
from softquery.interop.mpnet_files import (
    mpnet_names,
    plain_mpnet,
    read_mpnet_config,
    read_mpnet_tokenizer,
)
from softquery.interop.published_weights import (
    CONFIG,
    WEIGHTS,
    Named,
    check_folder,
    converted,
    read_arrays,
)
from softquery.interop.sentence_modules import (
    MODULES,
    SentenceModules,
    has_pooling,
    read_sentence_modules,
)
from softquery.text import TextPipeline

KIND = "sentence-encoder"
ENCODER = "encoder."
"""Before the names of the encoder's weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Architecture:
    """An encoder of `transformers` that a folder may hold."""

    name: str
    """Of the model that it becomes."""
    settings: Callable[[Path], dict[str, Any]]
    names: Callable[[dict[str, Any]], Iterator[Named]]
    plain: Callable[[str], str]
    tokenizer: Callable[[Path, int], TextPipeline]


def _bert_settings(path: Path) -> dict[str, Any]:
    settings = {**read_bert_config(path), "heads": "none", "pooler": False}
    if settings["direction"] != "both":
        raise InputError("is_decoder is on; expected an encoder", source=path)
    return settings


ARCHITECTURES = {
    "bert": Architecture(
        name="bert-sentence-encoder",
        settings=_bert_settings,
        names=names,
        plain=plain,
        tokenizer=read_bert_tokenizer,
    ),
    "mpnet": Architecture(
        name="mpnet-sentence-encoder",
        settings=read_mpnet_config,
        names=mpnet_names,
        plain=plain_mpnet,
        tokenizer=read_mpnet_tokenizer,
    ),
}
"""By `model_type` of a folder's `config.json`."""


def import_sentence_transformers(folder: str | PathLike[str], output: str | PathLike[str]) -> Path:
    """Write a folder of sentence-transformers as a bundle, with its pooling or its head.

    Args:
        folder: Holds `modules.json` and what it names, with weights as safetensors; or a
            cross-encoder, a BERT with a head.
        output: The bundle to write; it must not exist.

    Raises:
        InputError: Something is missing, misshapen, or not supported.
    """
    place = Path(folder)
    check_folder(place)
    has_modules = (place / MODULES).exists()
    # Newer versions name the modules of a cross-encoder, too: a Transformer alone.
    if is_cross_encoder(place) and not (has_modules and has_pooling(place)):
        return import_cross_encoder(place, output)
    if has_modules:
        return _import_encoder(place, output)
    raise InputError(
        f"has no {MODULES}, and is no cross-encoder; for a bare BERT, use softquery import bert",
        source=folder,
    )


def _import_encoder(folder: Path, output: str | PathLike[str]) -> Path:
    modules = read_sentence_modules(folder)
    architecture = _architecture(modules.encoder / CONFIG)
    settings = architecture.settings(modules.encoder / CONFIG)
    if settings["hidden_size"] != modules.pooled_from:
        raise InputError(
            f"pools states of width {modules.pooled_from}, but those of the encoder have "
            f"{settings['hidden_size']}",
            source=folder / MODULES,
        )
    arrays = read_arrays(modules.encoder, architecture.plain)
    own = converted(arrays, architecture.names(settings), modules.encoder / WEIGHTS)
    weights = {ENCODER + name: array for name, array in own.items()}
    pipeline = _pipeline(modules, architecture, settings["max_length"])
    check_vocabulary(pipeline, settings["vocab_size"], folder)
    config = _config(modules, settings)
    return write_bundle(
        output,
        config=BundleConfig(
            kind=KIND,
            model={"name": architecture.name, "config": config},
            task={"name": "encode", "prefixes": []},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=weights | ({} if modules.dense is None else modules.dense.weights),
        metrics={},
        card=encoder_card(Path(output).name, config, folder),
    )


def _architecture(path: Path) -> Architecture:
    found = read_json(path).get("model_type")
    if not isinstance(found, str) or found not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise InputError(f"model_type must be one of {known}, got {found!r:.80}", source=path)
    return ARCHITECTURES[found]


def _pipeline(
    modules: SentenceModules, architecture: Architecture, num_positions: int
) -> TextPipeline:
    """The folder's tokenizer, which cuts texts where the folder says."""
    limit = min(modules.max_tokens or num_positions, num_positions)
    pipeline = architecture.tokenizer(modules.encoder, limit)
    if not modules.lowercase or pipeline.config.lowercase:
        return pipeline
    tokenizer = pipeline.tokenizer
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), tokenizer.normalizer])
    return TextPipeline(tokenizer, replace(pipeline.config, lowercase=True))


def _config(modules: SentenceModules, settings: dict[str, Any]) -> dict[str, Any]:
    dense = modules.dense
    pooled = modules.pooled_from * len(modules.pools)
    return {
        "encoder": settings,
        "output_size": pooled if dense is None else dense.output_size,
        "pools": list(modules.pools),
        "dense": "none" if dense is None else dense.activation,
        "length": "one" if modules.normalised else "free",
    }


def encoder_card(name: str, config: dict[str, Any], folder: Path) -> str:
    """The card of an imported encoder with pools.

    Args:
        name: Of the bundle.
        config: Of the model.
        folder: Where it came from.
    """
    card = Card(
        name=name,
        purpose="A vector for a sentence, to be compared by cosine.",
        languages=[],
        licence="unstated",
        data=[],
        training={
            "imported from": folder.resolve().name,
            "layers": config["encoder"]["num_layers"],
            "width of a vector": config["output_size"],
            "pools": ", ".join(config["pools"]),
        },
        numbers=[],
        limits=["Imported: what it was trained on, and under which licence, is not recorded."],
    )
    return make_card(card, kind=KIND)

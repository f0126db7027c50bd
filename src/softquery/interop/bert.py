"""Converts a BERT of Hugging Face `transformers` to a bundle and back. Needs no torch."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from softquery import __version__
from softquery.bundle import Bundle, BundleConfig, Card, make_card, write_bundle
from softquery.errors import BundleError, InputError
from softquery.files import atomic_folder
from softquery.interop.bert_config import EMBEDDING, names, prefixed, published_config
from softquery.interop.bert_folder import read_bert_folder, turned
from softquery.interop.bert_tokenizer import TOKENIZER, published_tokenizer
from softquery.interop.published_weights import CONFIG, WEIGHTS, Arrays
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.graph_weights import dequantised

NAME = "bert"


def import_bert(folder: str | PathLike[str], output: str | PathLike[str]) -> Path:
    """Write a published BERT as a bundle, with the heads of pretraining where it has any.

    Args:
        folder: Holds `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.txt`; or,
            as Google published it, `bert_config.json`, `bert_model.ckpt.*` and `vocab.txt`.
        output: The bundle to write; it must not exist.

    Raises:
        InputError: If a tensor is missing or misshapen, or anything else does not fit.
    """
    found = read_bert_folder(Path(folder))
    return write_bundle(
        output,
        config=BundleConfig(
            kind="encoder",
            model={"name": NAME, "config": found.settings},
            task={"name": "masked-language-model"},
            text=found.pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=found.pipeline.tokenizer.to_str(),
        weights=found.weights,
        metrics={},
        card=_card(Path(output).name, found.settings, found.place),
    )


def publish_bert(bundle: Bundle, folder: str | PathLike[str]) -> Path:
    """Write the BERT of a bundle as a folder that `transformers` can load, atomically.

    Args:
        bundle: A bundle of a BERT.
        folder: The folder to write; it must not exist.
    """
    if bundle.config.model["name"] != NAME:
        raise BundleError(f"{bundle.path}: expected a bert, found {bundle.config.model['name']!r}")
    pipeline = fitting_pipeline(bundle)
    if pipeline.config.simplify:
        raise BundleError(f"{bundle.path}: text.simplify has no counterpart in that format")
    config = {EMBEDDING: 0, **bundle.config.model["config"]}
    if config[EMBEDDING]:
        raise BundleError(f"{bundle.path}: embedding_size has no counterpart in that format")
    if config.get("window"):
        raise BundleError(f"{bundle.path}: window has no counterpart in that format")
    weights = _theirs(dequantised(bundle.read_weights()), config, bundle.weights_path)
    if Path(folder).exists():
        raise InputError("already exists; name another --output", source=folder)
    with atomic_folder(Path(folder)) as fresh:
        (fresh / WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))
        (fresh / TOKENIZER).write_text(pipeline.tokenizer.to_str(pretty=True), encoding="utf-8")
        texts = {CONFIG: published_config(config, pipeline.pad_id)} | published_tokenizer(pipeline)
        for name, content in texts.items():
            text = _lines(content) if isinstance(content, list) else _json(content)
            (fresh / name).write_text(text, encoding="utf-8")
    return Path(folder)


def _theirs(stored: Arrays, config: dict[str, Any], source: Path) -> dict[str, Any]:
    arrays = {}
    for theirs, ours, shape in names(config):
        if ours not in stored:
            raise BundleError(f"{source}: {ours} is missing")
        if stored[ours].shape != shape:
            raise BundleError(f"{source}: {ours} does not fit config.json")
        array = turned(ours, stored[ours].astype(np.float32))
        arrays[prefixed(theirs, config["heads"])] = np.ascontiguousarray(array)
    return arrays


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _lines(content: list[str]) -> str:
    return "".join(f"{line}\n" for line in content)


def _card(name: str, config: dict[str, Any], folder: Path) -> str:
    card = Card(
        name=name,
        purpose="A pretrained BERT, to be given a head for a task.",
        languages=[],
        licence="unstated",
        data=[],
        training={
            "imported from": folder.resolve().name,
            "layers": config["num_layers"],
            "width": config["hidden_size"],
            "heads that came along": config["heads"],
        },
        numbers=[],
        limits=["Imported: what it was trained on, and under which licence, is not recorded."],
    )
    return make_card(card, kind="encoder")

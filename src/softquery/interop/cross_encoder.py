"""Converts a cross-encoder, a BERT that reads both texts at once, to a matcher. Needs no torch."""

from os import PathLike
from pathlib import Path
from typing import Any

from softquery import __version__
from softquery.bundle import BundleConfig, Card, make_card, write_bundle
from softquery.errors import InputError
from softquery.interop.bert_config import plain, read_bert_config, read_json
from softquery.interop.bert_folder import bert_weights, check_vocabulary
from softquery.interop.bert_tokenizer import read_bert_tokenizer
from softquery.interop.published_weights import CONFIG, WEIGHTS, checked, read_arrays

ENDING = "ForSequenceClassification"
"""How the architecture of a cross-encoder ends, whatever its encoder."""
HEAD = "classifier"
MOST_LABELS = 512
"""More than this number is a broken config."""


def is_cross_encoder(folder: Path) -> bool:
    """Whether a folder's `config.json` names an encoder with a head that classifies."""
    if not (folder / CONFIG).exists():
        return False
    found = read_json(folder / CONFIG).get("architectures")
    return isinstance(found, list) and any(str(each).endswith(ENDING) for each in found)


def import_cross_encoder(folder: Path, output: str | PathLike[str]) -> Path:
    """Write a BERT with its head as a matcher; one output grades, several are labels.

    Args:
        folder: Holds `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.txt`.
        output: The bundle to write; it must not exist.
    """
    encoder = {**read_bert_config(folder / CONFIG), "heads": "none", "pooler": True}
    if encoder["direction"] != "both":
        raise InputError("is_decoder is on; expected an encoder", source=folder / CONFIG)
    if encoder["num_segments"] < 2:
        raise InputError(
            "type_vocab_size is 1; expected 2, one for each text", source=folder / CONFIG
        )
    arrays = read_arrays(folder, plain)
    own = bert_weights(arrays, encoder, folder / WEIGHTS)
    weights = {f"encoder.{name}": array for name, array in own.items()}
    labels = _labels(folder / CONFIG)
    shape = (len(labels), encoder["hidden_size"])
    weights["output.weight"] = checked(arrays, f"{HEAD}.weight", shape, folder / WEIGHTS)
    weights["output.bias"] = checked(arrays, f"{HEAD}.bias", shape[:1], folder / WEIGHTS)
    # Both texts share the positions: each may have half of them, and the first mark is shared.
    pipeline = read_bert_tokenizer(folder, (encoder["max_length"] + 1) // 2)
    check_vocabulary(pipeline, encoder["vocab_size"], folder)
    return write_bundle(
        output,
        config=BundleConfig(
            kind="matcher",
            model={
                "name": "bert-matcher",
                "config": {
                    "encoder": encoder,
                    "output_size": len(labels),
                    "dropout": encoder["dropout"],
                },
            },
            task=_task(labels),
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=weights,
        metrics={},
        card=_card(Path(output).name, labels, encoder, folder),
    )


def _labels(path: Path) -> list[str]:
    """The names of the outputs, in their order; transformers writes two where none are named."""
    config = read_json(path)
    given = config.get("id2label")
    if given is None:
        count = config.get("num_labels", 2)
        if type(count) is not int or not 1 <= count <= MOST_LABELS:
            raise InputError(f"num_labels must be a whole number, got {count!r:.40}", source=path)
        return [f"LABEL_{number}" for number in range(count)]
    wanted = [str(number) for number in range(len(given))] if isinstance(given, dict) else []
    if not wanted or sorted(given) != sorted(wanted):
        raise InputError(
            f"id2label must name the outputs by 0, 1, ..., got {given!r:.80}", source=path
        )
    labels = [given[number] for number in wanted]
    if len(set(map(str, labels))) != len(labels) or not all(isinstance(e, str) for e in labels):
        raise InputError(f"the labels must be different names, got {labels!r:.80}", source=path)
    return labels


def _task(labels: list[str]) -> dict[str, Any]:
    """One output grades from 0 to 1; several are labels."""
    if len(labels) == 1:
        return {"name": "grade", "low": 0.0, "high": 1.0}
    return {"name": "match", "labels": labels}


def _card(name: str, labels: list[str], encoder: dict[str, Any], folder: Path) -> str:
    card = Card(
        name=name,
        purpose="What two texts are to each other, read as one.",
        languages=[],
        licence="unstated",
        data=[],
        training={
            "imported from": folder.resolve().name,
            "layers": encoder["num_layers"],
            "width": encoder["hidden_size"],
            "outputs": ", ".join(labels),
        },
        numbers=[],
        limits=["Imported: what it was trained on, and under which licence, is not recorded."],
    )
    return make_card(card, kind="matcher")

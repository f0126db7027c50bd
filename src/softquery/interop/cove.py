"""The encoder of a trained translator as word vectors in context: CoVe.

McCann, Bradbury, Xiong, Socher: "Learned in Translation: Contextualized Word Vectors", NeurIPS
2017. A bidirectional LSTM that was trained to read sentences for a translator gives their words
vectors in context (Section 3, Eq. 1). One layer of it is two LSTMs that never meet, which is what a
biLM is, so that the encoder becomes a biLM with a table of words and is used, nested and exported
like one. Layer 0 is the word by itself, layer 1 the vector in context.

Differs from paper: one layer in place of two, and words have the vectors that the translator
learnt, not GloVe's. Needs no torch.
"""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery import __version__
from softquery.bundle import Bundle, BundleConfig, Card, make_card, read_bundle, write_bundle
from softquery.errors import BundleError
from softquery.runtime.embed.elmo import DIRECTIONS, NAME, WORDS
from softquery.runtime.fit_checks import fitting_pipeline, fitting_source_pipeline
from softquery.runtime.graph_weights import dequantised
from softquery.text import MAX_CHARACTERS, TextPipeline, spell_vocabulary
from softquery.text.spelling_keys import sorted_keys
from softquery.zoo import resolve

Array = NDArray[Any]
NEEDED = {"cell": "lstm", "direction": "both", "num_layers": 1}
"""Settings of a translator whose encoder is two LSTMs that never meet."""


def import_cove(translator: str | PathLike[str], output: str | PathLike[str]) -> Path:
    """Write the encoder of a translator as a bundle of word vectors in context.

    Args:
        translator: A bundle of a recurrent encoder–decoder that reads whole words by one
            bidirectional LSTM, such as `translate-cove` makes.
        output: The bundle to write; it must not exist.

    Raises:
        BundleError: It is another model, or has another encoder.
    """
    bundle = read_bundle(resolve(translator))
    model = _checked(bundle)
    pipeline = fitting_source_pipeline(bundle, fitting_pipeline(bundle))
    if pipeline.config.unit != "words" or not pipeline.config.boundaries:
        raise BundleError(
            f"{bundle.path}: expected a translator of whole words with both ends, text.unit is "
            f"{pipeline.config.unit!r}"
        )
    stored = dequantised(bundle.read_weights())
    try:
        weights, sizes = _arranged(stored, model, pipeline)
    except KeyError as error:
        raise BundleError(f"{bundle.weights_path}: {error} is missing") from None
    except (ValueError, IndexError) as error:
        raise BundleError(f"{bundle.weights_path}: does not fit config.json ({error})") from None
    return write_bundle(
        output,
        config=BundleConfig(
            kind="embedder",
            model={"name": NAME, "config": sizes},
            task={"name": "language-model"},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=weights,
        metrics={},
        card=_card(Path(output).name, sizes, bundle),
    )


def _checked(bundle: Bundle) -> dict[str, Any]:
    """The settings of a recurrent encoder–decoder that fits."""
    name, settings = bundle.config.model["name"], bundle.config.model["config"]
    if name != "seq2seq":
        raise BundleError(
            f"{bundle.path}: expected a recurrent encoder–decoder (seq2seq), found {name!r:.40}"
        )
    for key, wanted in NEEDED.items():
        if settings.get(key) != wanted:
            raise BundleError(
                f"{bundle.path}: model.{key} must be {wanted}, found {settings.get(key)!r:.40}; "
                "train one with: softquery train translate-cove"
            )
    return dict(settings)


def _arranged(
    stored: dict[str, Array], model: dict[str, Any], pipeline: TextPipeline
) -> tuple[dict[str, Array], dict[str, Any]]:
    """The weights of a biLM, and its settings.

    A biLM's words, states and outputs are equally wide, and its cells at least one wider: what is
    too narrow is filled with zeros, which say nothing and to which nothing is said.
    """
    table = stored.get("words.source.weight", stored["words.target.weight"])
    hidden, own = int(model["hidden_size"]), table.shape[1]
    width = max(hidden, own)
    cells = width + 1
    entries = pipeline.vocabulary()
    if len(entries) != len(table):
        raise ValueError(f"{len(table)} word vectors for {len(entries)} words")
    keys, rows = sorted_keys(spell_vocabulary(entries, MAX_CHARACTERS))
    weights: dict[str, Array] = {
        "reader.table.weight": _filled(table, (len(table), width)),
        "reader.keys": keys,
        "reader.rows": rows,
    }
    for direction in DIRECTIONS:
        root, layer = f"reader.{direction}.0", f"{direction}.layers.0"
        bias = stored[f"{root}.input_bias"] + stored[f"{root}.recurrent_bias"]
        for name, values, wide in (
            ("input_weight", stored[f"{root}.input_weight"], (cells, width)),
            ("recurrent_weight", stored[f"{root}.recurrent_weight"], (cells, width)),
            ("bias", bias, (cells,)),
        ):
            gates = values.reshape(4, hidden, *values.shape[1:])
            filled = np.stack([_filled(gate, wide) for gate in gates])
            weights[f"{layer}.{name}"] = filled.reshape(4 * cells, *wide[1:])
        weights[f"{layer}.projection"] = _filled(np.eye(hidden), (width, cells))
    return weights, _sizes(len(table), width, cells)


def _sizes(num_words: int, width: int, cells: int) -> dict[str, Any]:
    return {
        "vocab_size": num_words,
        "reads": WORDS,
        "num_words": num_words,
        "characters": {"max_characters": MAX_CHARACTERS, "size": 16, "widths": [1], "filters": [1],
                       "num_highways": 0, "activation": "relu"},
        "hidden_size": cells,
        "projection_size": width,
        "num_layers": 1,
        "residual": False,
        "cell_clip": 0.0,
        "projection_clip": 0.0,
        "way": "fast",
        "dropout": 0.0,
        "softmax": {"kind": "none"},
    }  # fmt: skip


def _filled(values: Array, shape: tuple[int, ...]) -> Array:
    """Zeros behind the values along every axis."""
    wide: Array = np.zeros(shape, dtype=np.float32)
    wide[tuple(slice(size) for size in values.shape)] = values
    return wide


def _card(name: str, sizes: dict[str, Any], translator: Bundle) -> str:
    card = Card(
        name=name,
        purpose="Word vectors in context from the encoder of a translator (CoVe).",
        languages=[],
        licence="unstated",
        data=[],
        training={
            "encoder of": translator.path.name,
            "words": sizes["num_words"],
            "width of a vector": 2 * sizes["projection_size"],
        },
        numbers=[],
        limits=["A word that the translator's source did not have is read as <unk>."],
    )
    return make_card(card, kind="embedder")

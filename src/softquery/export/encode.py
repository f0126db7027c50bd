"""Export a sentence encoder: write its graph, check it against torch, quantise behind the gate."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import Bundle
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph.builder import Graph
from softquery.export.graph.pooled_encoder import encode_graphs
from softquery.export.graph.pretrained_encoders import bert_sentence_graphs, mpnet_sentence_graphs
from softquery.export.quantise import quantise
from softquery.export.ranges import as_limits, watched_sessions
from softquery.export.trial import CHECKED, Form, Trial, Weights, check_wish, completed, entry_of
from softquery.files import Row
from softquery.runtime.batches import ids_feed
from softquery.runtime.encode.evaluate import SIDES, evaluate_sentence_encoder
from softquery.runtime.encode.model import SentenceEncoder, load_sentence_encoder
from softquery.runtime.encode.torch import load_encoder_model
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.torch_models import config_of

GraphMaker = Callable[[Weights, Mapping[str, Any], Mapping[str, float] | None], list[Graph]]
"""From weights, settings, and the largest values that int8 layers read; the first graph is for any
batch."""
SYSTEMS: dict[str, GraphMaker] = {
    "pooled-encoder": encode_graphs,
    "bert-sentence-encoder": bert_sentence_graphs,
    "mpnet-sentence-encoder": mpnet_sentence_graphs,
}
"""The graphs of every sentence encoder, by its name."""
ALONE = 64
"""Texts that are compared one by one."""


def export_sentence_encoder(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    rows: Sequence[Row] = (),
) -> ExportReport:
    """Write an exported sentence encoder; the arguments are those of `export_matcher`.

    `limit` is in points of Spearman's correlation where the labels of `rows`, labelled pairs, are
    grades, else of AUC.
    """
    check_wish(bundle, "sentence-encoder", int8=int8, limit=limit, rows=rows)
    make = entry_of(bundle, SYSTEMS)
    config = completed(bundle, config_of(load_encoder_model(bundle)))
    settings, weights = config.model["config"], dequantised(bundle.read_weights())
    trained = load_sentence_encoder(bundle.path, backend="torch", device="cpu")
    texts = [row.values[side] for row in rows[:CHECKED] for side in SIDES] or _made_up(trained)
    limits = None
    if int8:
        limits = _limits(trained, texts, make, arrange(weights, config.model["name"]), settings)
    trial = Trial.scored(
        bundle,
        evaluate_sentence_encoder(trained, rows).metric if rows else "spearman",
        len(rows),
        difference=lambda exported: _difference(trained, exported, texts),
        score=lambda exported: _score(exported, rows),
    )

    def form(some: Weights) -> Form:
        return Form.around(bundle, config, some, lambda each: make(each, settings, limits))

    smaller = [form(quantise(weights))] if int8 else []
    return trial.run(output, form(weights), smaller, limit)


def _limits(
    encoder: SentenceEncoder,
    texts: Sequence[str],
    make: GraphMaker,
    weights: Weights,
    settings: Mapping[str, Any],
) -> dict[str, float]:
    """The largest absolute value that each linear layer reads of texts, one by one, unpadded."""
    with watched_sessions(make(weights, settings, None)[:1], weights) as ((session,), found):
        for ids in encoder.pipeline.encode_ids(texts):
            session.run([], ids_feed([ids]))
        return as_limits(found)


def _difference(theirs: SentenceEncoder, exported: Path, texts: Sequence[str]) -> float:
    """The largest difference in a number of a vector between torch and the graphs.

    Texts are encoded together, and a few one by one, which may be done by another graph.
    """
    ours = load_sentence_encoder(exported, backend="onnx")
    wanted = theirs.encode(texts)
    alone = np.concatenate([ours.encode([text]) for text in texts[:ALONE]])
    together = float(np.abs(wanted - ours.encode(texts)).max())
    return max(together, float(np.abs(wanted[:ALONE] - alone).max()))


def _made_up(encoder: SentenceEncoder) -> list[str]:
    """Texts of random entries of the vocabulary, where no data was given, and an empty one."""
    entries = encoder.pipeline.vocabulary()
    generator = np.random.default_rng(0)
    return ["", *(" ".join(generator.choice(entries, n)) for n in generator.integers(1, 40, 64))]


def _score(exported: Path, rows: Sequence[Row]) -> float:
    return evaluate_sentence_encoder(load_sentence_encoder(exported, backend="onnx"), rows).score

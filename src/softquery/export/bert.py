"""Export a BERT: write its graph, check it against torch, quantise it behind the gate.

A head multiplies as int8 and is judged by its task. A bare encoder only stores int8, so that its
states are those of torch with the same weights, and is judged by how well it foretells hidden
words.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle, read_bundle
from softquery.errors import ConfigError
from softquery.export.accuracy_gate import ExportReport, per_cent_grown
from softquery.export.bert_judges import Judge, judge_of
from softquery.export.embed import GATE_WORDS, first_words
from softquery.export.graph.bert import answer_graph, encode_graph, measure_bert_limits
from softquery.export.quantise import quantise
from softquery.export.trial import CHECKED, Trial, Weights, check_wish
from softquery.files import DocumentLine
from softquery.models import Bert
from softquery.runtime.bert.backends import open_bert
from softquery.runtime.bert.rows import BertRow
from softquery.runtime.embed.evaluate import HiddenWords, hidden_words
from softquery.runtime.embed.onnx_pieces import OnnxPieces
from softquery.runtime.embed.torch_pieces import TorchPieces
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.torch_models import config_of, load_bert_head, load_encoder

WATCHED_ROWS = 256
"""Rows by which ranges are measured."""


def export_bert_head(
    bundle: Bundle, output: Path, *, int8: bool, limit: float, rows: Sequence[Any]
) -> ExportReport:
    """Write an exported bundle of any of the four tasks, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Points of the task's metric that int8 may cost.
        rows: Of the task; the gate needs them, and the check uses them.
    """
    check_wish(bundle, bundle.config.kind, int8=int8, limit=limit, rows=rows)
    settings = config_of(load_bert_head(bundle))
    config = replace(bundle.config, model={**bundle.config.model, "config": settings})
    weights: Weights = dequantised(bundle.read_weights())
    judge = judge_of(bundle)
    given = judge.rows(rows[:CHECKED])
    made = given or _made_up(bundle)
    limits = None
    if int8:
        kind = bundle.config.kind
        limits = measure_bert_limits(arrange(weights), kind, settings, made[:WATCHED_ROWS])
    trial = Trial(
        bundle=bundle,
        config=config,
        graphs=lambda some: [answer_graph(some, bundle.config.kind, settings, limits)],
        difference=lambda exported: _difference(bundle, exported, made, judge),
        score=lambda exported: judge.score(exported, rows),
        metric=judge.metric,
        num_rows=len(rows),
    )
    return trial.run(output, weights, quantise(weights) if int8 else None, limit)


def export_encoder(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    lines: Iterable[DocumentLine] = (),
) -> ExportReport:
    """Write an exported bundle of a bare encoder, for `softquery embed`; its heads come along.

    Args:
        bundle: What was pretrained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Per cent by which the perplexity of hidden words may grow.
        lines: Text for the gate.
    """
    check_wish(bundle, "encoder", int8=False, limit=limit, rows=())
    model = load_encoder(bundle)
    settings, made = config_of(model), _made_up(bundle)
    weights: Weights = dequantised(bundle.read_weights())
    # The same whatever the weights are stored as, for it computes in float32.
    graph = encode_graph(arrange(weights), settings)
    trial = Trial(
        bundle=bundle,
        config=replace(bundle.config, model={**bundle.config.model, "config": settings}),
        graphs=lambda some: [graph],
        difference=lambda exported: _states_difference(bundle, exported, made),
        score=lambda exported: 0.0,
        metric="mlm_perplexity",
        num_rows=0,
        cost=per_cent_grown,
    )
    if not int8:
        return trial.run(output, weights, None, limit)
    with _hidden(bundle, model, lines) as hidden:
        judged = replace(
            trial,
            score=lambda exported: hidden.scores(load_encoder(read_bundle(exported))).perplexity,
            num_rows=hidden.num_words(),
        )
        return judged.run(output, weights, quantise(weights), limit)


def _hidden(
    bundle: Bundle, model: Bert, lines: Iterable[DocumentLine]
) -> AbstractContextManager[HiddenWords]:
    """The text of the gate with words hidden in it."""
    if model.word_head is None:
        raise ConfigError(
            "int8 is judged by hidden words, and this encoder has no head to foretell them; export "
            "what was fine-tuned for a task"
        )
    some = first_words(lines, GATE_WORDS, read=lambda line: line.text)
    if not some:
        raise ConfigError("int8 needs text for its gate; name a file with --data")
    return hidden_words(model, fitting_pipeline(bundle), lambda: some, source="the gate's text")


def _difference(bundle: Bundle, exported: Path, rows: Sequence[BertRow], judge: Judge) -> float:
    """The largest difference in a probability between torch and the graph."""
    ours = open_bert(read_bundle(exported), "onnx", None, None).answers(rows)
    theirs = open_bert(bundle, "torch", None, "cpu").answers(rows)
    pairs = zip(ours, theirs, strict=True)
    return max(float(np.abs(_shares(one, judge) - _shares(two, judge)).max()) for one, two in pairs)


def _shares(answer: NDArray[Any], judge: Judge) -> NDArray[Any]:
    """Probabilities: over the classes, or over the pieces."""
    if answer.shape[-1] == 1:
        squashed: NDArray[Any] = 1 / (1 + np.exp(-answer))
        return squashed
    axis = 0 if judge.is_over_pieces else -1
    raised = np.exp(answer - answer.max(axis=axis, keepdims=True))
    shares: NDArray[Any] = raised / raised.sum(axis=axis, keepdims=True)
    return shares


def _states_difference(bundle: Bundle, exported: Path, rows: Sequence[BertRow]) -> float:
    """The largest difference in a state, by the largest state."""
    ours = OnnxPieces(read_bundle(exported)).states(rows)
    theirs = TorchPieces(bundle, "cpu").states(rows)
    pairs = zip(ours, theirs, strict=True)
    return max(float(np.abs(one - two).max() / np.abs(two).max()) for one, two in pairs)


def _made_up(bundle: Bundle) -> list[BertRow]:
    """Rows of random pieces, one text and two, where no data was given."""
    pipeline, generator = fitting_pipeline(bundle), np.random.default_rng(0)
    settings = bundle.config.model["config"]
    known = settings.get("encoder", settings)["max_length"]
    sizes = generator.integers(2, min(known, 64) + 1, 64)
    return [
        BertRow(generator.integers(0, pipeline.vocab_size, size).tolist(),
                size if place % 2 else size // 2)
        for place, size in enumerate(sizes.tolist())
    ]  # fmt: skip

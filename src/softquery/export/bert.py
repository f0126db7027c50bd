"""Export a BERT: write its graph, check it against torch, quantise it behind the gate.

A head multiplies as int8 and is judged by its task. A bare encoder only stores int8, so that its
states are those of torch with the same weights, and is judged by how well it predicts hidden
words.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import make_windows
from softquery.bundle import Bundle, read_bundle
from softquery.errors import ConfigError
from softquery.export.accuracy_gate import ExportReport, per_cent_grown
from softquery.export.embed import GATE_WORDS, first_words
from softquery.export.graph.bert import answer_graph, encode_graph, fill_graph
from softquery.export.graph.builder import Graph
from softquery.export.quantise import quantise
from softquery.export.ranges import as_limits, watched_sessions
from softquery.export.trial import CHECKED, Form, Trial, Weights, check_wish, completed
from softquery.files import DocumentLine
from softquery.models import Bert
from softquery.numpy_softmax import softmax
from softquery.runtime.bert.backend import BertReadBackend, BertRow, open_bert, padded
from softquery.runtime.bert.onnx import OnnxBertEncoder
from softquery.runtime.bert.torch import TorchBertEncoder
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.classify.model import load_classifier
from softquery.runtime.embed.evaluate import HiddenWords, hidden_words
from softquery.runtime.fill.backend import MaskedRow
from softquery.runtime.fill.onnx import OnnxFillBackend, has_graph
from softquery.runtime.fill.torch import TorchFillBackend
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.graph_weights import arrange, dequantised
from softquery.runtime.match.evaluate import evaluate_matcher
from softquery.runtime.match.model import load_matcher
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import load_reader
from softquery.runtime.tag.evaluate import evaluate_tagger
from softquery.runtime.tag.model import load_tagger
from softquery.runtime.torch_models import config_of, load_bert_head, load_encoder
from softquery.text import PieceEncoder

WATCHED_ROWS = 256
"""Rows by which ranges are measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadJudge:
    """How a head is judged by labelled rows of its task."""

    metric: str
    """That int8 must not lose."""
    rows: Callable[[Sequence[Any]], list[BertRow]]
    """From rows of files to rows of pieces."""
    report: Callable[[Path, Sequence[Any]], dict[str, Any]]
    """The metrics of an exported bundle."""
    is_over_pieces: bool = False
    """Whether probabilities are shared among pieces rather than classes."""

    def score(self, exported: Path, rows: Sequence[Any]) -> float:
        """An exported bundle's figure."""
        return float(self.report(exported, rows)[self.metric] or 0.0)


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
    config = completed(bundle, settings)
    weights = dequantised(bundle.read_weights())
    judge = judge_of(bundle)
    made = judge.rows(rows[:CHECKED]) or _made_up(bundle)
    limits: dict[str, float] | None = None
    if int8:
        arranged = arrange(weights, config.model["name"])
        limits = _limits(answer_graph(arranged, config.kind, settings), arranged, made)
    trial = Trial.scored(
        bundle,
        judge.metric,
        len(rows),
        difference=lambda exported: _difference(bundle, exported, made, judge),
        score=lambda exported: judge.score(exported, rows),
    )
    plain, *smaller = (
        Form.around(
            bundle, config, some, lambda each: [answer_graph(each, config.kind, settings, limits)]
        )
        for some in ((weights, quantise(weights)) if int8 else (weights,))
    )
    return trial.run(output, plain, smaller, limit)


def _limits(graph: Graph, weights: Weights, rows: Sequence[BertRow]) -> dict[str, float]:
    """The largest absolute value that each linear layer reads of rows, one by one, unpadded."""
    with watched_sessions([graph], weights) as ((session,), found):
        for row in rows[:WATCHED_ROWS]:
            session.run([], padded([row]))
        return as_limits(found)


def export_encoder(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    lines: Iterable[DocumentLine] = (),
) -> ExportReport:
    """Write an exported bundle of a bare encoder, for `softquery embed` and `softquery fill`.

    Args:
        bundle: What was pretrained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Per cent by which the perplexity of hidden words may grow.
        lines: Text for the gate.
    """
    check_wish(bundle, "encoder", int8=False, limit=limit, rows=())
    model = load_encoder(bundle)
    config, made = completed(bundle, config_of(model)), _made_up(bundle)
    weights = dequantised(bundle.read_weights())
    # The same whatever the weights are stored as, for it computes in float32.
    graphs = _encoder_graphs(arrange(weights, config.model["name"]), config.model["config"])

    def form(some: Weights) -> Form:
        return Form(config=config, weights=some, graphs=lambda: graphs)

    def trial(score: Callable[[Path], float], num_words: int) -> Trial:
        return Trial.scored(
            bundle,
            "mlm_perplexity",
            num_words,
            difference=lambda exported: _states_difference(bundle, exported, made),
            score=score,
            cost=per_cent_grown,
        )

    if not int8:
        return trial(lambda exported: 0.0, 0).run(output, form(weights), [], limit)
    with _hidden(bundle, model, lines) as hidden:

        def perplexity(exported: Path) -> float:
            return hidden.scores(load_encoder(read_bundle(exported))).perplexity

        judged = trial(perplexity, hidden.num_words())
        return judged.run(output, form(weights), [form(quantise(weights))], limit)


def _encoder_graphs(weights: Weights, settings: dict[str, Any]) -> list[Graph]:
    """Of the states of pieces, and of words for masks where the encoder has a head for them."""
    encoded = encode_graph(weights, settings)
    if settings["heads"] == "none":
        return [encoded]
    return [encoded, fill_graph(weights, settings)]


def _hidden(
    bundle: Bundle, model: Bert, lines: Iterable[DocumentLine]
) -> AbstractContextManager[HiddenWords]:
    """The text of the gate with words hidden in it."""
    if model.word_head is None:
        raise ConfigError(
            "int8 is judged by hidden words, and this encoder has no head to predict them; export "
            "what was fine-tuned for a task"
        )
    some = first_words(lines, GATE_WORDS, read=lambda line: line.text)
    if not some:
        raise ConfigError("int8 needs text for its gate; name a file with --data")
    return hidden_words(model, fitting_pipeline(bundle), lambda: some, source="the gate's text")


def _difference(bundle: Bundle, exported: Path, rows: Sequence[BertRow], judge: HeadJudge) -> float:
    """The largest difference in a probability between torch and the graph."""
    ours = open_bert(read_bundle(exported), "onnx", None, None).answers(rows)
    theirs = open_bert(bundle, "torch", None, "cpu").answers(rows)
    pairs = zip(ours, theirs, strict=True)
    return max(float(np.abs(_shares(one, judge) - _shares(two, judge)).max()) for one, two in pairs)


def _shares(answer: NDArray[Any], judge: HeadJudge) -> NDArray[Any]:
    """Probabilities: over the classes, or over the pieces."""
    if answer.shape[-1] == 1:
        squashed: NDArray[Any] = 1 / (1 + np.exp(-answer))
        return squashed
    return softmax(answer, axis=0 if judge.is_over_pieces else -1)


def _states_difference(bundle: Bundle, exported: Path, rows: Sequence[BertRow]) -> float:
    """The largest difference in a state, by the largest state, or in a logit, likewise."""
    written = read_bundle(exported)
    pairs = list(
        zip(
            OnnxBertEncoder(written).states(rows),
            TorchBertEncoder(bundle, "cpu").states(rows),
            strict=True,
        )
    )
    if has_graph(written):
        masked = [MaskedRow(row, range(0, len(row.ids), 8)) for row in rows]
        ours, theirs = OnnxFillBackend(written), TorchFillBackend(bundle, "cpu")
        pairs += zip(ours.logits(masked), theirs.logits(masked), strict=True)
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


def judge_of(bundle: Bundle) -> HeadJudge:
    """The judge of a bundle's task."""
    return {
        "classifier": _classes,
        "matcher": _pairs,
        "tagger": _tags,
        "reader": _answers,
    }[bundle.config.kind](bundle)


def _classes(bundle: Bundle) -> HeadJudge:
    pipeline = fitting_pipeline(bundle)
    return HeadJudge(
        metric=bundle.config.task.get("metric", "accuracy"),
        rows=lambda rows: [
            BertRow.of(ids) for ids in pipeline.encode_ids([row.values["text"] for row in rows])
        ],
        report=lambda path, rows: evaluate_classifier(
            load_classifier(path, backend="onnx"), rows
        ).report(),
    )


def _pairs(bundle: Bundle) -> HeadJudge:
    pipeline = fitting_pipeline(bundle)

    def made(rows: Sequence[Any]) -> list[BertRow]:
        sides = [
            pipeline.encode_ids([row.values[name] for row in rows])
            for name in ("sentence1", "sentence2")
        ]
        return [BertRow.of(*pair) for pair in zip(*sides, strict=True)]

    return HeadJudge(
        metric="accuracy" if "labels" in bundle.config.task else "spearman",
        rows=made,
        report=lambda path, rows: evaluate_matcher(
            load_matcher(path, backend="onnx"), rows
        ).report(),
    )


def _tags(bundle: Bundle) -> HeadJudge:
    cutting = PieceEncoder(fitting_pipeline(bundle))
    tags = load_tagger(bundle, backend="torch", device="cpu").tags
    return HeadJudge(
        metric="f1" if tags.has_spans else "accuracy",
        rows=lambda rows: [
            BertRow.of(row.ids) for parts in cutting.rows([each.tokens for each in rows])
            for row in parts
        ],
        report=lambda path, rows: evaluate_tagger(load_tagger(path, backend="onnx"), rows).report(),
    )  # fmt: skip


def _answers(bundle: Bundle) -> HeadJudge:
    reader = load_reader(bundle, backend="torch", device="cpu")

    def made(rows: Sequence[Any]) -> list[BertRow]:
        pairs = [(row.question, row.context) for row in rows]
        windows = make_windows(pairs, reader.pipeline, reader.window).windows
        backend = reader.backend
        return backend.rows(windows) if isinstance(backend, BertReadBackend) else []

    return HeadJudge(
        metric="f1",
        rows=made,
        report=lambda path, rows: evaluate_reader(load_reader(path, backend="onnx"), rows).report(),
        is_over_pieces=True,
    )

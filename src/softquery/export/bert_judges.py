"""How an exported BERT is judged in each of the four tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softquery.answers import make_windows
from softquery.bundle import Bundle
from softquery.runtime.bert.backends import BertReadBackend
from softquery.runtime.bert.rows import BertRow
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.classify.model import load_classifier
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.match.evaluate import evaluate
from softquery.runtime.match.model import load_matcher
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import load_reader
from softquery.runtime.tag.evaluate import evaluate_tagger
from softquery.runtime.tag.model import load_tagger
from softquery.text import PieceEncoder


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """What a task makes of labelled rows."""

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


def judge_of(bundle: Bundle) -> Judge:
    """The judge of a bundle's task."""
    return {
        "classifier": _classes,
        "matcher": _pairs,
        "tagger": _tags,
        "reader": _answers,
    }[bundle.config.kind](bundle)


def _classes(bundle: Bundle) -> Judge:
    pipeline = fitting_pipeline(bundle)
    return Judge(
        metric=bundle.config.task.get("metric", "accuracy"),
        rows=lambda rows: [
            BertRow.of(ids) for ids in pipeline.encode_ids([row.values["text"] for row in rows])
        ],
        report=lambda path, rows: evaluate_classifier(
            load_classifier(path, backend="onnx"), rows
        ).report(),
    )


def _pairs(bundle: Bundle) -> Judge:
    pipeline = fitting_pipeline(bundle)

    def made(rows: Sequence[Any]) -> list[BertRow]:
        sides = [
            pipeline.encode_ids([row.values[name] for row in rows])
            for name in ("sentence1", "sentence2")
        ]
        return [BertRow.of(*pair) for pair in zip(*sides, strict=True)]

    return Judge(
        metric="accuracy" if "labels" in bundle.config.task else "spearman",
        rows=made,
        report=lambda path, rows: evaluate(load_matcher(path, backend="onnx"), rows).report(),
    )


def _tags(bundle: Bundle) -> Judge:
    cutting = PieceEncoder(fitting_pipeline(bundle))
    tags = load_tagger(bundle, backend="torch", device="cpu").tags
    return Judge(
        metric="f1" if tags.has_spans else "accuracy",
        rows=lambda rows: [
            BertRow.of(row.ids) for parts in cutting.rows([each.tokens for each in rows])
            for row in parts
        ],
        report=lambda path, rows: evaluate_tagger(load_tagger(path, backend="onnx"), rows).report(),
    )  # fmt: skip


def _answers(bundle: Bundle) -> Judge:
    reader = load_reader(bundle, backend="torch", device="cpu")

    def made(rows: Sequence[Any]) -> list[BertRow]:
        pairs = [(row.question, row.context) for row in rows]
        windows = make_windows(pairs, reader.pipeline, reader.window).windows
        backend = reader.backend
        return backend.rows(windows) if isinstance(backend, BertReadBackend) else []

    return Judge(
        metric="f1",
        rows=made,
        report=lambda path, rows: evaluate_reader(load_reader(path, backend="onnx"), rows).report(),
        is_over_pieces=True,
    )

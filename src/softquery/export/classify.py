"""Export a classifier: write its graphs, check them against torch, quantise behind the gate."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph.attentive import classify_graph, judge_graph, read_graph
from softquery.export.graph.builder import Graph
from softquery.export.quantise import quantise
from softquery.export.ranges import WatchedModule, watching
from softquery.export.trial import CHECKED, Form, Trial, Weights, check_wish, completed, entry_of
from softquery.files import Row
from softquery.models import Hierarchical
from softquery.runtime.classify.backend import is_sentence_head
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.classify.model import Classifier, load_classifier
from softquery.runtime.classify.torch import TorchClassifyBackend, load_classifier_model
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.inner_weights import check_spelling, inner_places
from softquery.runtime.torch_models import config_of


def export_classifier(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    rows: Sequence[Row] = (),
) -> ExportReport:
    """Write an exported classifier; the arguments are those of `export_matcher`.

    `limit` is in points of what the classifier is judged by, and `rows` are labelled texts.
    """
    if is_sentence_head(bundle):
        raise BundleError(
            f"{bundle.path}: a head on a sentence encoder has no graphs of its own to export; "
            "it runs without torch wherever its encoder does"
        )
    check_wish(bundle, "classifier", int8=int8, limit=limit, rows=rows)
    check_spelling(bundle, "classifier")
    make = entry_of(bundle, SYSTEMS)
    config = completed(bundle, config_of(load_classifier_model(bundle)))
    settings, weights = config.model["config"], dequantised(bundle.read_weights())
    trained = load_classifier(bundle.path, backend="torch")
    texts = [row.values["text"] for row in rows[:CHECKED]] or _made_up_texts(trained)
    largest = _largest_input(trained, texts)
    metric = trained.metric
    trial = Trial.scored(
        bundle,
        metric,
        len(rows),
        difference=lambda exported: _difference(trained, exported, texts),
        score=lambda exported: _score(exported, rows, metric),
    )

    def form(some: Weights) -> Form:
        return Form.around(bundle, config, some, lambda each: make(each, settings, largest))

    smaller = [form(quantise(weights))] if int8 else []
    return trial.run(output, form(weights), smaller, limit)


def _attentive_graphs(weights: Weights, settings: dict[str, Any], largest: float) -> list[Graph]:
    return [classify_graph(weights, settings["merge"], largest, inner_places(settings))]


def _hierarchical_graphs(weights: Weights, settings: dict[str, Any], largest: float) -> list[Graph]:
    return [read_graph(weights, largest), judge_graph(weights)]


SYSTEMS: dict[str, Callable[[Weights, dict[str, Any], float], list[Graph]]] = {
    "attentive": _attentive_graphs,
    "hierarchical": _hierarchical_graphs,
}
"""The graphs of every classifier that has some of its own, by its name."""


def _largest_input(classifier: Classifier, texts: Sequence[str]) -> float:
    """The largest absolute value that the first recurrent layer reads of these texts."""
    backend = classifier.backend
    if not isinstance(backend, TorchClassifyBackend):
        raise TypeError(f"ranges are measured in torch, got a classifier on {backend.name}")
    model = backend.model
    encoder = model.words.encoder if isinstance(model, Hierarchical) else model.encoder
    with watching([WatchedModule("embedded", encoder)]) as found:
        classifier.logits(texts)
    return found["embedded"] or 1.0


def _difference(theirs: Classifier, exported: Path, texts: Sequence[str]) -> float:
    """The largest difference in probability between torch and the graphs."""
    ours = load_classifier(exported, backend="onnx")
    return float(np.abs(theirs.probabilities(texts) - ours.probabilities(texts)).max())


def _made_up_texts(classifier: Classifier) -> list[str]:
    """Texts of random words of the vocabulary, where no data was given."""
    words = classifier.pipeline.vocabulary()
    generator = np.random.default_rng(0)
    return [
        ". ".join(
            " ".join(generator.choice(words, size)).capitalize()
            for size in generator.integers(1, 30, count)
        )
        for count in generator.integers(1, 5, 64)
    ]


def _score(exported: Path, rows: Sequence[Row], metric: str) -> float:
    report = evaluate_classifier(load_classifier(exported, backend="onnx"), rows).report()
    return float(report[metric])

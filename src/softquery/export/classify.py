"""Export a classifier: write its graphs, check them against torch, quantise behind the gate."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from softquery.bundle import Bundle, BundleConfig
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph.attentive import classify_graph, judge_graph, read_graph
from softquery.export.graph.builder import Graph
from softquery.export.quantise import quantise
from softquery.export.trial import CHECKED, Trial, Weights, check_wish
from softquery.files import Row
from softquery.models import Hierarchical
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.classify.model import Classifier, load_classifier
from softquery.runtime.classify.network import load_classifier_model
from softquery.runtime.classify.torch import TorchClassifyBackend
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.reads import NESTED
from softquery.runtime.inner.sentences import check_spelling
from softquery.runtime.torch_models import config_of


def export_classifier(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    rows: Sequence[Row] = (),
) -> ExportReport:
    """Write an exported bundle, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Points that int8 may cost, of what the classifier is judged by.
        rows: Labelled texts; the gate needs them, and the check uses them.
    """
    check_wish(bundle, "classifier", int8=int8, limit=limit, rows=rows)
    check_spelling(bundle, "classifier")
    config = _complete(bundle)
    weights: Weights = dequantised(bundle.read_weights())
    trained = load_classifier(bundle.path, backend="torch")
    texts = [row.values["text"] for row in rows[:CHECKED]] or _made_up_texts(trained)
    largest = _largest_input(trained, texts)
    trial = Trial(
        bundle=bundle,
        config=config,
        graphs=lambda arranged: _graphs(config, arranged, largest),
        difference=lambda exported: _difference(trained, exported, texts),
        score=lambda exported: _score(exported, rows, trained.metric),
        metric=trained.metric,
        num_rows=len(rows),
    )
    is_lstm = config.model["config"]["cell"] == "lstm"
    return trial.run(output, weights, quantise(weights, recurrent=is_lstm) if int8 else None, limit)


def _complete(bundle: Bundle) -> BundleConfig:
    """The config with every setting of the model, after a check that its weights fit."""
    settings = config_of(load_classifier_model(bundle))
    return replace(bundle.config, model={**bundle.config.model, "config": settings})


def _graphs(config: BundleConfig, arranged: Weights, largest: float) -> list[Graph]:
    if config.model["name"] == "hierarchical":
        return [read_graph(arranged, largest), judge_graph(arranged)]
    settings = config.model["config"]
    places = settings.get(NESTED, {}).get("settings", {}).get("places", ())
    return [classify_graph(arranged, settings["merge"], largest, places)]


def _largest_input(classifier: Classifier, texts: Sequence[str]) -> float:
    """The largest absolute value that the first recurrent layer reads of these texts."""
    backend, found = classifier.backend, 0.0
    if not isinstance(backend, TorchClassifyBackend):
        raise TypeError(f"ranges are measured in torch, got a classifier on {backend.name}")

    def watch(module: nn.Module, inputs: Any) -> None:
        nonlocal found
        found = max(found, float(inputs[0].abs().max()))

    model = backend.model
    encoder = model.words.encoder if isinstance(model, Hierarchical) else model.encoder
    handle = encoder.register_forward_pre_hook(watch)
    try:
        classifier.logits(texts)
    finally:
        handle.remove()
    return found or 1.0


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

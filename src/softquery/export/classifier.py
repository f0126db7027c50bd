"""Export a classifier: write its graphs, check them against torch, quantise behind the gate."""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from softquery.bundle import RECORDS, Bundle, BundleConfig, write_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export.attentive import classify_graph, judge_graph, read_graph
from softquery.export.graph import Graph
from softquery.export.matcher import CHECKED, TOLERANCE, ExportReport, Gate
from softquery.export.quantise import quantise
from softquery.files import Row
from softquery.models import Hierarchical
from softquery.runtime.class_evaluation import evaluate_classes
from softquery.runtime.class_network import load_class_model
from softquery.runtime.classifier import Classifier, load_classifier
from softquery.runtime.fitting import fitting_reading
from softquery.runtime.network import config_of
from softquery.runtime.onnx_session import USED
from softquery.runtime.torch_classifier import TorchClassBackend
from softquery.runtime.weights import arrange, dequantised

Weights = dict[str, NDArray[Any]]


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
        limit: Points of accuracy that int8 may cost.
        rows: Labelled texts; the gate needs them, and the check uses them.
    """
    if bundle.config.kind != "classifier":
        raise BundleError(
            f"{bundle.path}: expected a classifier, found kind {bundle.config.kind!r}"
        )
    if "embedder" in bundle.config.model["config"] or fitting_reading(bundle).tokens == "words":
        raise BundleError(
            f"{bundle.path}: a classifier with ELMo inside runs on torch alone so far"
        )
    if int8 and not rows:
        raise ConfigError("int8 needs labelled rows for its gate; name a file with --data")
    if not math.isfinite(limit):
        raise ConfigError(f"the gate must be a finite number of points, got {limit}")
    settings = config_of(load_class_model(bundle))
    config = replace(bundle.config, model={**bundle.config.model, "config": settings})
    weights: Weights = dequantised(bundle.read_weights())
    trained = load_classifier(bundle.path, backend="torch")
    texts = [row.values["text"] for row in rows[:CHECKED]] or _made_up_texts(trained)
    largest = _largest_input(trained, texts)
    with tempfile.TemporaryDirectory() as scratch:
        plain = _write(bundle, Path(scratch) / "float32", config, weights, largest)
        difference = _difference(trained, plain, texts)
        gate = None
        if int8:
            small = quantise(weights, recurrent=settings["cell"] == "lstm")
            tried = _write(bundle, Path(scratch) / "int8", config, small, largest)
            gate = _gate(plain, tried, rows, limit)
    accepted = gate is not None and gate.accepted
    precision = "int8" if accepted else "float32"
    note = {"precision": precision, "difference_from_torch": difference}
    note |= {"gate": asdict(gate)} if gate is not None else {}
    kept = small if accepted else weights
    target = _write(bundle, output, config, kept, largest, notes={"export": note})
    return ExportReport(
        bundle=target,
        precision=precision,
        difference=difference,
        gate=gate,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def _graphs(config: BundleConfig, arranged: Weights, largest: float) -> list[Graph]:
    if config.model["name"] == "hierarchical":
        return [read_graph(arranged, largest), judge_graph(arranged)]
    return [classify_graph(arranged, config.model["config"]["merge"], largest)]


def _write(
    bundle: Bundle,
    output: Path,
    config: BundleConfig,
    weights: Weights,
    largest: float,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    graphs = _graphs(config, arrange(weights), largest)
    files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
    used = {graph.name: sorted(graph.used) for graph in graphs}
    files[USED] = (json.dumps(used, indent=1) + "\n").encode()
    records = bundle.path / RECORDS
    return write_bundle(
        output,
        config=config,
        tokenizer_json=bundle.tokenizer_path.read_text(encoding="utf-8"),
        weights=weights,
        metrics={**bundle.metrics, **(notes or {})},
        card=bundle.card,
        calibration=bundle.calibration,
        graphs=files,
        records=records if records.is_dir() else None,
        replace=output.exists(),
    )


def _largest_input(classifier: Classifier, texts: Sequence[str]) -> float:
    """The largest absolute value that the first recurrent layer reads of these texts."""
    backend, found = classifier.backend, 0.0
    if not isinstance(backend, TorchClassBackend):
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
    worst = float(np.abs(theirs.probabilities(texts) - ours.probabilities(texts)).max())
    if worst > TOLERANCE:
        raise BundleError(
            f"{theirs.bundle.path}: the exported graphs differ from torch by {worst:.1e}"
        )
    return worst


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


def _gate(plain: Path, small: Path, rows: Sequence[Row], limit: float) -> Gate:
    figures = [
        float(evaluate_classes(load_classifier(path, backend="onnx"), rows).report()["accuracy"])
        for path in (plain, small)
    ]
    lost = 100 * (figures[0] - figures[1])
    return Gate(
        metric="accuracy",
        float32=figures[0],
        int8=figures[1],
        lost_points=lost,
        limit_points=limit,
        n=len(rows),
        accepted=lost <= limit,
    )

"""Export a writing bundle: two graphs, checked against torch token by token."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import RECORDS, Bundle, write_bundle
from softquery.decoding import Greedy
from softquery.errors import BundleError
from softquery.export import seq2seq, transformer
from softquery.export.graph import Graph
from softquery.export.matcher import ExportReport
from softquery.runtime.network import config_of, load_task_model
from softquery.runtime.onnx_session import USED
from softquery.runtime.requests import Request
from softquery.runtime.weights import dequantised
from softquery.runtime.writer import Writer, load
from softquery.runtime.writing_weights import writing_weights

TOLERANCE = 1e-3
"""How far the log-likelihood of a text, in nats a token, may lie from torch's."""
NUM_CHECKED = 16


def export_generator(bundle: Bundle, output: Path) -> ExportReport:
    """Write an exported bundle in float32, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
    """
    if bundle.config.kind != "generator":
        raise BundleError(f"{bundle.path}: expected a generator, found kind {bundle.config.kind!r}")
    settings = config_of(load_task_model(bundle))
    weights = dequantised(bundle.read_weights())
    graphs = writing_graphs(bundle.config.model["name"], settings, weights)
    files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
    used = {graph.name: sorted(graph.used) for graph in graphs}
    files[USED] = (json.dumps(used, indent=1) + "\n").encode()
    trained = load(bundle.path, backend="torch", device="cpu")
    records = bundle.path / RECORDS
    target = write_bundle(
        output,
        config=replace(bundle.config, model={**bundle.config.model, "config": settings}),
        tokenizer_json=bundle.tokenizer_path.read_text(encoding="utf-8"),
        weights=weights,
        metrics={**bundle.metrics, "export": {"precision": "float32"}},
        card=bundle.card,
        calibration=bundle.calibration,
        graphs=files,
        records=records if records.is_dir() else None,
        replace=output.exists(),
    )
    return ExportReport(
        bundle=target,
        precision="float32",
        difference=_difference(trained, load(target, backend="onnx")),
        gate=None,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def writing_graphs(name: str, settings: dict[str, Any], weights: Any) -> list[Graph]:
    """The graphs of a model, by its name and its settings."""
    arranged = writing_weights(weights, settings)
    kind = transformer if name == "transformer" else seq2seq
    graphs = [Graph(each, arranged) for each in ("encode", "step")]
    kind.encode_graph(graphs[0], settings)
    kind.step_graph(graphs[1], settings)
    return graphs


def _difference(trained: Writer, exported: Writer) -> float:
    """The largest difference in log-likelihood, in nats a token, on what torch writes greedily."""
    texts = _made_up(trained)
    written = trained.generate(texts, Request(strategy=Greedy(), max_length=32))
    answers = [each[0].text if each else "" for each in written]
    ours, counts = exported.log_likelihoods(texts, answers)
    theirs, _ = trained.log_likelihoods(texts, answers)
    worst = float((np.abs(ours - theirs) / counts).max())
    if not worst <= TOLERANCE:
        raise BundleError(f"the exported graphs differ from torch by {worst:.1e} nats a token")
    return worst


def _made_up(writer: Writer) -> list[str]:
    """Texts of the model's own entries, each as long as its number says."""
    entries = [entry for entry in writer.pipeline.vocabulary()[4:] if entry.strip("▁ ")]
    rng = np.random.default_rng(0)
    return [
        " ".join(entries[place].strip("▁") for place in rng.integers(len(entries), size=size))
        for size in range(1, NUM_CHECKED + 1)
    ]

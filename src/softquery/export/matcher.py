"""Export a matching bundle: fold, write its graphs, check them against torch, quantise.

int8 is accepted only inside the gate: where it costs more accuracy than allowed, float32 is kept
and the report says so.
"""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import RECORDS, Bundle, BundleConfig, write_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export import esim, siamese
from softquery.export.gate import ExportReport, Gate
from softquery.export.graph import Graph
from softquery.export.quantise import quantise
from softquery.export.ranges import Ranges, measure_ranges
from softquery.files import Row
from softquery.runtime.evaluation import evaluate
from softquery.runtime.matcher import Matcher, load_matcher
from softquery.runtime.network import config_of, load_model
from softquery.runtime.onnx_session import USED
from softquery.runtime.weights import arrange, dequantised

Weights = dict[str, NDArray[Any]]
TOLERANCE = 1e-4
"""How far a float32 graph's probabilities may lie from torch's."""
CHECKED = 512
"""Pairs on which the graphs are compared with torch."""


def export_matcher(
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
        limit: Points of accuracy (of correlation times 100, for grades) that int8 may cost.
        rows: Labelled rows; the gate needs them, and the check uses them.
    """
    if "embedder" in bundle.config.model["config"]:
        raise BundleError(f"{bundle.path}: a matcher with ELMo inside runs on torch alone so far")
    if int8 and not rows:
        raise ConfigError("int8 needs labelled rows for its gate; name a file with --data")
    if not math.isfinite(limit):
        raise ConfigError(f"the gate must be a finite number of points, got {limit}")
    if bundle.config.kind != "matcher":
        raise BundleError(f"{bundle.path}: expected a matcher, found kind {bundle.config.kind!r}")
    config, weights = _folded(_complete(bundle), dequantised(bundle.read_weights()))
    trained = load_matcher(bundle.path, backend="torch")
    pairs = _pairs(rows[:CHECKED]) or _made_up_pairs(trained)
    ranges = measure_ranges(trained, pairs)
    with tempfile.TemporaryDirectory() as scratch:
        plain = _write(bundle, Path(scratch) / "float32", config, weights, ranges)
        difference = _difference(trained, plain, pairs)
        gate = None
        if int8:
            small = quantise(weights, recurrent=config.model["config"]["cell"] == "lstm")
            tried = _write(bundle, Path(scratch) / "int8", config, small, ranges)
            gate = _gate(plain, tried, rows, limit)
    accepted = gate is not None and gate.accepted
    precision = "int8" if accepted else "float32"
    note = {"precision": precision, "difference_from_torch": difference}
    note |= {"gate": asdict(gate)} if gate is not None else {}
    kept = small if accepted else weights
    target = _write(bundle, output, config, kept, ranges, notes={"export": note})
    return ExportReport(
        bundle=target,
        precision=precision,
        difference=difference,
        gate=gate,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def _complete(bundle: Bundle) -> BundleConfig:
    """The config with every setting of the model, after a check that its weights fit."""
    settings = config_of(load_model(bundle))
    return replace(bundle.config, model={**bundle.config.model, "config": settings})


def _folded(config: BundleConfig, weights: Weights) -> tuple[BundleConfig, Weights]:
    """ESIM with its projection folded is still an ESIM, of fewer parts."""
    if config.model["name"] != "esim":
        return config, weights
    settings = config.model["config"]
    parts = tuple(settings["parts"])
    if parts == ("own",):
        raise ConfigError("an ESIM without alignment (parts = own) is not exported")
    folded = esim.fold_projection(weights["project.0.weight"], parts).astype(np.float32)
    model = {"name": "esim", "config": {**settings, "parts": list(esim.FOLDED)}}
    return replace(config, model=model), {**weights, "project.0.weight": folded}


def _graphs(config: BundleConfig, arranged: Weights, ranges: Ranges) -> list[Graph]:
    settings = config.model["config"]
    if config.model["name"] == "esim":
        return [esim.encode_graph(arranged, ranges), esim.compare_graph(arranged, ranges)]
    return [
        siamese.encode_graph(arranged, settings["pooling"], ranges),
        siamese.compare_graph(arranged, settings["head"], settings["output_size"], ranges),
    ]


def _write(
    bundle: Bundle,
    output: Path,
    config: BundleConfig,
    weights: Weights,
    ranges: Ranges,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    graphs = _graphs(config, arrange(weights), ranges)
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


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _difference(theirs: Matcher, exported: Path, pairs: Sequence[tuple[str, str]]) -> float:
    """The largest difference in probability between torch and the graphs."""
    ours = load_matcher(exported, backend="onnx")
    worst = float(np.abs(theirs.probabilities(pairs) - ours.probabilities(pairs)).max())
    if worst > TOLERANCE:
        raise BundleError(
            f"{theirs.bundle.path}: the exported graphs differ from torch by {worst:.1e}"
        )
    return worst


def _made_up_pairs(matcher: Matcher) -> list[tuple[str, str]]:
    """Pairs of random words of the vocabulary, where no data was given."""
    words = matcher.pipeline.vocabulary()
    generator = np.random.default_rng(0)
    sides = [
        [" ".join(generator.choice(words, size)) for size in generator.integers(1, 30, 64)]
        for _ in range(2)
    ]
    return list(zip(*sides, strict=True))


def _gate(plain: Path, small: Path, rows: Sequence[Row], limit: float) -> Gate:
    figures = []
    for path in (plain, small):
        report = evaluate(load_matcher(path, backend="onnx"), rows).report()
        metric = "accuracy" if "accuracy" in report else "spearman"
        figures.append(float(report[metric] or 0.0))
    lost = 100 * (figures[0] - figures[1])
    return Gate(
        metric=metric,
        float32=figures[0],
        int8=figures[1],
        lost_points=lost,
        limit_points=limit,
        n=len(rows),
        accepted=lost <= limit,
    )

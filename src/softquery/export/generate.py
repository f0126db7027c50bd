"""Export a writing bundle: two graphs, checked against torch token by token, int8 behind a gate.

int8 is accepted only where it costs little: in BLEU, or for couplets, and where no BLEU is
measured, in perplexity. Where multiplying as int8 costs more, int8 is tried as a way of storing
alone; where that does, float32 is kept. The report says what happened.
"""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import RECORDS, Bundle, BundleConfig, with_section, write_bundle
from softquery.decoding import Greedy
from softquery.errors import BundleError, ConfigError, counted
from softquery.export.accuracy_gate import AccuracyGate, ExportReport, per_cent_grown
from softquery.export.generate_limits import measure_limits, watch
from softquery.export.graph import seq2seq, transformer, transformer_step
from softquery.export.graph.builder import Graph
from softquery.export.quantise import quantise
from softquery.files import Row
from softquery.measure import corpus_bleu, require_sacrebleu
from softquery.runtime.generate.decoder_weights import writing_weights
from softquery.runtime.generate.model import Generator, load_generator
from softquery.runtime.generate.request import GenerateRequest
from softquery.runtime.graph_weights import Weights, dequantised
from softquery.runtime.onnx_session import USED
from softquery.runtime.torch_models import config_of, load_task_model

TOLERANCE = 1e-3
"""How far the log-likelihood of a text, in nats a token, may lie from torch's."""
NUM_CHECKED = 16
COMPARED = 32
"""Tokens of an answer that both are compared on."""
NUM_WATCHED = 256
"""Rows by which the ranges of int8 are measured."""
LIMITS = {"bleu": 0.3, "perplexity": 0.5}
"""What int8 may cost by default: points of BLEU, per cent of perplexity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What of a bundle an export changes."""

    config: BundleConfig
    weights: Weights
    limits: Mapping[str, float] = field(default_factory=dict)
    """The largest value that each int8 layer reads; without them, float32 is computed with."""


def export_generator(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float | None = None,
    rows: Sequence[Row] = (),
) -> ExportReport:
    """Write an exported bundle, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Points of BLEU, or per cent of perplexity, that int8 may cost; None for `LIMITS`.
        rows: With `source` and `target`, for the gate.
    """
    if bundle.config.kind != "generator":
        raise BundleError(f"{bundle.path}: expected a generator, found kind {bundle.config.kind!r}")
    metric = _metric(bundle.config)
    allowed = LIMITS[metric] if limit is None else limit
    if not math.isfinite(allowed):
        raise ConfigError(f"the gate must be a finite number, got {allowed}")
    if int8 and not rows:
        raise ConfigError("int8 needs rows with source and target for its gate; name --data")
    settings = config_of(load_task_model(bundle))
    whole = Content(
        config=replace(bundle.config, model={**bundle.config.model, "config": settings}),
        weights=dequantised(bundle.read_weights()),
    )
    trained = load_generator(bundle, backend="torch", device="cpu")
    gates: list[AccuracyGate] = []
    kept = whole
    with tempfile.TemporaryDirectory() as scratch:
        plain = _write(bundle, Path(scratch) / "float32", whole)
        difference = _difference(trained, load_generator(plain, backend="onnx"))
        if int8:
            small = _quantised(bundle, whole, trained, rows, Path(scratch) / "watched")
            for content in (small, replace(small, limits={})):
                tried = _write(bundle, Path(scratch) / f"int8-{len(gates)}", content)
                gates.append(_gate(plain, tried, rows, metric, allowed))
                if gates[-1].accepted:
                    kept = content
                    break
    gate = gates[-1] if gates else None
    precision = "float32" if kept is whole else "int8"
    note: dict[str, Any] = {
        "precision": precision,
        "arithmetic": "int8" if kept.limits else "float32",
        "difference_from_torch": difference,
    }
    note |= {"gate": asdict(gate)} if gate is not None else {}
    note |= {"gate_of_int8_arithmetic": asdict(gates[0])} if len(gates) > 1 else {}
    target = _write(bundle, output, kept, note)
    return ExportReport(
        bundle=target,
        precision=precision,
        difference=difference,
        gate=gate,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def writing_graphs(
    name: str,
    settings: dict[str, Any],
    weights: Weights,
    limits: Mapping[str, float] | None = None,
) -> list[Graph]:
    """The graphs of a model, by its name and its settings.

    Args:
        name: Of the model.
        settings: Of the model.
        weights: As they are stored.
        limits: The largest value that each int8 layer reads.
    """
    arranged = writing_weights(weights, settings)
    is_transformer = name == "transformer"
    graphs = [Graph(each, arranged, limits=limits) for each in ("encode", "step")]
    (transformer if is_transformer else seq2seq).encode_graph(graphs[0], settings)
    (transformer_step if is_transformer else seq2seq).step_graph(graphs[1], settings)
    return graphs


def _metric(config: BundleConfig) -> str:
    is_bleu = config.task.get("form", "free") == "free" and config.task.get("bleu") != "none"
    return "bleu" if is_bleu else "perplexity"


def _write(
    bundle: Bundle, output: Path, content: Content, note: Mapping[str, Any] | None = None
) -> Path:
    model = content.config.model
    weights = content.weights if content.limits else dequantised(content.weights)
    graphs = writing_graphs(model["name"], model["config"], weights, content.limits)
    return _written(bundle, output, content, graphs, note)


def _written(
    bundle: Bundle,
    output: Path,
    content: Content,
    graphs: Sequence[Graph],
    note: Mapping[str, Any] | None = None,
) -> Path:
    files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
    used = {graph.name: sorted(graph.used) for graph in graphs}
    files[USED] = (json.dumps(used, indent=1) + "\n").encode()
    records = bundle.path / RECORDS
    return write_bundle(
        output,
        config=content.config,
        tokenizer_json=bundle.tokenizer_path.read_text(encoding="utf-8"),
        weights=dict(content.weights),
        metrics={**bundle.metrics, **({} if note is None else {"export": note})},
        card=bundle.card if note is None else with_section(bundle.card, "Export", _told(note)),
        calibration=bundle.calibration,
        source_tokenizer_json=_source_tokenizer(bundle),
        graphs=files,
        records=records if records.is_dir() else None,
        replace=output.exists(),
    )


def _source_tokenizer(bundle: Bundle) -> str | None:
    path = bundle.source_tokenizer_path
    return None if path is None else path.read_text(encoding="utf-8")


def _told(note: Mapping[str, Any]) -> list[str]:
    """What the card says of an export."""
    lines = [f"- Weights: {note['precision']}, multiplied as {note['arithmetic']}."]
    if (gate := note.get("gate")) is not None:
        lines.append(
            f"- int8 {'was kept' if gate['accepted'] else 'was refused'}: {gate['metric']} "
            f"{gate['float32']:.4f} as float32, {gate['int8']:.4f} as int8, "
            f"on {counted(gate['n'], 'text')}."
        )
    return lines


def _quantised(
    bundle: Bundle, whole: Content, trained: Generator, rows: Sequence[Row], scratch: Path
) -> Content:
    """The same in int8, with the ranges that its rows show."""
    model = whole.config.model
    graphs = writing_graphs(model["name"], model["config"], whole.weights)
    for graph in graphs:
        watch(graph)
    watched = _written(bundle, scratch, whole, graphs)
    sides = [
        pipeline.encode_ids([row.values[side] for row in rows[:NUM_WATCHED]])
        for side, pipeline in (("source", trained.source_pipeline), ("target", trained.pipeline))
    ]
    limits = measure_limits(
        watched, whole.weights, model["config"], trained.pipeline.vocab_size, *sides
    )
    return replace(whole, weights=quantise(dict(whole.weights)), limits=limits)


def _difference(trained: Generator, exported: Generator) -> float:
    """The largest difference in log-likelihood, in nats a token, on what torch writes greedily."""
    texts = _made_up(trained)
    longest = min(COMPARED, trained.backend.max_length or COMPARED)
    # The rules of couplets say how long a line is.
    request = GenerateRequest(strategy=Greedy(), max_length=None if trained.is_couplet else longest)
    written = trained.generate(texts, request)
    answers = [each[0].text if each else "" for each in written]
    ours, counts = exported.log_likelihoods(texts, answers)
    theirs, _ = trained.log_likelihoods(texts, answers)
    worst = float((np.abs(ours - theirs) / counts).max())
    if not worst <= TOLERANCE:
        raise BundleError(f"the exported graphs differ from torch by {worst:.1e} nats a token")
    return worst


def _made_up(writer: Generator) -> list[str]:
    """Texts of the model's own entries, each as long as its number says."""
    entries = [entry for entry in writer.source_pipeline.vocabulary()[4:] if entry.strip("▁ ")]
    rng = np.random.default_rng(0)
    return [
        " ".join(entries[place].strip("▁") for place in rng.integers(len(entries), size=size))
        for size in range(1, NUM_CHECKED + 1)
    ]


def _gate(plain: Path, small: Path, rows: Sequence[Row], metric: str, limit: float) -> AccuracyGate:
    measured = _bleu if metric == "bleu" else _perplexity
    before, after = (
        measured(load_generator(path, backend="onnx"), rows) for path in (plain, small)
    )
    lost = before - after if metric == "bleu" else per_cent_grown(before, after)
    return AccuracyGate(
        metric=metric,
        float32=before,
        int8=after,
        lost_points=lost,
        limit_points=limit,
        n=len(rows),
        accepted=lost <= limit,
    )


def _bleu(writer: Generator, rows: Sequence[Row]) -> float:
    """By the search that `softquery generate` makes."""
    require_sacrebleu()
    found = writer.generate([row.values["source"] for row in rows])
    texts = [each[0].text if each else "" for each in found]
    targets = [row.values["target"] for row in rows]
    return corpus_bleu(texts, targets, tokens=writer.task.get("bleu", "13a"))


def _perplexity(writer: Generator, rows: Sequence[Row]) -> float:
    sides = ([row.values[side] for row in rows] for side in ("source", "target"))
    found, counts = writer.log_likelihoods(*sides)
    return math.exp(min(-float(found.sum() / counts.sum()), 700.0))

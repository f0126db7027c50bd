"""Export a reading bundle: write its graphs, check them against torch, quantise.

int8 is accepted only inside the gate: where it costs more points of F1 than allowed, float32 is
kept and the report says so.
"""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.answers import Page, SpanScores, lay_out
from softquery.bundle import RECORDS, Bundle, BundleConfig, write_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export.gate import ExportReport, Gate
from softquery.export.quantise import SMALLEST, quantise
from softquery.export.reader import ReadRanges, encode_graph, read_graph
from softquery.files import AskedQuestion
from softquery.models import BiDaf
from softquery.runtime.network import config_of
from softquery.runtime.onnx_session import USED
from softquery.runtime.read_evaluation import evaluate_reading
from softquery.runtime.reader import Reader, load_reader
from softquery.runtime.torch_reader import TorchReadBackend
from softquery.runtime.weights import arrange, dequantised

Weights = dict[str, NDArray[Any]]
TOLERANCE = 1e-4
"""How far the probability of a word may lie from torch's in a float32 graph."""
CHECKED = 64
"""Questions on which the graphs are compared with torch."""


def export_reader(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    rows: Sequence[AskedQuestion] = (),
) -> ExportReport:
    """Write an exported bundle, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Points of F1 that int8 may cost.
        rows: Questions with answers; the gate needs them, and the check uses them.
    """
    if "embedder" in bundle.config.model["config"]:
        raise BundleError(f"{bundle.path}: a reader with ELMo inside runs on torch alone so far")
    if int8 and not rows:
        raise ConfigError("int8 needs questions with answers for its gate; name a file with --data")
    if not math.isfinite(limit):
        raise ConfigError(f"the gate must be a finite number of points, got {limit}")
    trained = load_reader(bundle, backend="torch", device="cpu")
    model = _model(trained)
    config = replace(bundle.config, model={**bundle.config.model, "config": config_of(model)})
    weights = dequantised(bundle.read_weights())
    pages = _pages(trained, rows[:CHECKED]) or _made_up(trained)
    ranges = measure_read_ranges(trained, pages)
    gate, small = None, quantise_reader(weights) if int8 else weights
    with tempfile.TemporaryDirectory() as scratch:
        plain = _write(bundle, Path(scratch) / "float32", config, weights, ranges)
        difference = _difference(trained, plain, pages)
        if int8:
            tried = _write(bundle, Path(scratch) / "int8", config, small, ranges)
            gate = _gate(plain, tried, rows, limit)
    accepted = gate is not None and gate.accepted
    note: dict[str, Any] = {
        "precision": "int8" if accepted else "float32",
        "difference_from_torch": difference,
        **({} if gate is None else {"gate": asdict(gate)}),
    }
    kept = small if accepted else weights
    target = _write(bundle, output, config, kept, ranges, notes={"export": note})
    return ExportReport(
        bundle=target,
        precision=note["precision"],
        difference=difference,
        gate=gate,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def quantise_reader(weights: Weights) -> Weights:
    """The table of words, the LSTMs and the highway layers as int8; the rest is small."""
    large = {
        name: values
        for name, values in weights.items()
        if name == "embedder.table.weight"
        or (name.startswith("highways.") and name.endswith(".weight"))
        or name == "meeting.score.query_projection.weight"
    }
    pairs = {name.split(".forwards.")[0] for name in weights if ".forwards." in name}
    for pair in pairs - {"spelling.reader.recurrent"}:
        own = {name: values for name, values in weights.items() if name.startswith(f"{pair}.")}
        # ONNX Runtime's int8 LSTM has all of its matrices in int8, or none.
        if all(values.size >= SMALLEST for values in own.values() if values.ndim == 2):
            large |= own
    return {**weights, **quantise(large)}


def measure_read_ranges(reader: Reader, pages: Sequence[Page]) -> ReadRanges:
    """Watch a torch model read these pages."""
    model = _model(reader)
    watched: list[tuple[str, nn.Module]] = [
        ("inputs", model.encoder),
        ("states", model.meeting),
        ("aware", model.modelling[0]),
        *(("embedded", layer) for layer in model.highways),
    ]
    found = dict.fromkeys(ReadRanges.__dataclass_fields__, 0.0)

    def watch(name: str) -> Callable[[nn.Module, Any], None]:
        def hook(module: nn.Module, inputs: Any) -> None:
            tensors = [
                each for each in inputs if isinstance(each, Tensor) and each.is_floating_point()
            ]
            found[name] = max([found[name], *(float(each.abs().max()) for each in tensors)])

        return hook

    handles = [module.register_forward_pre_hook(watch(name)) for name, module in watched]
    try:
        reader.backend.scores(pages)
    finally:
        for handle in handles:
            handle.remove()
    return ReadRanges(**{name: value or 1.0 for name, value in found.items()})


def _model(reader: Reader) -> BiDaf:
    backend = reader.backend
    if not isinstance(backend, TorchReadBackend):
        raise TypeError(f"expected a reader on torch, got one on {backend.name}")
    return backend.model


def _write(
    bundle: Bundle,
    output: Path,
    config: BundleConfig,
    weights: Weights,
    ranges: ReadRanges,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    settings, arranged = config.model["config"], arrange(weights)
    graphs = [make(arranged, settings, ranges) for make in (encode_graph, read_graph)]
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


def _pages(reader: Reader, rows: Sequence[AskedQuestion]) -> list[Page]:
    pairs = [(row.question, row.context) for row in rows]
    return lay_out(pairs, reader.pipeline, reader.paging).pages


def _made_up(reader: Reader) -> list[Page]:
    """Pages of random words, known and unknown, where no data was given."""
    words = [*reader.pipeline.vocabulary(), "Unheard-of", "naïve", "漢字", "\U0001f44d"]
    generator = np.random.default_rng(0)
    return [
        Page(*([str(word) for word in generator.choice(words, size)] for size in sizes))
        for sizes in zip(generator.integers(1, 12, 24), generator.integers(1, 80, 24), strict=True)
    ]


def _difference(theirs: Reader, exported: Path, pages: Sequence[Page]) -> float:
    """The largest difference in a word's probability between torch and the graphs."""
    ours = load_reader(exported, backend="onnx")
    pairs = zip(ours.backend.scores(pages), theirs.backend.scores(pages), strict=True)
    worst = max(float(np.abs(_shares(one) - _shares(other)).max()) for one, other in pairs)
    if not worst <= TOLERANCE:
        raise BundleError(
            f"{theirs.bundle.path}: the exported graphs differ from torch by {worst:.1e}"
        )
    return worst


def _shares(scores: SpanScores) -> NDArray[np.float32]:
    both = np.stack([scores.start, scores.end])
    raised = np.exp(both - both.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _gate(plain: Path, small: Path, rows: Sequence[AskedQuestion], limit: float) -> Gate:
    figures = [
        float(evaluate_reading(load_reader(path, backend="onnx"), rows).report()["f1"])
        for path in (plain, small)
    ]
    lost = 100 * (figures[0] - figures[1])
    return Gate(
        metric="f1",
        float32=figures[0],
        int8=figures[1],
        lost_points=lost,
        limit_points=limit,
        n=len(rows),
        accepted=lost <= limit,
    )

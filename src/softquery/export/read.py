"""Export a reading bundle: write its graphs, check them against torch, quantise behind a gate."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.answers import ContextWindow, SpanScores, make_windows
from softquery.bundle import Bundle
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph.bidaf import ReadRanges, encode_graph, read_graph
from softquery.export.quantise import SMALLEST, quantise
from softquery.export.trial import Trial, Weights, check_wish
from softquery.files import AskedQuestion
from softquery.models import BiDaf
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.mixed import without_bilm
from softquery.runtime.inner.reads import PREFIX, PROJECTIONS
from softquery.runtime.inner.sentences import check_spelling
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import Reader, load_reader
from softquery.runtime.read.torch import TorchReadBackend
from softquery.runtime.torch_models import config_of

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
    check_wish(bundle, "reader", int8=int8, limit=limit, rows=rows)
    check_spelling(bundle, "reader")
    trained = load_reader(bundle, backend="torch", device="cpu")
    model = _model(trained)
    config = replace(bundle.config, model={**bundle.config.model, "config": config_of(model)})
    weights = dequantised(bundle.read_weights())
    windows = _windows(trained, rows[:CHECKED]) or _made_up(trained)
    ranges = measure_read_ranges(trained, windows)
    trial = Trial(
        bundle=bundle,
        config=config,
        graphs=lambda arranged: [
            make(arranged, config.model["config"], ranges) for make in (encode_graph, read_graph)
        ],
        difference=lambda exported: _difference(trained, exported, windows),
        score=lambda exported: _score(exported, rows),
        metric="f1",
        num_rows=len(rows),
    )
    return trial.run(output, weights, quantise_reader(weights) if int8 else None, limit)


def quantise_reader(weights: Weights) -> Weights:
    """The table of words, the LSTMs, the highway layers, a biLM and its projections as int8.

    The rest is small.
    """
    large = {
        name: values
        for name, values in weights.items()
        if name in ("embedder.table.weight", "embedder.words.table.weight")
        or (name.startswith("highways.") and name.endswith(".weight"))
        or name == "meeting.score.query_projection.weight"
        or name.startswith((PREFIX, PROJECTIONS))
    }
    around = without_bilm(weights)
    pairs = {name.split(".forwards.")[0] for name in around if ".forwards." in name}
    for pair in pairs - {"spelling.reader.recurrent"}:
        own = {name: values for name, values in weights.items() if name.startswith(f"{pair}.")}
        # ONNX Runtime's int8 LSTM has all of its matrices in int8, or none.
        if all(values.size >= SMALLEST for values in own.values() if values.ndim == 2):
            large |= own
    return {**weights, **quantise(large)}


def measure_read_ranges(reader: Reader, windows: Sequence[ContextWindow]) -> ReadRanges:
    """Watch a torch model read these windows."""
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
        reader.backend.scores(windows)
    finally:
        for handle in handles:
            handle.remove()
    return ReadRanges(**{name: value or 1.0 for name, value in found.items()})


def _model(reader: Reader) -> BiDaf:
    backend = reader.backend
    if not isinstance(backend, TorchReadBackend):
        raise TypeError(f"expected a reader on torch, got one on {backend.name}")
    return backend.model


def _windows(reader: Reader, rows: Sequence[AskedQuestion]) -> list[ContextWindow]:
    pairs = [(row.question, row.context) for row in rows]
    return make_windows(pairs, reader.pipeline, reader.window).windows


def _made_up(reader: Reader) -> list[ContextWindow]:
    """Windows of random words, known and unknown, where no data was given."""
    words = [*reader.pipeline.vocabulary(), "Unheard-of", "naïve", "漢字", "\U0001f44d"]
    generator = np.random.default_rng(0)
    return [
        ContextWindow(*([str(word) for word in generator.choice(words, size)] for size in sizes))
        for sizes in zip(generator.integers(1, 12, 24), generator.integers(1, 80, 24), strict=True)
    ]


def _difference(theirs: Reader, exported: Path, windows: Sequence[ContextWindow]) -> float:
    """The largest difference in a word's probability between torch and the graphs."""
    ours = load_reader(exported, backend="onnx")
    pairs = zip(ours.backend.scores(windows), theirs.backend.scores(windows), strict=True)
    return max(float(np.abs(_shares(one) - _shares(other)).max()) for one, other in pairs)


def _shares(scores: SpanScores) -> NDArray[np.float32]:
    both = np.stack([scores.start, scores.end])
    raised = np.exp(both - both.max(axis=1, keepdims=True))
    shares: NDArray[np.float32] = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _score(exported: Path, rows: Sequence[AskedQuestion]) -> float:
    reader = load_reader(exported, backend="onnx")
    return float(evaluate_reader(reader, rows).report()["f1"])

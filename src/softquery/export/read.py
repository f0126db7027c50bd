"""Export a reading bundle: write its graphs, check them against torch, quantise behind a gate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from softquery.answers import ContextWindow, SpanScores, make_windows
from softquery.bundle import Bundle
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph.bidaf import ReadRanges, encode_graph, read_graph
from softquery.export.graph.builder import Graph
from softquery.export.quantise import SMALLEST, quantise
from softquery.export.ranges import WatchedModule, measure_ranges
from softquery.export.trial import Form, Trial, Weights, check_wish, completed
from softquery.files import AskedQuestion
from softquery.models import BiDaf
from softquery.numpy_softmax import softmax
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.inner_weights import (
    PREFIX,
    PROJECTIONS,
    check_spelling,
    without_inner,
)
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
    """Write an exported reader; the arguments are those of `export_matcher`.

    `limit` is in points of F1, and `rows` are questions with their answers.
    """
    check_wish(bundle, "reader", int8=int8, limit=limit, rows=rows)
    check_spelling(bundle, "reader")
    trained = load_reader(bundle, backend="torch", device="cpu")
    config = completed(bundle, config_of(_model(trained)))
    weights = dequantised(bundle.read_weights())
    windows = _windows(trained, rows[:CHECKED]) or _made_up(trained)
    ranges = measure_read_ranges(trained, windows)
    trial = Trial.scored(
        bundle,
        "f1",
        len(rows),
        difference=lambda exported: _difference(trained, exported, windows),
        score=lambda exported: _score(exported, rows),
    )

    def graphs(arranged: Weights) -> list[Graph]:
        settings = config.model["config"]
        return [make(arranged, settings, ranges) for make in (encode_graph, read_graph)]

    smaller = [quantise_reader(weights)] if int8 else []
    plain, *others = (Form.around(bundle, config, each, graphs) for each in (weights, *smaller))
    return trial.run(output, plain, others, limit)


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
    around = without_inner(weights)
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
    watched = [
        WatchedModule("inputs", model.encoder, _numbers),
        WatchedModule("states", model.meeting, _numbers),
        WatchedModule("aware", model.modelling[0], _numbers),
        *(WatchedModule("embedded", layer, _numbers) for layer in model.highways),
    ]
    return measure_ranges(ReadRanges, watched, lambda: reader.backend.scores(windows))


def _numbers(given: Any) -> Sequence[Tensor]:
    """All of a module's inputs that are no masks or ids."""
    return [each for each in given if isinstance(each, Tensor) and each.is_floating_point()]


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
    return softmax(np.stack([scores.start, scores.end]))


def _score(exported: Path, rows: Sequence[AskedQuestion]) -> float:
    reader = load_reader(exported, backend="onnx")
    return float(evaluate_reader(reader, rows).report()["f1"])

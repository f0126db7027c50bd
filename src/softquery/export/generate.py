"""Export a generator: two graphs, checked against torch token by token, int8 behind a gate.

int8 is accepted only where it costs little: in BLEU, or for couplets, and where no BLEU is
measured, in perplexity. Where multiplying as int8 costs more, int8 is tried as a way of storing
alone; where that does, float32 is kept. The report says what happened.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import Bundle, BundleConfig
from softquery.decoding import Greedy, likelihood
from softquery.errors import BundleError, ConfigError
from softquery.export.accuracy_gate import ExportReport, per_cent_grown
from softquery.export.graph import seq2seq, transformer
from softquery.export.graph.builder import Graph
from softquery.export.quantise import quantise
from softquery.export.ranges import as_limits, watched_sessions
from softquery.export.trial import Form, Trial, completed, entry_of
from softquery.files import Row
from softquery.measure import corpus_bleu, require_sacrebleu
from softquery.runtime.generate.decoder_weights import generator_weights
from softquery.runtime.generate.model import Generator, load_generator
from softquery.runtime.generate.onnx import OnnxStep, padded_sources
from softquery.runtime.generate.request import GenerateRequest
from softquery.runtime.graph_weights import Weights, dequantised
from softquery.runtime.torch_models import config_of, load_task_model

TOLERANCE = 1e-3
"""How far the log-likelihood of a text, in nats per token, may lie from torch's."""
NUM_CHECKED = 16
COMPARED = 32
"""Tokens of an answer that both are compared on."""
NUM_WATCHED = 256
"""Rows by which the ranges of int8 are measured."""
LIMITS = {"bleu": 0.3, "perplexity": 0.5}
"""What int8 may cost by default: points of BLEU, per cent of perplexity."""


def export_generator(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float | None = None,
    rows: Sequence[Row] = (),
) -> ExportReport:
    """Write an exported generator, whole or not at all.

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
    make = entry_of(bundle, SYSTEMS)
    config = completed(bundle, config_of(load_task_model(bundle)))
    weights = dequantised(bundle.read_weights())
    trained = load_generator(bundle, backend="torch", device="cpu")
    scored = Trial.scored(
        bundle,
        metric,
        len(rows),
        difference=lambda exported: _difference(trained, load_generator(exported, backend="onnx")),
        score=lambda exported: _score(exported, rows, metric),
        cost=_points if metric == "bleu" else per_cent_grown,
    )
    trial = replace(scored, tolerance=TOLERANCE, unit=" nats per token", judged_on="text")

    def form(stored: Weights, limits: Mapping[str, float]) -> Form:
        used = stored if limits else dequantised(stored)
        return Form(
            config=config,
            weights=dict(stored),
            graphs=lambda: make(config.model["config"], used, limits),
            arithmetic="int8" if limits else "float32",
        )

    smaller = []
    if int8:
        small = quantise(weights)
        limits = _limits(make, config.model["config"], weights, trained, rows[:NUM_WATCHED])
        smaller = [form(small, limits), form(small, {})]
    return trial.run(output, form(weights, {}), smaller, allowed)


def _seq2seq_graphs(
    settings: dict[str, Any], weights: Weights, limits: Mapping[str, float]
) -> list[Graph]:
    encode, step = _empty_graphs(settings, weights, limits)
    seq2seq.encode_graph(encode, settings)
    seq2seq.step_graph(step, settings)
    return [encode, step]


def _transformer_graphs(
    settings: dict[str, Any], weights: Weights, limits: Mapping[str, float]
) -> list[Graph]:
    encode, step = _empty_graphs(settings, weights, limits)
    transformer.encode_graph(encode, settings)
    transformer.step_graph(step, settings)
    return [encode, step]


def _empty_graphs(
    settings: dict[str, Any], weights: Weights, limits: Mapping[str, float]
) -> list[Graph]:
    arranged = generator_weights(weights, settings)
    return [Graph(each, arranged, limits=limits) for each in ("encode", "step")]


MakeGraphs = Callable[[dict[str, Any], Weights, Mapping[str, float]], list[Graph]]
"""From settings, weights as they are stored, and the largest value that each int8 layer reads."""
SYSTEMS: dict[str, MakeGraphs] = {
    "seq2seq": _seq2seq_graphs,
    "transformer": _transformer_graphs,
}
"""The graphs of every generator, by its name."""


def _metric(config: BundleConfig) -> str:
    is_bleu = config.task.get("form", "free") == "free" and config.task.get("bleu") != "none"
    return "bleu" if is_bleu else "perplexity"


def _limits(
    make: MakeGraphs,
    settings: dict[str, Any],
    weights: Weights,
    trained: Generator,
    rows: Sequence[Row],
) -> dict[str, float]:
    """The largest absolute value that each linear layer reads while targets are said.

    Rows are read one by one, because padding is no input.
    """
    sources, targets = (
        pipeline.encode_ids([row.values[side] for row in rows])
        for side, pipeline in (("source", trained.source_pipeline), ("target", trained.pipeline))
    )
    graphs, arranged = make(settings, weights, {}), generator_weights(weights, settings)
    with watched_sessions(graphs, arranged) as ((encode, step), found):
        whole = OnnxStep(encode, step, trained.pipeline.vocab_size)
        for source, target in zip(sources, targets, strict=True):
            likelihood(whole, whole.begin(*padded_sources([source])), [list(target)[1:-1]])
        return as_limits(found)


def _difference(trained: Generator, exported: Generator) -> float:
    """The largest difference in log-likelihood, in nats per token, on what torch says greedily."""
    texts = _made_up(trained)
    longest = min(COMPARED, trained.backend.max_length or COMPARED)
    # The rules of couplets say how long a line is.
    request = GenerateRequest(strategy=Greedy(), max_length=None if trained.is_couplet else longest)
    found = trained.generate(texts, request)
    answers = [each[0].text if each else "" for each in found]
    ours, counts = exported.log_likelihoods(texts, answers)
    theirs, _ = trained.log_likelihoods(texts, answers)
    return float((np.abs(ours - theirs) / counts).max())


def _made_up(generator: Generator) -> list[str]:
    """Texts of the model's own entries, each as long as its number says."""
    entries = [entry for entry in generator.source_pipeline.vocabulary()[4:] if entry.strip("▁ ")]
    rng = np.random.default_rng(0)
    return [
        " ".join(entries[place].strip("▁") for place in rng.integers(len(entries), size=size))
        for size in range(1, NUM_CHECKED + 1)
    ]


def _points(before: float, after: float) -> float:
    return before - after


def _score(exported: Path, rows: Sequence[Row], metric: str) -> float:
    measured = _bleu if metric == "bleu" else _perplexity
    return measured(load_generator(exported, backend="onnx"), rows)


def _bleu(generator: Generator, rows: Sequence[Row]) -> float:
    """By the search that `softquery generate` makes."""
    require_sacrebleu()
    found = generator.generate([row.values["source"] for row in rows])
    texts = [each[0].text if each else "" for each in found]
    targets = [row.values["target"] for row in rows]
    return corpus_bleu(texts, targets, tokens=generator.task.get("bleu", "13a"))


def _perplexity(generator: Generator, rows: Sequence[Row]) -> float:
    sides = ([row.values[side] for row in rows] for side in ("source", "target"))
    found, counts = generator.log_likelihoods(*sides)
    return math.exp(min(-float(found.sum() / counts.sum()), 700.0))

"""Export a tagging bundle: write its graphs, check them against torch, quantise.

int8 is accepted only inside the gate: where it costs more F1, or accuracy where tags stand for no
spans, than allowed, float32 is kept and the report says so.
"""

import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from softquery.bundle import RECORDS, Bundle, BundleConfig, write_bundle
from softquery.errors import BundleError, ConfigError
from softquery.export.embedder import bilm_graphs
from softquery.export.gate import ExportReport, Gate
from softquery.export.quantise import quantise
from softquery.export.tagger import TagRanges, spell_graph, tag_graph
from softquery.files import TaggedSentence
from softquery.models import Tagger as TaggerModel
from softquery.runtime.bilm_sizes import BiLmSizes
from softquery.runtime.nested_context import without_bilm
from softquery.runtime.network import config_of
from softquery.runtime.onnx_session import USED
from softquery.runtime.sentence_reading import PREFIX
from softquery.runtime.tag_evaluation import evaluate_tags
from softquery.runtime.tagger import Tagger, load_tagger
from softquery.runtime.torch_texts import TorchTagBackend
from softquery.runtime.weights import arrange, dequantised
from softquery.runtime.words_in_context import is_nested, sizes_of

Weights = dict[str, NDArray[Any]]
TOLERANCE = 1e-4
"""How far the probability of a tag may lie from torch's in a float32 graph."""
CHECKED = 256
"""Sentences on which the graphs are compared with torch."""


def export_tagger(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    rows: Sequence[TaggedSentence] = (),
) -> ExportReport:
    """Write an exported bundle, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Points of F1, or of accuracy for plain tags, that int8 may cost.
        rows: Tagged sentences; the gate needs them, and the check uses them.
    """
    if bundle.config.kind != "tagger":
        raise BundleError(f"{bundle.path}: expected a tagger, found kind {bundle.config.kind!r}")
    if int8 and not rows:
        raise ConfigError("int8 needs tagged sentences for its gate; name a file with --data")
    if not math.isfinite(limit):
        raise ConfigError(f"the gate must be a finite number of points, got {limit}")
    trained = load_tagger(bundle.path, backend="torch", device="cpu")
    config = _complete(bundle, _model(trained))
    weights = dequantised(bundle.read_weights())
    sentences = [row.tokens for row in rows[:CHECKED]] or _made_up(trained)
    ranges = measure_tag_ranges(trained, sentences)
    gate, small = None, quantise_tagger(weights) if int8 else weights
    with tempfile.TemporaryDirectory() as scratch:
        plain = _write(bundle, Path(scratch) / "float32", config, weights, ranges)
        difference = _difference(trained, plain, sentences)
        if int8:
            tried = _write(bundle, Path(scratch) / "int8", config, small, ranges)
            gate = _gate(plain, tried, rows, limit)
    accepted = gate is not None and gate.accepted
    precision = "int8" if accepted else "float32"
    note: dict[str, Any] = {"precision": precision, "difference_from_torch": difference}
    note |= {"gate": asdict(gate)} if gate is not None else {}
    target = _write(
        bundle, output, config, small if accepted else weights, ranges, {"export": note}
    )
    return ExportReport(
        bundle=target,
        precision=precision,
        difference=difference,
        gate=gate,
        size_bytes=sum(path.stat().st_size for path in target.rglob("*") if path.is_file()),
    )


def quantise_tagger(weights: Weights) -> Weights:
    """The table of words, the LSTMs, the last layer and a biLM inside as int8.

    The rest is small, or no matrix.
    """
    large = {
        name: values
        for name, values in weights.items()
        if name.endswith("table.weight") or name.startswith(("output.", "layers.", PREFIX))
        if not name.startswith("spelling.")
    }
    return {**weights, **quantise(large)}


def measure_tag_ranges(tagger: Tagger, sentences: Sequence[Sequence[str]]) -> TagRanges:
    """Watch a torch model tag these sentences."""
    model = _model(tagger)
    watched = {"embedded": model.layers[0], "states": model.output}
    with _watching(watched) as found:
        tagger.backend.scores(sentences)
    return TagRanges(**{name: value or 1.0 for name, value in found.items()})


@contextmanager
def _watching(watched: Mapping[str, nn.Module]) -> Iterator[dict[str, float]]:
    """The largest absolute value that each module was given."""
    found = dict.fromkeys(watched, 0.0)

    def hook(name: str) -> Any:
        def look(module: nn.Module, inputs: Any) -> None:
            found[name] = max(found[name], float(inputs[0].abs().max()))

        return look

    handles = [each.register_forward_pre_hook(hook(name)) for name, each in watched.items()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def tagger_graphs(
    settings: dict[str, Any],
    weights: Weights,
    ranges: TagRanges,
    inside: BiLmSizes | None = None,
) -> dict[str, bytes]:
    """The files of `onnx/`.

    Args:
        settings: Of the model, complete.
        weights: As stored.
        ranges: What int8 has to hold.
        inside: The sizes of the biLM inside, where its weights are stored along.
    """
    arranged = arrange(without_bilm(weights))
    graphs = [tag_graph(arranged, settings, ranges)]
    spelling = settings["spelling"]
    if spelling["kind"] != "none":
        graphs.append(spell_graph(arranged, spelling["kind"], spelling["max_characters"]))
    if inside is not None:
        graphs += bilm_graphs(dequantised(weights), inside, PREFIX)
    files = {f"{graph.name}.onnx": graph.to_bytes() for graph in graphs}
    used = {graph.name: sorted(graph.used) for graph in graphs}
    return {**files, USED: (json.dumps(used, indent=1) + "\n").encode()}


def _model(tagger: Tagger) -> TaggerModel:
    backend = tagger.backend
    if not isinstance(backend, TorchTagBackend):
        raise TypeError(f"expected a tagger on torch, got one on {backend.name}")
    return backend.model


def _complete(bundle: Bundle, model: nn.Module) -> BundleConfig:
    """The config with every setting of the model."""
    return replace(bundle.config, model={**bundle.config.model, "config": config_of(model)})


def _write(
    bundle: Bundle,
    output: Path,
    config: BundleConfig,
    weights: Weights,
    ranges: TagRanges,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    records = bundle.path / RECORDS
    inside = None if bundle.config.base or not is_nested(bundle) else sizes_of(bundle)
    return write_bundle(
        output,
        config=config,
        tokenizer_json=bundle.tokenizer_path.read_text(encoding="utf-8"),
        weights=weights,
        metrics={**bundle.metrics, **(notes or {})},
        card=bundle.card,
        graphs=tagger_graphs(config.model["config"], weights, ranges, inside),
        records=records if records.is_dir() else None,
        replace=output.exists(),
    )


def _difference(theirs: Tagger, exported: Path, sentences: Sequence[Sequence[str]]) -> float:
    """The largest difference in a tag's probability between torch and the graphs."""
    ours = load_tagger(exported, backend="onnx")
    pairs = zip(ours.backend.scores(sentences)[0], theirs.backend.scores(sentences)[0], strict=True)
    worst = max(float(np.abs(_shares(one) - _shares(other)).max()) for one, other in pairs)
    if not worst <= TOLERANCE:
        raise BundleError(
            f"{theirs.bundle.path}: the exported graphs differ from torch by {worst:.1e}"
        )
    return worst


def _shares(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    shares: NDArray[np.float32] = raised / raised.sum(axis=-1, keepdims=True)
    return shares


def _made_up(tagger: Tagger) -> list[list[str]]:
    """Sentences of random words, known and unknown, where no data was given."""
    words = [*tagger.pipeline.vocabulary(), "Unheard-of", "naïve", "漢字", "\U0001f44d"]
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 30, 64)
    return [[str(word) for word in generator.choice(words, size)] for size in sizes]


def _gate(plain: Path, small: Path, rows: Sequence[TaggedSentence], limit: float) -> Gate:
    metric = "f1" if load_tagger(plain).tags.has_spans else "accuracy"
    figures = [
        float(evaluate_tags(load_tagger(path, backend="onnx"), rows).report()[metric])
        for path in (plain, small)
    ]
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

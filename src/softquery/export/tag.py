"""Export a tagging bundle: write its graphs, check them against torch, quantise.

int8 is accepted only inside the gate: where it costs more F1, or accuracy where tags stand for no
spans, than allowed, float32 is kept and the report says so.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph.builder import Graph
from softquery.export.graph.tagger import TagRanges, spell_graph, tag_graph
from softquery.export.quantise import quantise
from softquery.export.ranges import WatchedModule, measure_ranges
from softquery.export.trial import Form, Trial, Weights, check_wish, completed
from softquery.files import TaggedSentence
from softquery.models import BiLstmTagger
from softquery.numpy_softmax import softmax
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.inner_weights import PREFIX, PROJECTIONS
from softquery.runtime.tag.backend import is_word_head
from softquery.runtime.tag.evaluate import evaluate_tagger
from softquery.runtime.tag.model import Tagger, load_tagger
from softquery.runtime.tag.torch import TorchTagBackend
from softquery.runtime.torch_models import config_of

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
    """Write an exported tagger; the arguments are those of `export_matcher`.

    `limit` is in points of F1, or of accuracy for plain tags, and `rows` are tagged sentences.
    """
    if is_word_head(bundle):
        raise BundleError(
            f"{bundle.path}: a head on a shipped model has no graphs of its own to export; it runs "
            "without torch wherever that model does"
        )
    if int8 and not rows:
        raise ConfigError("int8 needs tagged sentences for its gate; name a file with --data")
    check_wish(bundle, "tagger", int8=int8, limit=limit, rows=rows)
    trained = load_tagger(bundle.path, backend="torch", device="cpu")
    config = completed(bundle, config_of(_model(trained)))
    weights = dequantised(bundle.read_weights())
    sentences = [row.tokens for row in rows[:CHECKED]] or _made_up(trained)
    ranges = measure_tag_ranges(trained, sentences)
    metric = "f1" if trained.tags.has_spans else "accuracy"
    trial = Trial.scored(
        bundle,
        metric,
        len(rows),
        difference=lambda exported: _difference(trained, exported, sentences),
        score=lambda exported: _score(exported, rows, metric),
    )

    def form(some: Weights) -> Form:
        settings = config.model["config"]
        return Form.around(bundle, config, some, lambda each: _graphs(each, settings, ranges))

    smaller = [form(quantise_tagger(weights))] if int8 else []
    return trial.run(output, form(weights), smaller, limit)


def quantise_tagger(weights: Weights) -> Weights:
    """The table of words, the LSTMs, the last layer, a biLM inside and its projections as int8.

    The rest is small, or no matrix.
    """
    large = {
        name: values
        for name, values in weights.items()
        if name.endswith("table.weight")
        or name.startswith(("output.", "layers.", PREFIX, PROJECTIONS))
        if not name.startswith("spelling.")
    }
    return {**weights, **quantise(large)}


def measure_tag_ranges(tagger: Tagger, sentences: Sequence[Sequence[str]]) -> TagRanges:
    """Watch a torch model tag these sentences."""
    model = _model(tagger)
    watched = [
        WatchedModule("embedded", model.layers[0]),
        WatchedModule("states", model.output),
    ]
    return measure_ranges(TagRanges, watched, lambda: tagger.backend.scores(sentences))


def _model(tagger: Tagger) -> BiLstmTagger:
    backend = tagger.backend
    if not isinstance(backend, TorchTagBackend):
        raise TypeError(f"expected a tagger on torch, got one on {backend.name}")
    return backend.model


def _graphs(arranged: Weights, settings: dict[str, Any], ranges: TagRanges) -> list[Graph]:
    graphs, spelling = [tag_graph(arranged, settings, ranges)], settings["spelling"]
    if spelling["kind"] != "none":
        graphs.append(spell_graph(arranged, spelling["kind"], spelling["max_characters"]))
    return graphs


def _difference(theirs: Tagger, exported: Path, sentences: Sequence[Sequence[str]]) -> float:
    """The largest difference in a tag's probability between torch and the graphs."""
    ours = load_tagger(exported, backend="onnx")
    pairs = zip(ours.backend.scores(sentences)[0], theirs.backend.scores(sentences)[0], strict=True)
    return max(float(np.abs(softmax(one) - softmax(other)).max()) for one, other in pairs)


def _made_up(tagger: Tagger) -> list[list[str]]:
    """Sentences of random words, known and unknown, where no data was given."""
    words = [*tagger.pipeline.vocabulary(), "Unheard-of", "naïve", "漢字", "\U0001f44d"]
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 30, 64)
    return [[str(word) for word in generator.choice(words, size)] for size in sizes]


def _score(exported: Path, rows: Sequence[TaggedSentence], metric: str) -> float:
    report = evaluate_tagger(load_tagger(exported, backend="onnx"), rows).report()
    return float(report[metric])

"""Export a matching bundle: fold, write its graphs, check them against torch, quantise."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softquery.bundle import Bundle, BundleConfig
from softquery.errors import ConfigError
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph import esim, siamese
from softquery.export.graph.builder import Graph
from softquery.export.match_ranges import Ranges, measure_ranges
from softquery.export.quantise import quantise
from softquery.export.trial import CHECKED, Trial, Weights, check_wish
from softquery.files import Row
from softquery.runtime.embed.word_layers import is_nested
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.reads import NESTED
from softquery.runtime.inner.sentences import check_spelling
from softquery.runtime.match.evaluate import evaluate_matcher
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.runtime.torch_models import config_of, load_model

UNHEARD_OF = ["Unheard-of", "naïve", "漢字", "\U0001f44d"]
"""Words that no table holds, for models that spell them."""


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
    check_wish(bundle, "matcher", int8=int8, limit=limit, rows=rows)
    check_spelling(bundle)
    config, weights = _folded(_complete(bundle), dequantised(bundle.read_weights()))
    trained = load_matcher(bundle.path, backend="torch")
    pairs = _pairs(rows[:CHECKED]) or _made_up_pairs(trained)
    ranges = measure_ranges(trained, pairs)
    metric = "spearman" if trained.is_graded else "accuracy"
    trial = Trial(
        bundle=bundle,
        config=config,
        graphs=lambda arranged: _graphs(config, arranged, ranges),
        difference=lambda exported: _difference(trained, exported, pairs),
        score=lambda exported: _score(exported, rows, metric),
        metric=metric,
        num_rows=len(rows),
    )
    is_lstm = config.model["config"]["cell"] == "lstm"
    return trial.run(output, weights, quantise(weights, recurrent=is_lstm) if int8 else None, limit)


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
    places = settings.get(NESTED, {}).get("settings", {}).get("places", ())
    if config.model["name"] == "esim":
        return [esim.encode_graph(arranged, ranges, places), esim.compare_graph(arranged, ranges)]
    return [
        siamese.encode_graph(arranged, settings["pooling"], ranges, places),
        siamese.compare_graph(arranged, settings["head"], settings["output_size"], ranges),
    ]


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _difference(theirs: Matcher, exported: Path, pairs: Sequence[tuple[str, str]]) -> float:
    """The largest difference in probability between torch and the graphs."""
    ours = load_matcher(exported, backend="onnx")
    return float(np.abs(theirs.probabilities(pairs) - ours.probabilities(pairs)).max())


def _made_up_pairs(matcher: Matcher) -> list[tuple[str, str]]:
    """Pairs of random words of the vocabulary, where no data was given."""
    words = matcher.pipeline.vocabulary()
    words += UNHEARD_OF if is_nested(matcher.bundle) else []
    generator = np.random.default_rng(0)
    sides = [
        [" ".join(generator.choice(words, size)) for size in generator.integers(1, 30, 64)]
        for _ in range(2)
    ]
    return list(zip(*sides, strict=True))


def _score(exported: Path, rows: Sequence[Row], metric: str) -> float:
    report = evaluate_matcher(load_matcher(exported, backend="onnx"), rows).report()
    return float(report[metric] or 0.0)

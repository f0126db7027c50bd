"""Export a matcher: write its graphs, check them against torch, quantise behind the gate."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.export.accuracy_gate import ExportReport
from softquery.export.graph import decomposable, esim, siamese
from softquery.export.graph.blocks import MatchRanges
from softquery.export.graph.builder import Graph
from softquery.export.quantise import quantise
from softquery.export.ranges import WatchedModule, measure_ranges
from softquery.export.trial import CHECKED, Form, Trial, Weights, check_wish, completed, entry_of
from softquery.files import Row
from softquery.models.esim import part_sizes
from softquery.nn import Composer, Embedded, WindowComposer
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.inner.inner_weights import check_spelling, has_inner, inner_places
from softquery.runtime.match.backend import is_pair_head
from softquery.runtime.match.evaluate import evaluate_matcher
from softquery.runtime.match.model import Matcher, Pair, load_matcher
from softquery.runtime.match.torch import TorchMatchBackend
from softquery.runtime.torch_models import config_of, load_matcher_model

UNHEARD_OF = ["Unheard-of", "naïve", "漢字", "\U0001f44d"]
"""Words that no table holds, for models that spell them."""
Settings = dict[str, Any]


def export_matcher(
    bundle: Bundle,
    output: Path,
    *,
    int8: bool = False,
    limit: float = 0.5,
    rows: Sequence[Row] = (),
) -> ExportReport:
    """Write an exported matcher, whole or not at all.

    Args:
        bundle: What was trained.
        output: Where it goes; the bundle's own folder is replaced.
        int8: Try int8.
        limit: Points of accuracy (of correlation times 100, for grades) that int8 may cost.
        rows: Labelled rows; the gate needs them, and the check uses them.
    """
    if is_pair_head(bundle):
        raise BundleError(
            f"{bundle.path}: a head on pairs has no graphs of its own to export; it runs without "
            "torch wherever its matcher and its encoder do"
        )
    check_wish(bundle, "matcher", int8=int8, limit=limit, rows=rows)
    check_spelling(bundle)
    system = entry_of(bundle, SYSTEMS)
    settings, weights = system.folded(
        config_of(load_matcher_model(bundle)), dequantised(bundle.read_weights())
    )
    config = completed(bundle, settings)
    trained = load_matcher(bundle.path, backend="torch")
    pairs = _pairs(rows[:CHECKED]) or _made_up_pairs(trained)
    ranges = measure_match_ranges(trained, pairs)
    metric = "spearman" if trained.is_graded else "accuracy"
    trial = Trial.scored(
        bundle,
        metric,
        len(rows),
        difference=lambda exported: _difference(trained, exported, pairs),
        score=lambda exported: _score(exported, rows, metric),
    )

    def form(some: Weights) -> Form:
        return Form.around(bundle, config, some, lambda each: system.graphs(each, settings, ranges))

    smaller = [form(quantise(weights))] if int8 else []
    return trial.run(output, form(weights), smaller, limit)


def measure_match_ranges(matcher: Matcher, pairs: Sequence[Pair]) -> Any:
    """Watch a torch model answer these pairs."""
    backend = matcher.backend
    if not isinstance(backend, TorchMatchBackend):
        raise TypeError(f"ranges are measured in torch, got a matcher on {backend.name}")
    system = entry_of(matcher.bundle, SYSTEMS)
    return measure_ranges(
        system.ranges, system.watched(backend.model), lambda: matcher.logits(pairs)
    )


def _folded_esim(settings: Settings, weights: Weights) -> tuple[Settings, Weights]:
    """ESIM with its projection folded is still an ESIM, of fewer parts."""
    parts = tuple(settings["parts"])
    if parts == ("own",):
        raise ConfigError("an ESIM without alignment (parts = own) is not exported")
    product_size, width = weights.get(f"{esim.ALIGNMENT}.weight", np.empty((0, 0))).shape
    folded = esim.fold_projection(
        weights["project.0.weight"], parts, width=width, product_size=product_size
    ).astype(np.float32)
    return {**settings, "parts": list(esim.FOLDED)}, {**weights, "project.0.weight": folded}


def _watched_esim(model: Any) -> list[WatchedModule]:
    parts, watched = model.config.parts, [WatchedModule("embedded", model.encoder)]
    width = model.encoder.output_size + model.embedder.added_size
    sizes = part_sizes(model.config, width)
    for name, part in (("states", "own"), ("product", "product")):
        if part in parts:
            chosen = _part(parts.index(part), sizes)
            watched.append(WatchedModule(name, model.project, chosen))
    if "own" not in parts:
        watched.append(WatchedModule("states", model.embedder, _beside_states, "output"))
    return [
        *watched,
        *_watched_composer(model.composer),
        WatchedModule("pooled", model.classifier),
    ]


def _watched_composer(composer: Composer) -> list[WatchedModule]:
    """The composer as a whole, or its layers where it has no recurrence."""
    if isinstance(composer, WindowComposer):
        names = ("local", "composed")
        return [WatchedModule(*each) for each in zip(names, composer.layers, strict=True)]
    return [WatchedModule("local", composer)]


def _part(place: int, sizes: list[int]) -> Callable[[Any], Sequence[Tensor]]:
    """One of the parts of these sizes that stand side by side in a module's first input."""
    return lambda given: (given[0].split(sizes, dim=-1)[place],)


def _beside_states(output: Any) -> Sequence[Tensor]:
    """What an embedder lays beside states, which themselves reach 1."""
    if not isinstance(output, Embedded) or output.at_output is None:
        return ()
    return torch.ones(1), output.at_output


def _esim_graphs(weights: Weights, settings: Settings, ranges: MatchRanges) -> list[Graph]:
    encode = esim.encode_graph(weights, ranges, inner_places(settings))
    return [encode, esim.compare_graph(weights, ranges)]


def _watched_linear(model: Any) -> list[WatchedModule]:
    """Every linear layer, by its name."""
    layers = [(name, part) for name, part in model.named_modules() if isinstance(part, nn.Linear)]
    return [WatchedModule(name, layer) for name, layer in layers]


def _decomposable_graphs(
    weights: Weights, settings: Settings, limits: dict[str, float]
) -> list[Graph]:
    places = inner_places(settings)
    return [
        decomposable.encode_graph(weights, limits, settings["max_distance"], places),
        decomposable.compare_graph(weights, limits),
    ]


def _watched_siamese(model: Any) -> list[WatchedModule]:
    return [WatchedModule("embedded", model.encoder), WatchedModule("pooled", model.head)]


def _siamese_graphs(weights: Weights, settings: Settings, ranges: MatchRanges) -> list[Graph]:
    places = inner_places(settings)
    return [
        siamese.encode_graph(weights, settings["pooling"], ranges, places),
        siamese.compare_graph(weights, settings["head"], settings["output_size"], ranges),
    ]


class System(NamedTuple):
    """What is particular to the export of one model."""

    graphs: Callable[[Weights, Settings, Any], list[Graph]]
    watched: Callable[[Any], list[WatchedModule]]
    """The modules of the torch model whose inputs int8 has to hold."""
    folded: Callable[[Settings, Weights], tuple[Settings, Weights]] = lambda *given: given
    """What its graphs are made from, where that is not the trained model as it is."""
    ranges: Callable[..., Any] = MatchRanges
    """What holds the ranges that were measured, by the names of `watched`."""


SYSTEMS = {
    "esim": System(_esim_graphs, _watched_esim, _folded_esim),
    "decomposable": System(_decomposable_graphs, _watched_linear, ranges=dict),
    "siamese": System(_siamese_graphs, _watched_siamese),
}
"""Every matcher that has graphs of its own, by its name."""


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _difference(theirs: Matcher, exported: Path, pairs: Sequence[tuple[str, str]]) -> float:
    """The largest difference in probability between torch and the graphs."""
    ours = load_matcher(exported, backend="onnx")
    return float(np.abs(theirs.probabilities(pairs) - ours.probabilities(pairs)).max())


def _made_up_pairs(matcher: Matcher) -> list[tuple[str, str]]:
    """Pairs of random words of the vocabulary, where no data was given."""
    words = matcher.pipeline.vocabulary()
    words += UNHEARD_OF if has_inner(matcher.bundle) else []
    generator = np.random.default_rng(0)
    sides = [
        [" ".join(generator.choice(words, size)) for size in generator.integers(1, 30, 64)]
        for _ in range(2)
    ]
    return list(zip(*sides, strict=True))


def _score(exported: Path, rows: Sequence[Row], metric: str) -> float:
    report = evaluate_matcher(load_matcher(exported, backend="onnx"), rows).report()
    return float(report[metric] or 0.0)

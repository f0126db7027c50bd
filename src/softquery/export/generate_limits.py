"""How large the values are that a generator's matrices read, measured once, at export.

int8 with fixed ranges gives a text the same answer in any batch, as in
`softquery.export.match_ranges`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto

from softquery.decoding import likelihood
from softquery.export.graph.builder import Graph
from softquery.runtime.generate.decoder_weights import writing_weights
from softquery.runtime.generate.model import Ids
from softquery.runtime.generate.onnx import OnnxStep, padded_sources
from softquery.runtime.onnx_session import open_session

WATCHED = "watched."
"""What stands before the names of values that are shown to be measured."""


def watch(graph: Graph) -> None:
    """Let a graph show what its linear layers read."""
    for name, value in graph.read.items():
        graph.output(value, f"{WATCHED}{name}", TensorProto.FLOAT, None)


def measure_limits(
    folder: Path,
    weights: Mapping[str, Any],
    config: Mapping[str, Any],
    vocab_size: int,
    sources: Ids,
    targets: Ids,
) -> dict[str, float]:
    """The largest absolute value that each linear layer read while targets were said.

    Args:
        folder: A bundle whose graphs are watched.
        weights: In float32.
        config: The model's settings.
        vocab_size: V.
        sources: Ids with both ends, read one by one: padding is no input.
        targets: Likewise.
    """
    arranged = writing_weights(weights, config)
    found: dict[str, float] = {}
    sessions = [
        WatchedSession(open_session(folder, each, arranged), found) for each in ("encode", "step")
    ]
    step = OnnxStep(sessions[0], sessions[1], vocab_size)
    for source, target in zip(sources, targets, strict=True):
        likelihood(step, step.begin(*padded_sources([source])), [list(target)[1:-1]])
    return {name: value or 1.0 for name, value in found.items()}


class WatchedSession:
    """A session over a watched graph that hides what is shown, and keeps the largest of it.

    Args:
        session: Over the graph.
        found: Where to keep it, by the names of the layers.
    """

    def __init__(self, session: onnxruntime.InferenceSession, found: dict[str, float]) -> None:
        self.session, self.found = session, found
        self.shown = [o.name for o in session.get_outputs() if o.name.startswith(WATCHED)]

    def get_inputs(self) -> Sequence[Any]:
        """Those of the graph."""
        inputs: Sequence[Any] = self.session.get_inputs()
        return inputs

    def get_outputs(self) -> Sequence[Any]:
        """Those of the graph, without what is watched."""
        return [each for each in self.session.get_outputs() if each.name not in self.shown]

    def run(self, names: Sequence[str], given: Mapping[str, Any]) -> Sequence[Any]:
        """Compute, and look."""
        values = self.session.run([*names, *self.shown], given)
        for shown, value in zip(self.shown, values[len(names) :], strict=True):
            name = shown.removeprefix(WATCHED)
            self.found[name] = max(self.found.get(name, 0.0), float(np.abs(value).max(initial=0.0)))
        return list(values[: len(names)])

"""How large the values are that int8 has to hold, measured once, when a model is exported.

ONNX Runtime would measure them in every batch, so that an answer moved with the batch it is
computed in. With fixed ranges it does not (see `softquery.runtime.graph_weights`). They are taken
from modules of a torch model, or from graphs in float32 that show what their linear layers read.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto
from torch import Tensor, nn

from softquery.export.graph.builder import Graph, graph_files
from softquery.runtime.graphs import FOLDER, GraphSession, open_session

SHOWN = "watched."
"""What stands before the names of values that a graph shows to be measured."""
Ranges = TypeVar("Ranges")


def first_input(given: Any) -> Sequence[Tensor]:
    """The first of a module's inputs."""
    return (given[0],)


class WatchedModule(NamedTuple):
    """A module of which something is measured."""

    name: str
    """Of the range."""
    module: nn.Module
    part: Callable[[Any], Sequence[Tensor]] = first_input
    """Of its inputs, or of its output, what is looked at."""
    of: Literal["inputs", "output"] = "inputs"


@contextmanager
def watching(watched: Iterable[WatchedModule]) -> Iterator[dict[str, float]]:
    """The largest absolute values that modules were given or gave, by the names of the ranges."""
    found: dict[str, float] = {}
    handles = []
    for each in watched:
        found.setdefault(each.name, 0.0)
        if each.of == "inputs":
            handles.append(each.module.register_forward_pre_hook(_look(each, found)))
        else:
            handles.append(each.module.register_forward_hook(_look(each, found)))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _look(watched: WatchedModule, found: dict[str, float]) -> Callable[..., None]:
    def hook(module: nn.Module, *given: Any) -> None:
        parts = watched.part(given[-1])  # inputs come alone, an output behind them
        sizes = [float(part.abs().max()) for part in parts]
        found[watched.name] = max([found[watched.name], *sizes])

    return hook


def measure_ranges(
    make: Callable[..., Ranges], watched: Iterable[WatchedModule], answer: Callable[[], object]
) -> Ranges:
    """Watch a torch model answer; what stayed 0 may as well be 1.

    Args:
        make: From the ranges by their names.
        watched: What is looked at.
        answer: Lets the model answer.
    """
    with watching(watched) as found:
        answer()
    return make(**{name: value or 1.0 for name, value in found.items()})


@contextmanager
def watched_sessions(
    graphs: Sequence[Graph], weights: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[list["WatchedSession"], dict[str, float]]]:
    """Sessions over graphs, and the largest absolute value that each linear layer has read so far.

    Args:
        graphs: In float32; what their layers read is added to what they give.
        weights: As the graphs take them.
    """
    for graph in graphs:
        for name, value in graph.read.items():
            graph.output(value, f"{SHOWN}{name}", TensorProto.FLOAT, None)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / FOLDER
        folder.mkdir()
        for name, content in graph_files(graphs).items():
            (folder / name).write_bytes(content)
        sessions = [open_session(Path(scratch), graph.name, weights) for graph in graphs]
        yield [WatchedSession(session, found) for session in sessions], found


def as_limits(found: Mapping[str, float]) -> dict[str, float]:
    """The limits of int8 layers from what was found; a layer that read only zeros may have any."""
    return {name: value or 1.0 for name, value in found.items()}


class WatchedSession:
    """A session over a watched graph that hides what is shown, and keeps the largest of it.

    Args:
        session: Over the graph.
        found: Where to keep it, by the names of the layers.
    """

    def __init__(self, session: GraphSession, found: dict[str, float]) -> None:
        self.session, self.found = session, found
        self.shown = [o.name for o in session.get_outputs() if o.name.startswith(SHOWN)]

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
            name = shown.removeprefix(SHOWN)
            self.found[name] = max(self.found.get(name, 0.0), float(np.abs(value).max(initial=0.0)))
        return list(values[: len(names)])

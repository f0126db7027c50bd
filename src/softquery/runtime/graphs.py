"""The graphs of an exported bundle on ONNX Runtime: torch-free, and safe from many threads.

What every task does with its graphs is done here: weights are checked and laid out, sessions opened
over them, batches computed beside each other, and everything is tried out once, so that graphs and
weights that do not belong together are refused, in one line, when a bundle is opened.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.plain_files import read_plain
from softquery.runtime.graph_checks import check_graph
from softquery.runtime.graph_weights import arrange
from softquery.runtime.heap import HEAP
from softquery.runtime.inner.inner_weights import has_inner, without_inner
from softquery.runtime.width_checks import check_widths

FOLDER, USED = "onnx", "weights.json"
"""Where a bundle keeps its graphs, and which weights each of them uses."""
LARGEST_GRAPH = 1 << 22
"""The most bytes of a graph, which holds no weights."""
AWAKE = 50
"""Microseconds that an idle thread waits for the next product before it sleeps."""
WORD_TABLES = {
    "embedder.table.weight": "words",
    "embedder.words.table.weight": "words",
    "encoder.embedding.words.weight": "pieces",
}
"""Where a table of vectors may be (by itself, beside an inner embedder, in a BERT), and of what."""
Arrays = dict[str, NDArray[Any]]
Item = TypeVar("Item")
Result = TypeVar("Result")


class OnnxGraphs:
    """The graphs of a bundle, and the threads that run them.

    Work is cut into batches, and the threads take whole batches. ONNX Runtime's own threads would
    cut each small LSTM step instead, which is slower, and would scale int8 states by thread, so
    that answers depended on the number of threads.

    Args:
        folder: The bundle, with its `onnx/` folder.
        weights: By the name of each graph, as `arrange` lays them out; `GRAPH:NAME` opens a graph
            once more, over other weights.
        threads: How many batches are computed at a time; None for one per core.
        shared: How many threads share one call of a graph, where it is more than one.
    """

    def __init__(
        self,
        folder: Path,
        weights: Mapping[str, Mapping[str, NDArray[Any]]],
        threads: int | None = None,
        shared: Mapping[str, int] | None = None,
    ) -> None:
        self.place = folder / FOLDER
        self.sessions = {
            name: open_session(
                folder, name.split(":")[0], some, threads=(shared or {}).get(name, 1)
            )
            for name, some in weights.items()
        }
        self.threads = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads, "softquery") if self.threads > 1 else None

    @classmethod
    def of(
        cls, bundle: Bundle, names: Collection[str], weights: Arrays, threads: int | None = None
    ) -> "OnnxGraphs":
        """The graphs of these names, all over the same weights."""
        return cls(bundle.path, dict.fromkeys(names, weights), threads)

    @property
    def name(self) -> str:
        """What computes."""
        return "onnx"

    def run(self, graph: str, outputs: Sequence[str], feed: Mapping[str, Any]) -> list[Any]:
        """These outputs of a graph."""
        return self.sessions[graph].run(outputs, feed)

    def inputs(self, graph: str) -> dict[str, Any]:
        """What a graph takes: names, and shapes."""
        return {each.name: each.shape for each in self.sessions[graph].get_inputs()}

    def outputs(self, graph: str) -> set[str]:
        """The names of what a graph gives."""
        return {each.name for each in self.sessions[graph].get_outputs()}

    def beside(self, act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Act on every item, several at a time where there are several."""
        if self._pool is None or len(items) == 1:
            return [act(item) for item in items]
        return list(self._pool.map(act, items))

    def try_out(self, answer: Callable[[], Result]) -> Result:
        """Answer once, so that graphs and weights that do not belong together are found now.

        Raises:
            BundleError: It cannot be computed.
        """
        try:
            return answer()
        except BundleError:
            raise
        except Exception as error:  # numpy raises several kinds where shapes are odd
            raise BundleError(f"{self.place}: cannot be run ({short_reason(error)})") from None

    def check_outputs(self, found: NDArray[Any], num_outputs: object) -> None:
        """Refuse graphs whose answers are not as wide as `config.json` says."""
        if found.shape[-1:] != (num_outputs,):
            raise BundleError(
                f"{self.place}: the graphs give {found.shape[-1]} outputs, "
                f"but config.json says {num_outputs}"
            )


def stored_weights(bundle: Bundle) -> Arrays:
    """A bundle's weights as they lie there; refused where one is not finite, or too wide."""
    stored = bundle.read_weights()
    check_widths(bundle, {name: values.shape for name, values in stored.items()})
    for name, values in stored.items():
        if not np.isfinite(values).all():
            raise BundleError(f"{bundle.weights_path}: {name} holds a number that is not finite")
    return stored


def laid_out(bundle: Bundle, stored: Arrays) -> Arrays:
    """Weights as a bundle's graphs take them, without those of an inner embedder.

    Args:
        bundle: Says what the model is, and how many words it knows.
        stored: What `stored_weights` gave.

    Raises:
        BundleError: They cannot be so laid out, or the table of words has another size.
    """
    model = bundle.config.model
    with fitting_graphs(bundle):
        weights = arrange(without_inner(stored), model["name"])
        tables = [name for name in WORD_TABLES if name in weights]
        if not tables and not has_inner(bundle):  # an inner embedder may stand alone at the input
            raise KeyError(next(iter(WORD_TABLES)))
        if any(weights[name].ndim != 2 for name in tables):
            raise ValueError(f"{tables[0]} is no table")
    expected = reading_settings(model["config"]).get("vocab_size")
    for name in tables:
        if len(weights[name]) != expected:
            raise BundleError(
                f"{bundle.weights_path}: holds vectors of {len(weights[name])} "
                f"{WORD_TABLES[name]}, but config.json says {expected}"
            )
    return weights


def reading_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of what reads a model's input: of the encoder inside it, else its own.

    >>> reading_settings({"encoder": {"vocab_size": 9}}), reading_settings({"vocab_size": 8})
    ({'vocab_size': 9}, {'vocab_size': 8})
    """
    inside = settings.get("encoder")
    return inside if isinstance(inside, dict) else settings


@contextmanager
def fitting_graphs(bundle: Bundle) -> Iterator[None]:
    """Around what takes weights and settings apart: what is missing or has another shape is told.

    Raises:
        BundleError: In place of errors of keys, indices, types and values.
    """
    try:
        yield
    except (KeyError, ValueError, IndexError, TypeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
        raise BundleError(f"{bundle.weights_path}: does not fit the graphs ({reason})") from None


def open_session(
    folder: Path, name: str, weights: Mapping[str, NDArray[Any]], *, threads: int = 1
) -> "GraphSession":
    """A session over a graph file that holds no weights.

    Args:
        folder: The bundle.
        name: The graph, such as `"encode"`.
        weights: As `arrange` lays them out; the session shares their memory.
        threads: That share one call. Mostly one: batches run beside each other instead (see
            `OnnxGraphs`).
    """
    path = folder / FOLDER / f"{name}.onnx"
    used = _used(folder, name, weights)
    content = _read(folder, path)
    options = _options(threads)
    # Without a folder the library would look for undeclared weights in the working directory.
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(path.parent.resolve())
    )
    try:
        check_graph(content, used)
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(weights[each]) for each in used]
        options.add_external_initializers(used, values)
        providers = ["CPUExecutionProvider"]
        return GraphSession(path, onnxruntime.InferenceSession(content, options, providers))
    except Exception as error:  # the library raises several kinds, none of them public
        raise BundleError(f"{path}: cannot be run ({short_reason(error)})") from None


class GraphValue(NamedTuple):
    """What a graph takes or gives; an axis without a size has a name, or None."""

    name: str
    shape: list[Any]


class GraphSession:
    """An open graph.

    Args:
        path: Its file, for errors.
        session: ONNX Runtime's own.
    """

    def __init__(self, path: Path, session: onnxruntime.InferenceSession) -> None:
        self._path, self.session = path, session
        # Taken down now, because a name need not be text.
        self._inputs = [GraphValue(each.name, each.shape) for each in session.get_inputs()]
        self._outputs = [GraphValue(each.name, each.shape) for each in session.get_outputs()]

    def get_inputs(self) -> list[GraphValue]:
        """What the graph takes."""
        return self._inputs

    def get_outputs(self) -> list[GraphValue]:
        """What the graph gives."""
        return self._outputs

    def run(self, names: Sequence[str], feed: Mapping[str, Any]) -> list[Any]:
        """These outputs for these inputs.

        Raises:
            BundleError: The graph fails, as one may that was not exported by softquery.
        """
        try:
            found: list[Any] = self.session.run(list(names), dict(feed))
            HEAP.note(sum(value.nbytes for value in feed.values()))
        except Exception as error:  # the library raises several kinds, none of them public
            raise BundleError(f"{self._path}: cannot be run ({short_reason(error)})") from None
        return found


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # The library would remember a plan of its memory for every shape it has met, for ever, and keep
    # what the largest call ever took.
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = False
    if threads > 1:
        # Asleep between two products, a thread would come too late for the second; awake for
        # longer than that, it would take time from others.
        options.add_session_config_entry("session.intra_op.spin_duration_us", str(AWAKE))
        options.add_session_config_entry("session.force_spinning_stop", "1")
    return options


def short_reason(error: Exception) -> str:
    """What ONNX Runtime says, in one short line."""
    return " ".join(str(error).split())[:300]


def has_graph(bundle: Bundle, name: str) -> bool:
    """Whether a bundle holds a graph of this name."""
    return (bundle.path / FOLDER / f"{name}.onnx").exists()


def used_weights(folder: Path, name: str) -> list[str]:
    """The names of the weights that a graph takes; names alone, never places on the disk.

    Args:
        folder: The bundle.
        name: The graph, such as `"encode"`.
    """
    path = folder / FOLDER / USED
    try:
        table = json.loads(_read(folder, path))
        used = table[name]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise BundleError(f"{path}: expected a JSON object that lists {name}'s weights") from None
    if not isinstance(used, list) or not all(isinstance(each, str) for each in used):
        raise BundleError(f"{path}: expected a list of names for {name}")
    return used


def _used(folder: Path, name: str, weights: Mapping[str, NDArray[Any]]) -> list[str]:
    used = used_weights(folder, name)
    if missing := [each for each in used if each not in weights]:
        place = folder / FOLDER / USED
        raise BundleError(f"{place}: {name} takes {missing[0]!r:.80}, which the bundle lacks")
    return used


def _read(folder: Path, path: Path) -> bytes:
    """A file of the bundle; a link that leads out of it is not followed."""
    try:
        if folder.resolve() not in path.resolve().parents:
            raise BundleError(f"{path}: is a link that leads out of the model folder")
        return read_plain(path, LARGEST_GRAPH)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BundleError(f"{path}: cannot be read ({reason})") from None

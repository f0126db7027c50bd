"""Words in context without torch: which form of the LSTMs is fastest, and what the cache is worth.

    python benchmarks embed forms --output forms.json
    python benchmarks embed cache --text valid.txt.xz --output cache.json

`forms`: ONNX has no LSTM with a projection, so that there are several ways to write one. Both
directions of a two-layer stack run over a batch of sentences of 25 words, each direction on a
thread of its own, the forms in turns within one process; random weights of the published sizes.
Beside wall clock, processor time is compared, on which other work on the machine weighs less.

- `scan`, what the package exports: the inputs' product for all steps, then a Scan;
- `loop`: the same with a Loop;
- `one step a call`: the same product, and a session that is called for each step;
- `numpy`: the same product, the steps in numpy (BLAS);
- `folded`: ONNX's own LSTM, recurrent matrix times projection as one, which is exact without the
  clip of the projection, and much larger; left out at the original size (one gigabyte a stack);
- `torch`: torch.lstm with a projection, without clips, for comparison.

`cache`: running text with the vectors of words kept or every token read anew, in turns, chunk by
chunk; both give the same numbers. The cache has read some text before, as it has in the middle of a
large file. `by kind` reads each distinct word of a chunk once and keeps nothing.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper

from softquery.export import bilm_graphs
from softquery.export.graph.builder import Graph
from softquery.export.graph.elmo import _step, context_graph
from softquery.files import read_texts
from softquery.models import Elmo, SoftmaxConfig
from softquery.models.elmo import presets
from softquery.runtime.embed.bilm_sizes import BiLmSizes
from softquery.runtime.embed.bilm_weights import fitting
from softquery.runtime.embed.onnx import OnnxEmbedBackend
from softquery.runtime.embed.word_layers import WordsInContext
from softquery.runtime.onnx_session import FOLDER, USED, open_session
from softquery.text import TextConfig, pipeline_from_words

STEPS = 25
Array = NDArray[Any]
Weights = dict[str, Array]
Form = Callable[[Array], Array]
"""One direction: [T, B, P] to its highest layer."""


def main() -> None:
    options = parsed()
    torch.set_num_threads(1)
    report = {
        "onnxruntime": onnxruntime.__version__,
        "threads": options.threads,
        "rows": (forms if options.part == "forms" else cache)(options),
    }
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["forms", "cache"])
    known = ["small", "medium", "original"]
    parser.add_argument("--sizes", nargs="+", default=known, choices=known)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--text", type=Path, help="running text, for the cache")
    parser.add_argument("--words", type=int, default=3000, help="words that are timed")
    parser.add_argument("--before", type=int, default=60_000, help="words that were read before")
    parser.add_argument("--lines", type=int, default=64, help="lines of a chunk")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def built(size: str) -> tuple[BiLmSizes, Weights]:
    """Random weights of a published size."""
    torch.manual_seed(1)
    config = replace(presets()[size], softmax=SoftmaxConfig(kind="none"))
    model = Elmo(config).eval()
    stored = {name: value.numpy() for name, value in model.state_dict().items()}
    return BiLmSizes.from_config(asdict(config)), stored


def session(graph: Graph, weights: Weights) -> onnxruntime.InferenceSession:
    """A graph as the package runs it."""
    with tempfile.TemporaryDirectory() as folder:
        write_graphs(Path(folder), [graph])
        return open_session(Path(folder), graph.name, weights)


def write_graphs(folder: Path, graphs: Sequence[Graph]) -> None:
    (folder / FOLDER).mkdir()
    for graph in graphs:
        (folder / FOLDER / f"{graph.name}.onnx").write_bytes(graph.to_bytes())
    used = {graph.name: sorted(graph.used) for graph in graphs}
    (folder / FOLDER / USED).write_text(json.dumps(used))


def starts(sizes: BiLmSizes, batch: int) -> tuple[Array, Array]:
    return tuple(np.zeros((batch, wide), np.float32) for wide in (sizes.width, sizes.hidden_size))


def scan(weights: Weights, sizes: BiLmSizes) -> Form:
    opened = session(context_graph(weights, sizes), weights)

    def run(vectors: Array) -> Array:
        hidden, cell = (
            np.repeat(each[None], sizes.num_layers, 0) for each in starts(sizes, vectors.shape[1])
        )
        is_real = np.ones((*vectors.shape[:2], 1), bool)
        feed = {"vectors": vectors, "is_real": is_real, "hidden": hidden, "cell": cell}
        return opened.run([f"layer_{sizes.num_layers}"], feed)[0]

    return run


def layer_by_layer(
    sizes: BiLmSizes, layers: Sequence[Callable[[Array, Array, Array], Array]]
) -> Form:
    """A stack from functions of its layers."""

    def run(vectors: Array) -> Array:
        for place, layer in enumerate(layers):
            above = layer(vectors, *starts(sizes, vectors.shape[1]))
            vectors = above + vectors if sizes.residual and place else above
        return vectors

    return run


def products(graph: Graph, sizes: BiLmSizes, place: int) -> str:
    vectors = graph.input("vectors", TensorProto.FLOAT, ["steps", "batch", sizes.width])
    product = graph.node("MatMul", vectors, graph.weight(f"{place}.input"))
    return graph.node("Add", product, graph.weight(f"{place}.bias"))


def loop(weights: Weights, sizes: BiLmSizes) -> Form:
    return layer_by_layer(
        sizes, [loop_layer(weights, sizes, place) for place in range(sizes.num_layers)]
    )


def loop_layer(weights: Weights, sizes: BiLmSizes, place: int) -> Callable[..., Array]:
    graph, step = Graph("loop", weights), _step(weights, sizes, place)
    gates = products(graph, sizes, place)
    hidden = graph.input("hidden", TensorProto.FLOAT, ["batch", sizes.width])
    cell = graph.input("cell", TensorProto.FLOAT, ["batch", sizes.hidden_size])
    is_real = graph.input("is_real", TensorProto.BOOL, ["batch", 1])
    count = graph.node("Shape", gates, start=0, end=1)
    count = graph.node("Squeeze", count)
    graph.used |= step.used
    graph.constants |= step.constants
    names = [each.name for each in step.inputs]
    taken = helper.make_node("Gather", [gates, "number"], [names[2]], axis=0)
    same = helper.make_node("Identity", [is_real], [names[3]])
    goes_on = helper.make_node("Identity", ["before"], ["after"])
    flag = helper.make_tensor_value_info("after", TensorProto.BOOL, [])
    inner = helper.make_graph(
        [taken, same, goes_on, *step.nodes],
        "step",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, []),
            helper.make_tensor_value_info("before", TensorProto.BOOL, []),
            *step.inputs[:2],
        ],
        [flag, *step.outputs],
    )
    results = ["last_hidden", "last_cell", "above"]
    graph.nodes.append(helper.make_node("Loop", [count, "", hidden, cell], results, body=inner))
    graph.output("above", "layer", TensorProto.FLOAT, ["steps", "batch", sizes.width])
    opened = session(graph, weights)

    def run(vectors: Array, hidden: Array, cell: Array) -> Array:
        real = np.ones((len(hidden), 1), bool)
        feed = {"vectors": vectors, "hidden": hidden, "cell": cell, "is_real": real}
        return opened.run(["layer"], feed)[0]

    return run


def one_step_a_call(weights: Weights, sizes: BiLmSizes) -> Form:
    return layer_by_layer(
        sizes, [stepping_layer(weights, sizes, place) for place in range(sizes.num_layers)]
    )


def stepping_layer(weights: Weights, sizes: BiLmSizes, place: int) -> Callable[..., Array]:
    ahead = gates_session(weights, sizes, place)
    step = _step(weights, sizes, place)
    opened = session(step, weights)
    names = [each.name for each in step.inputs]
    results = [each.name for each in step.outputs]

    def run(vectors: Array, hidden: Array, cell: Array) -> Array:
        (gates,) = ahead.run(["gates"], {"vectors": vectors})
        above, real = np.empty((*vectors.shape[:2], sizes.width), np.float32), np.ones((1, 1), bool)
        for number, given in enumerate(gates):
            feed = dict(zip(names, (hidden, cell, given, real), strict=True))
            hidden, cell, above[number] = opened.run(results, feed)
        return above

    return run


def gates_session(weights: Weights, sizes: BiLmSizes, place: int) -> Any:
    graph = Graph("gates", weights)
    gates = products(graph, sizes, place)
    graph.output(gates, "gates", TensorProto.FLOAT, ["steps", "batch", 4 * sizes.hidden_size])
    return session(graph, weights)


def in_numpy(weights: Weights, sizes: BiLmSizes) -> Form:
    return layer_by_layer(
        sizes, [numpy_layer(weights, sizes, place) for place in range(sizes.num_layers)]
    )


def numpy_layer(weights: Weights, sizes: BiLmSizes, place: int) -> Callable[..., Array]:
    """sigmoid(x) = (1 + tanh(x / 2)) / 2, so that one tanh serves all four gates."""
    size = sizes.hidden_size
    half = np.repeat(np.float32([0.5, 0.5, 0.5, 1.0]), size)
    names = ("input", "bias", "recurrent")
    scaled = {f"{place}.{name}": weights[f"{place}.{name}"] * half for name in names}
    ahead = gates_session(scaled, sizes, place)
    recurrent, projection = scaled[f"{place}.recurrent"], weights[f"{place}.projection"]

    def run(vectors: Array, hidden: Array, cell: Array) -> Array:
        (gates,) = ahead.run(["gates"], {"vectors": vectors})
        above = np.empty((*vectors.shape[:2], sizes.width), np.float32)
        total, shown = np.empty_like(gates[0]), np.empty_like(cell)
        for number, given in enumerate(gates):
            np.matmul(hidden, recurrent, out=total)
            total += given
            np.tanh(total, out=total)
            open_gates = total[:, : 3 * size]
            open_gates *= 0.5
            open_gates += 0.5
            np.multiply(total[:, :size], total[:, 3 * size :], out=shown)
            cell *= total[:, size : 2 * size]
            cell += shown
            np.clip(cell, -sizes.cell_clip, sizes.cell_clip, out=cell)
            np.tanh(cell, out=shown)
            shown *= total[:, 2 * size : 3 * size]
            hidden = np.matmul(shown, projection, out=above[number])
            np.clip(hidden, -sizes.projection_clip, sizes.projection_clip, out=hidden)
        return above

    return run


def folded(weights: Weights, sizes: BiLmSizes) -> Form | None:
    if sizes.hidden_size > 2048:
        return None
    return layer_by_layer(
        sizes, [folded_layer(weights, sizes, place) for place in range(sizes.num_layers)]
    )


def folded_layer(weights: Weights, sizes: BiLmSizes, place: int) -> Callable[..., Array]:
    """W h = W (P m) = (W P) m: an ordinary LSTM over m, and the projection behind it."""
    projection = weights[f"{place}.projection"]
    matrices = {
        "W": onnx_gates(weights[f"{place}.input"], sizes).T[None],
        "R": onnx_gates(projection @ weights[f"{place}.recurrent"], sizes).T[None],
        "B": np.pad(onnx_gates(weights[f"{place}.bias"], sizes), (0, 4 * sizes.hidden_size))[None],
        "projection": projection,
    }
    arrays = {name: np.ascontiguousarray(values) for name, values in matrices.items()}
    graph = Graph("folded", arrays)
    vectors = graph.input("vectors", TensorProto.FLOAT, ["steps", "batch", sizes.width])
    inputs = [vectors, *(graph.weight(name) for name in "WRB")]
    states = graph.node("LSTM", *inputs, hidden_size=sizes.hidden_size)
    flat = graph.node("Squeeze", states, graph.constant([1], np.int64))
    above = graph.node("MatMul", flat, graph.weight("projection"))
    graph.output(above, "layer", TensorProto.FLOAT, ["steps", "batch", sizes.width])
    opened = session(graph, arrays)
    return lambda vectors, hidden, cell: opened.run(["layer"], {"vectors": vectors})[0]


def onnx_gates(values: Array, sizes: BiLmSizes) -> Array:
    """Input, forget, output, candidate as input, output, forget, candidate."""
    gates = values.reshape(*values.shape[:-1], 4, sizes.hidden_size)
    return gates[..., [0, 2, 1, 3], :].reshape(values.shape)


def in_torch(weights: Weights, sizes: BiLmSizes) -> Form:
    layers = []
    for place in range(sizes.num_layers):
        gates = [weights[f"{place}.{name}"] for name in ("input", "recurrent", "bias")]
        turned = [
            each.reshape(*each.shape[:-1], 4, sizes.hidden_size)[..., [0, 1, 3, 2], :].reshape(
                each.shape
            )
            for each in gates
        ]
        layers.append(torch_layer(turned, weights[f"{place}.projection"]))
    return layer_by_layer(sizes, layers)


def torch_layer(gates: Sequence[Array], projection: Array) -> Callable[..., Array]:
    given, recurrent, bias = (torch.from_numpy(np.ascontiguousarray(each.T)) for each in gates)
    narrow = torch.from_numpy(np.ascontiguousarray(projection.T))
    arrays = [given, recurrent, bias, torch.zeros_like(bias), narrow]

    @torch.inference_mode()
    def run(vectors: Array, hidden: Array, cell: Array) -> Array:
        start = [torch.from_numpy(each)[None] for each in (hidden, cell)]
        states, _, _ = torch.lstm(
            torch.from_numpy(vectors), start, arrays, True, 1, 0.0, False, False, False
        )
        return states.numpy()

    return run


FORMS = {
    "scan": scan,
    "loop": loop,
    "one step a call": one_step_a_call,
    "numpy": in_numpy,
    "folded": folded,
    "torch": in_torch,
}


def forms(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for size in options.sizes:
        sizes, stored = built(size)
        ways = fitting(stored, sizes)[1:]
        made = {name: [form(way, sizes) for way in ways] for name, form in FORMS.items()}
        kept = {name: both for name, both in made.items() if None not in both}
        for batch in options.batches:
            found = timed_forms(kept, sizes, batch, options)
            for name, (seconds, busy) in found.items():
                rows.append(
                    {
                        "size": size,
                        "batch": batch,
                        "form": name,
                        "milliseconds": 1000 * seconds,
                        "words_per_second": batch * STEPS / seconds,
                        "times_scan": seconds / found["scan"][0],
                        "times_scan_of_processor_time": busy / found["scan"][1],
                    }
                )
                print(json.dumps(rounded(rows[-1])), flush=True)
    return rows


def timed_forms(
    made: dict[str, list[Form]], sizes: BiLmSizes, batch: int, options: argparse.Namespace
) -> dict[str, tuple[float, float]]:
    """The least time of each form over both directions, after a check that they agree.

    On the wall, and of the processor.
    """
    draw = np.random.default_rng(1)
    vectors = draw.normal(0, 0.5, (STEPS, batch, sizes.width)).astype(np.float32)
    with ThreadPoolExecutor(options.threads) as pool:
        answers = {name: list(pool.map(lambda f: f(vectors), both)) for name, both in made.items()}
        for name, both in answers.items():
            for one, other in zip(both, answers["scan"], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-4, err_msg=name)
        wall: dict[str, list[float]] = {name: [] for name in made}
        busy: dict[str, list[float]] = {name: [] for name in made}
        for _ in range(options.rounds):
            for name, both in made.items():
                start, used = time.perf_counter(), time.process_time()
                list(pool.map(lambda f: f(vectors), both))
                wall[name].append(time.perf_counter() - start)
                busy[name].append(time.process_time() - used)
    return {name: (min(wall[name]), min(busy[name])) for name in made}


def cache(options: argparse.Namespace) -> list[dict[str, Any]]:
    if options.text is None:
        raise SystemExit("the cache is measured on running text; name a file with --text")
    before, timed = running_text(options)
    rows = []
    for size in options.sizes:
        sizes, stored = built(size)
        with tempfile.TemporaryDirectory() as folder:
            write_graphs(Path(folder), bilm_graphs(stored, sizes))
            backend = OnnxEmbedBackend(Path(folder), sizes, fitting(stored, sizes), options.threads)
        with_cache, without = (
            WordsInContext(backend, sizes, **kept) for kept in ({}, {"cache_bytes": 0})
        )
        for part in cut(before, options.lines):
            with_cache._reader.read(part)
        wall, busy, worst = compared(
            {
                "every token": without.layers,
                "by kind": partial(keeping_nothing, backend, sizes),
                "cache": with_cache.layers,
            },
            cut(timed, options.lines),
        )
        num_words = sum(map(len, timed))
        row = {
            "size": size,
            "words": num_words,
            "distinct": len({word for line in timed for word in line}),
            "words_per_second": {name: num_words / each for name, each in wall.items()},
            "ratio": {name: each / wall["cache"] for name, each in wall.items()},
            "ratio_of_processor_time": {name: each / busy["cache"] for name, each in busy.items()},
            "largest_difference": worst,
        }
        rows.append(row)
        print(json.dumps(rounded(row)), flush=True)
    return rows


def keeping_nothing(
    backend: OnnxEmbedBackend, sizes: BiLmSizes, part: list[list[str]]
) -> list[Array]:
    return WordsInContext(backend, sizes).layers(part)


def running_text(options: argparse.Namespace) -> tuple[list[list[str]], list[list[str]]]:
    """What was read before, and what is timed."""
    pipeline = pipeline_from_words([], TextConfig(unicode_form="NFC", lowercase=False))
    before: list[list[str]] = []
    timed: list[list[str]] = []
    count = 0
    for line in read_texts([options.text]):
        (words,) = pipeline.words([line])
        (before if count < options.before else timed).append(words)
        count += len(words)
        if count >= options.before + options.words:
            break
    return before, timed


def cut(lines: list[list[str]], size: int) -> list[list[list[str]]]:
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def compared(
    ways: dict[str, Callable[[list[list[str]]], list[Array]]], parts: list[list[list[str]]]
) -> tuple[dict[str, float], dict[str, float], float]:
    """Seconds on the wall and of the processor, part by part in turns, and how far they differ."""
    wall, busy = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    worst = 0.0
    for part in parts:
        answers = {}
        for name, way in ways.items():
            start, used = time.perf_counter(), time.process_time()
            answers[name] = way(part)
            wall[name] += time.perf_counter() - start
            busy[name] += time.process_time() - used
        for each in answers.values():
            pairs = zip(each, answers["cache"], strict=True)
            worst = max(worst, *(float(np.abs(one - other).max(initial=0)) for one, other in pairs))
    return wall, busy, worst


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()

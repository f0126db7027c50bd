"""`softquery bench match`: our matchers and cross-encoders, on the same sentences and threads."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softquery.atomic import write_atomically
from softquery.bench.contestants import SHAPES, write_graph
from softquery.bundle import read_bundle
from softquery.errors import ConfigError, MissingExtra
from softquery.runtime import load_matcher
from softquery.zoo import resolve

SCENES = ("pair_s", "batch32_s", "rank100_s")
"""What every contestant does: texts are short sentences."""
WORDS = (50, 200)
"""How many words the candidates of further rankings have."""
LONG = tuple(f"rank100_{words}_s" for words in WORDS)
SLOW = "bert-base"
"""The shape that is not asked to rank long candidates, because it takes minutes."""
INT8, TORCH = "int8", "torch"
"""How the names of contestants end: like is compared with like."""
TITLES = {"rank100_s": "rank 100 candidates", "pair_s": "one pair"}
"""The scenes that a picture shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchBench:
    """Measured times by contestant: medians and 95th percentiles in seconds."""

    threads: int
    rounds: int
    rows: dict[str, dict[str, float]]

    def ratio(self, rival: str, ours: str, scene: str) -> float:
        """How many times as long as ours the rival takes."""
        return self.rows[rival][scene] / self.rows[ours][scene]

    def ratios(self) -> dict[str, dict[str, dict[str, float]]]:
        """How many times as long rivals take, by our int8 model (else all of ours), rival, scene.

        Rivals in int8 come first, those in PyTorch behind them.
        """
        all_ours = [name for name in self.rows if name.startswith("softquery ")]
        small = [name for name in all_ours if name.endswith(INT8)] or all_ours
        rivals = [name for end in (INT8, TORCH) for name in self.rows if name.endswith(end)]
        return {
            ours: {
                rival: {
                    scene: self.ratio(rival, ours, scene)
                    for scene in (*SCENES, *LONG)
                    if scene in self.rows[rival] and scene in self.rows[ours]
                }
                for rival in rivals
                if rival not in all_ours
            }
            for ours in small
        }


def run_match_bench(
    models: Sequence[str],
    *,
    threads: int = 2,
    rounds: int = 3,
    seconds: float = 2.0,
    say: Callable[[str], None] = print,
) -> MatchBench:
    """Time every contestant in turn, `rounds` times over, each in a process of its own.

    Args:
        models: Exported bundles of ours, by name or folder.
        threads: The same for all.
        rounds: Contestants take turns, so that a busy moment of the machine affects all alike.
        seconds: For each scene, contestant and round.
        say: Called with each line of progress.
    """
    if rounds < 1 or threads < 1:
        raise ConfigError("rounds and threads must be at least 1")
    if not 0 <= seconds <= 3600:
        raise ConfigError(f"seconds must be from 0 to 3600, got {seconds}")
    for model in models:  # a bad one is refused before minutes are spent on the rivals
        load_matcher(model, backend="onnx", threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        tasks = _tasks(models, threads, seconds, Path(folder), say)
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in tasks}
        for turn in range(rounds):
            for name, task in tasks.items():
                say(f"round {turn + 1} of {rounds}: {name}")
                results[name].append(_measured(task, threads))
    rows = {name: _summary(found) for name, found in results.items()}
    return MatchBench(threads=threads, rounds=rounds, rows=rows)


def _tasks(
    models: Sequence[str], threads: int, seconds: float, folder: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    from softquery.export.match import export_matcher  # imports torch, which ours do without

    shared = {"threads": threads, "seconds": seconds, "words": WORDS}
    tasks: dict[str, dict[str, Any]] = {}
    short = [Path(model).name for model in models]
    for place, (model, name) in enumerate(zip(models, short, strict=True)):
        shown = name if short.count(name) == 1 else model
        bundle = read_bundle(resolve(model))
        precision = bundle.metrics.get("export", {}).get("precision", "float32")
        tasks[f"softquery {shown} {precision}"] = {"kind": "ours", "model": model, **shared}
        if precision == "int8":
            say(f"exporting {shown} to float32")
            wide = export_matcher(bundle, folder / f"float32-{place}").bundle
            tasks[f"softquery {shown} float32"] = {"kind": "ours", "model": str(wide), **shared}
    for shape in SHAPES:
        task = {"shape": shape, **shared, "words": () if shape == SLOW else WORDS}
        tasks[f"{shape} {TORCH}"] = {"kind": "torch", **task}
        say(f"exporting {shape} to int8")
        graph = folder / f"{shape}.onnx"
        write_graph(shape, graph)
        tasks[f"{shape} onnx {INT8}"] = {"kind": "onnx", "graph": str(graph), **task}
    return tasks


def _measured(task: dict[str, Any], threads: int) -> dict[str, Any]:
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    return measured_in_process("measure_one", task, limits)


def measured_in_process(
    module: str, task: dict[str, Any], variables: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What a module of this package prints for a task, as JSON, in a process of its own.

    Args:
        module: Run as `python -m softquery.bench.MODULE TASK`.
        task: Its argument.
        variables: Additional environment variables.
    """
    done = subprocess.run(
        [sys.executable, "-m", f"softquery.bench.{module}", json.dumps(task)],
        capture_output=True,
        text=True,
        env={**os.environ, **(variables or {})},
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ConfigError(f"a contestant failed: {reason}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _summary(found: list[dict[str, Any]]) -> dict[str, float]:
    summary: dict[str, float] = {}
    for scene in (each for each in (*SCENES, *LONG) if each in found[0]):
        times = sorted(value for each in found for value in each[scene])
        summary[scene] = statistics.median(times)
        summary[f"{scene}_p95"] = times[min(len(times) - 1, int(0.95 * len(times)))]
    summary["startup_s"] = statistics.median(each["startup_s"] for each in found)
    summary["peak_mb"] = max(each["peak_mb"] for each in found)
    return summary


def draw_match_bench(bench: MatchBench, path: Path) -> None:
    """Draw times as horizontal bars on a logarithmic axis, shortest on top, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", needed_for="a picture of the benchmark") from None
    figure = Figure(figsize=(9, 1.2 + 0.42 * len(bench.rows)), layout="constrained")
    for axes, (scene, title) in zip(figure.subplots(1, 2), TITLES.items(), strict=True):
        names = sorted(bench.rows, key=lambda name: -bench.rows[name][scene])
        times = [1000 * bench.rows[name][scene] for name in names]
        colours = ["#4c72b0" if name.startswith("softquery") else "#bbbbbb" for name in names]
        bars = axes.barh(names, times, color=colours)
        axes.bar_label(bars, labels=[f" {_shown(value)} ms" for value in times])
        axes.set(xscale="log", title=title, xlabel="milliseconds, median")
        axes.set_xlim(min(times) / 3, 30 * max(times))  # room for the longest bar's label
    with write_atomically(path, "wb") as handle:
        figure.savefig(handle, dpi=120, format="png")


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"

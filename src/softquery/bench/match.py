"""`softquery bench match`: ours beside cross-encoders, on the same sentences and threads."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softquery.bench.contestants import SHAPES, write_graph
from softquery.bundle import read_bundle
from softquery.errors import ConfigError
from softquery.runtime import load_matcher
from softquery.zoo import resolve

SCENES = ("pair_s", "batch32_s", "rank100_s")


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchBench:
    """Measured times by contestant: medians and 95th percentiles in seconds."""

    threads: int
    rounds: int
    rows: dict[str, dict[str, float]]

    def ratio(self, rival: str, ours: str, scene: str) -> float:
        """How many times as long the rival takes."""
        return self.rows[rival][scene] / self.rows[ours][scene]


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
        rounds: Contestants take turns, so that a busy moment of the machine hits all alike.
        seconds: For each scene, contestant and round.
        say: Told what happens.
    """
    if rounds < 1 or threads < 1:
        raise ConfigError("rounds and threads must be at least 1")
    if not 0 <= seconds <= 3600:
        raise ConfigError(f"seconds must be from 0 to 3600, got {seconds}")
    for model in models:  # a bad one is told before minutes are spent on the rivals
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

    shared = {"threads": threads, "seconds": seconds}
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
        tasks[f"{shape} torch"] = {"kind": "torch", "shape": shape, **shared}
        say(f"exporting {shape} to int8")
        graph = folder / f"{shape}.onnx"
        write_graph(shape, graph)
        tasks[f"{shape} onnx int8"] = {
            "kind": "onnx", "shape": shape, "graph": str(graph), **shared
        }  # fmt: skip
    return tasks


def _measured(task: dict[str, Any], threads: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "softquery.bench.measure_one", json.dumps(task)]
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **limits}, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ConfigError(f"a contestant failed: {reason}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _summary(found: list[dict[str, Any]]) -> dict[str, float]:
    summary: dict[str, float] = {}
    for scene in SCENES:
        times = sorted(value for each in found for value in each[scene])
        summary[scene] = statistics.median(times)
        summary[f"{scene}_p95"] = times[min(len(times) - 1, int(0.95 * len(times)))]
    summary["startup_s"] = statistics.median(each["startup_s"] for each in found)
    summary["peak_mb"] = max(each["peak_mb"] for each in found)
    return summary

"""Training runs side by side, each a process of its own; what is done is not done again.

    python benchmarks shared side_by_side plan.json --work DIR --results rows.jsonl --jobs 4

`plan.json` is a list of objects with `name`, `recipe`, `data`, `seed`, and where they are wanted
`settings` and `vectors` (lists) and `init` (the name of a run of the same seed).
"""

import argparse
import csv
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One run: a recipe with its settings, its data and its seed."""

    name: str
    recipe: str
    data: Path
    seed: int
    settings: tuple[str, ...] = ()
    init: str | None = None
    """The name of a run, of the same seed, that this one starts from."""
    vectors: tuple[Path, ...] = ()
    """Files of word vectors."""

    def bundle(self, work: Path) -> Path:
        """Where it is written."""
        return work / f"{self.name}-seed-{self.seed}"


@dataclass
class Job:
    """One run under way."""

    run: Planned
    process: subprocess.Popen
    began: float


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What has been measured so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_row(path: Path, row: dict[str, Any]) -> None:
    """Append a row at once, so that nothing measured is lost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def named(text: str, otherwise: str | None = None) -> tuple[str, str]:
    """`larger=FOLDER` as a name and a bundle; without a name, the bundle is its own.

    >>> named("larger=runs/lr=2/bilm"), named("runs/lr=2/bilm", "elmo")
    (('larger', 'runs/lr=2/bilm'), ('elmo', 'runs/lr=2/bilm'))
    """
    name, between, bundle = text.partition("=")
    if not between or "/" in name:
        return otherwise or text, text
    return name, bundle


def logged(bundle: Path, column: str) -> list[float]:
    """A column of a training's log, where it has a number."""
    with (bundle / "training" / "log.csv").open(encoding="utf-8", newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file) if row.get(column)]


def points(values: Sequence[float]) -> str:
    """Mean and, of several, standard deviation, in hundredths."""
    deviation = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.2f}{deviation}"


def train_all(
    runs: Sequence[Planned],
    *,
    work: Path,
    results: Path,
    jobs: int,
    more: Sequence[str] = (),
    seconds: float | None = None,
    show: Callable[[dict[str, Any]], str] = lambda row: "",
    beside: Callable[[Planned, Path], dict[str, Any]] = lambda run, bundle: {},
) -> None:
    """Train what is not trained yet, adding a row as each run finishes.

    Args:
        runs: In the order in which they are begun, where nothing has to be waited for.
        work: Where bundles and logs go.
        results: JSON lines.
        jobs: Processes at a time.
        more: Further settings for all runs.
        seconds: After so many, what runs is asked to stop; called again, it goes on from there.
        show: A few words about a row.
        beside: Further fields of a run's row, from its bundle.
    """
    work.mkdir(parents=True, exist_ok=True)
    done = {(row["name"], row["seed"]) for row in read_rows(results)}
    waiting = [run for run in runs if (run.name, run.seed) not in done]
    print(f"{len(waiting)} runs to go, {len(done)} done", flush=True)
    running: list[Job] = []
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    while waiting or running:
        if time.monotonic() > end:
            _stop(running, waiting)
            return
        for run in [run for run in waiting if _is_ready(run, work)][: jobs - len(running)]:
            waiting.remove(run)
            running.append(_start(run, work, more))
        time.sleep(0.5)
        for job in [job for job in running if job.process.poll() is not None]:
            running.remove(job)
            row = _row(job, work, more)
            if row is None:
                print(f"{_label(job.run)}: failed, see {job.run.bundle(work)}.log", flush=True)
                waiting = [run for run in waiting if run.init != job.run.name]
                continue
            row |= beside(job.run, job.run.bundle(work))
            add_row(results, row)
            print(f"{_label(job.run)}: {show(row)} {row['wall_seconds']:.0f} s", flush=True)
        if waiting and not running and not any(_is_ready(run, work) for run in waiting):
            print("left out, because what they start from is missing:",
                  ", ".join(run.name for run in waiting), flush=True)  # fmt: skip
            return


def add_training_options(parser: argparse.ArgumentParser, *, work: Path, results: Path) -> None:
    """What `train_as_asked` looks at, and how many seeds."""
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument("--minutes", type=float, help="after which the rest is left")
    parser.add_argument("--set", action="append", default=[], help="for every run")
    parser.add_argument("--work", type=Path, default=work)
    parser.add_argument("--results", type=Path, default=results)


def train_as_asked(
    options: argparse.Namespace,
    runs: Sequence[Planned],
    *,
    show: Callable[[dict[str, Any]], str],
    beside: Callable[[Planned, Path], dict[str, Any]] = lambda run, bundle: {},
) -> None:
    """`train_all` as the command line says."""
    train_all(
        runs,
        work=options.work,
        results=options.results,
        jobs=options.jobs,
        more=options.set,
        seconds=None if options.minutes is None else 60 * options.minutes,
        show=show,
        beside=beside,
    )


def _stop(running: list[Job], waiting: list[Planned]) -> None:
    """Ask what runs to stop; its state is kept for the next time."""
    for job in running:
        job.process.send_signal(signal.SIGINT)
    for job in running:
        try:
            job.process.wait(20)
        except subprocess.TimeoutExpired:
            job.process.kill()
    print("time is up; to be gone on with:",
          ", ".join(_label(run) for run in (*(job.run for job in running), *waiting)),
          flush=True)  # fmt: skip


def _label(run: Planned) -> str:
    return f"{run.name} seed {run.seed}"


def _is_ready(run: Planned, work: Path) -> bool:
    if run.init is None:
        return True
    return (work / f"{run.init}-seed-{run.seed}" / "metrics.json").exists()


def _start(run: Planned, work: Path, more: Sequence[str]) -> Job:
    bundle = run.bundle(work)
    command = [sys.executable, "-m", "softquery", "train", run.recipe, "--data", str(run.data)]
    command += ["--output", str(bundle), "--seed", str(run.seed)]
    for path in run.vectors:
        command += ["--vectors", str(path)]
    for setting in (*run.settings, *more):
        command += ["--set", setting]
    if run.init is not None:
        command += ["--init", str(work / f"{run.init}-seed-{run.seed}")]
    if bundle.with_name(f"{bundle.name}.partial").exists():
        command.append("--resume")
    with bundle.with_name(f"{bundle.name}.log").open("a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    return Job(run, process, time.monotonic())


def _row(job: Job, work: Path, more: Sequence[str]) -> dict[str, Any] | None:
    """What a run reached, or nothing where it failed."""
    metrics = job.run.bundle(work) / "metrics.json"
    if not metrics.exists():
        return None
    return {
        "name": job.run.name,
        "seed": job.run.seed,
        "recipe": job.run.recipe,
        "settings": [*job.run.settings, *more],
        **json.loads(metrics.read_text()),
        "wall_seconds": round(time.monotonic() - job.began, 1),
    }


def read_plan(path: Path) -> list[Planned]:
    """The runs of a file."""
    return [
        Planned(
            **{
                **run,
                "data": Path(run["data"]),
                "settings": tuple(run.get("settings", ())),
                "vectors": tuple(map(Path, run.get("vectors", ()))),
            }
        )
        for run in json.loads(path.read_text(encoding="utf-8"))
    ]


def steered(row: dict[str, Any]) -> str:
    """What the run was steered by, held back and on dev."""
    metric = next(iter(row["tune"]))
    beside = "".join(f" {name} {row['dev'][name]:.3f}" for name in ("bleu", "perplexity")
                     if name in row["dev"] and name != metric)  # fmt: skip
    return (
        f"{metric} tune {row['tune'][metric]:.4f} dev {row['dev'][metric]:.4f}{beside} "
        f"best epoch {row['training']['best_epoch']} of {row['training']['epochs']}"
    )


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="bundles and logs")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="stop then, to be gone on with")
    parser.add_argument("--set", action="append", default=[], help="a further setting for all")
    options = parser.parse_args()
    train_all(
        read_plan(options.plan),
        work=options.work,
        results=options.results,
        jobs=options.jobs,
        more=options.set,
        seconds=options.seconds,
        show=steered,
    )


if __name__ == "__main__":
    main()

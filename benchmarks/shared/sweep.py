"""Train several variants of a recipe, a few at a time, and gather what they reached.

    python benchmarks shared sweep RECIPE --data DATA --variants variants.json --output OUT

`variants.json` maps a name to a list of `--set` overrides. Choose between variants by the held-back
(`tune`) column; the dev column is what is reported.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from softquery.files import find_split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--variants", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder for summary.json")
    parser.add_argument("--work", type=Path, default=Path("sweep"), help="bundles and logs")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--slice", help="a column of dev, such as source, to measure apart")
    options = parser.parse_args()
    variants = json.loads(options.variants.read_text())
    Sweep(options.recipe, options.data, variants, options.work, options.slice).run(
        options.output, options.parallel
    )


Act = Callable[[argparse.Namespace], None]


def train_or_report(description: str, train: Act, report: Act, *, work: Path) -> None:
    """The command line of a benchmark that sweeps variants on pairs, and reports what they reached.

    Args:
        description: For `--help`.
        train: Runs the variants.
        report: Prints the tables.
        work: Where bundles and logs go by default.
    """
    parser = argparse.ArgumentParser(description=description)
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--vectors", type=Path, nargs="+", required=True)
    training.add_argument("--work", type=Path, default=work)
    training.add_argument("--parallel", type=int, default=1)
    training.set_defaults(act=train)
    verbs.add_parser("report").set_defaults(act=report)
    options = parser.parse_args()
    options.act(options)


class Sweep:
    """Variants of one recipe, or each of its own, on one data folder."""

    def __init__(
        self,
        recipe: str | dict[str, str],
        data: Path,
        variants: dict[str, list[str]],
        work: Path,
        by: str | None = None,
    ) -> None:
        self.recipe = recipe
        self.data = data
        self.variants = variants
        self.work = work
        self.by = by

    def run(self, output: Path, parallel: int) -> None:
        """Train all, at most `parallel` at a time; `summary.json` grows as they finish."""
        self.work.mkdir(parents=True, exist_ok=True)
        output.mkdir(parents=True, exist_ok=True)
        waiting, running = list(self.variants), {}
        while waiting or running:
            while waiting and len(running) < parallel:
                name = waiting.pop(0)
                running[name] = self.start(name)
            time.sleep(0.5)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                del running[name]
                if self.by and (self.work / name / "metrics.json").exists():
                    self.measure_slices(name)
                self.tell(name)
                (output / "summary.json").write_text(json.dumps(self.results(), indent=1))

    def start(self, name: str) -> subprocess.Popen:
        """Begin one variant; its log lies beside its bundle."""
        recipe = self.recipe if isinstance(self.recipe, str) else self.recipe[name]
        command = [sys.executable, "-m", "softquery", "train", recipe]
        command += ["--data", str(self.data), "--output", str(self.work / name)]
        for setting in self.variants[name]:
            command += ["--set", setting]
        with (self.work / f"{name}.log").open("w") as log:
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def measure_slices(self, name: str) -> None:
        """Write the figures of each slice of dev beside the bundle."""
        command = [sys.executable, "-m", "softquery", "evaluate", str(self.work / name)]
        command += ["--data", str(find_split(self.data, "dev")), "--slice", self.by, "--json"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        (self.work / f"{name}.slices.json").write_text(found.stdout)

    def results(self) -> dict[str, dict]:
        """What is known so far, so that a stopped sweep loses nothing."""
        found = {}
        for name, settings in self.variants.items():
            bundle = self.work / name
            if (bundle / "metrics.json").exists():
                metrics = json.loads((bundle / "metrics.json").read_text())
                log = (bundle / "training" / "log.csv").read_text()
                found[name] = {"settings": settings, **metrics, "log": log}
                slices = self.work / f"{name}.slices.json"
                if slices.exists():
                    found[name]["slices"] = json.loads(slices.read_text())["slices"][self.by]
        return found

    def tell(self, name: str) -> None:
        """Print one variant's result."""
        found = self.results().get(name)
        if found is None:
            print(f"{name}: failed, see {self.work / name}.log", flush=True)
            return
        metric = next(iter(found["tune"]))
        facts = found["training"]
        print(
            f"{name}: tune {found['tune'][metric]:.4f} dev {found['dev'][metric]:.4f} "
            f"epochs {facts['epochs']} (best {facts['best_epoch']}) {facts['seconds']} s",
            flush=True,
        )
        for part in found.get("slices", ()):
            print(f"  {part['slice']}: {part['accuracy']:.4f} of {part['n']:,}", flush=True)


if __name__ == "__main__":
    main()

"""Train several variants of a recipe, a few at a time, and gather what they reached.

    python benchmarks/sweep.py esim-snli --data DATA --variants variants.json --output OUT
    [--parallel 3]

`variants.json` maps a name to a list of `--set` overrides. Choose between variants by the held-back
(`tune`) column; the dev column is what is reported.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--variants", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder for summary.json")
    parser.add_argument("--logs", type=Path, default=Path("/tmp/sweep-logs"))
    parser.add_argument("--work", type=Path, default=Path("/tmp/sweep"), help="bundles")
    parser.add_argument("--parallel", type=int, default=1)
    options = parser.parse_args()
    variants = json.loads(options.variants.read_text())
    options.work.mkdir(parents=True, exist_ok=True)
    options.output.mkdir(parents=True, exist_ok=True)
    options.logs.mkdir(parents=True, exist_ok=True)
    waiting, running = list(variants), {}
    while waiting or running:
        while waiting and len(running) < options.parallel:
            name = waiting.pop(0)
            running[name] = start(options, name, variants[name])
        time.sleep(0.5)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            del running[name]
            summarise(options, variants, name)


def start(options: argparse.Namespace, name: str, settings: list[str]) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "softquery",
        "train",
        options.recipe,
        "--data",
        str(options.data),
    ]
    command += ["--output", str(options.work / name)]
    for setting in settings:
        command += ["--set", setting]
    log = (options.logs / f"{name}.log").open("w")
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def summarise(options: argparse.Namespace, variants: dict[str, list[str]], newest: str) -> None:
    """Write what is known so far, so that a stopped sweep loses nothing."""
    results = {}
    for name, settings in variants.items():
        bundle = options.work / name
        if not (bundle / "metrics.json").exists():
            continue
        metrics = json.loads((bundle / "metrics.json").read_text())
        log = (bundle / "training" / "log.csv").read_text()
        results[name] = {"settings": settings, **metrics, "log": log}
        if name != newest:
            continue
        tune, dev = metrics["tune"], metrics["dev"]
        metric = next(iter(tune))
        facts = metrics["training"]
        print(f"{name}: tune {tune[metric]:.4f} dev {dev[metric]:.4f} epochs {facts['epochs']} "
              f"(best {facts['best_epoch']}) {facts['seconds']} s", flush=True)  # fmt: skip
    (options.output / "summary.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

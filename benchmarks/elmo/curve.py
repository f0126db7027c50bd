r"""How the perplexity of biLMs fell while they were trained, beside a Kneser–Ney 5-gram.

    python benchmarks elmo curve --bundles elmo-en=FOLDER larger=FOLDER \
        --yardstick benchmarks/elmo/kneser_ney.json --output benchmarks/elmo/curve.png

Reads `training/log.csv` of each bundle. The curves are those of the text that was held back from
training; dots and the dashed line are perplexities on `valid`.
"""

import argparse
import csv
import json
from pathlib import Path

from matplotlib.figure import Figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundles", nargs="+", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--yardstick", type=Path, help="what benchmarks/elmo/kneser_ney.py wrote")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for colour, pair in zip(("#4c72b0", "#c44e52", "#55a868"), options.bundles, strict=False):
        name, _, folder = pair.partition("=")
        minutes, found = curve(Path(folder))
        metrics = json.loads((Path(folder) / "metrics.json").read_text(encoding="utf-8"))
        axes.plot(minutes, found, color=colour, marker=".", label=name)
        axes.plot(minutes[-1], metrics["dev"]["perplexity"], "o", color=colour)
    if options.yardstick:
        size = metrics["dev"]["vocabulary"]
        runs = json.loads(options.yardstick.read_text(encoding="utf-8"))["runs"]
        best = next(run["perplexity"] for run in runs if run["vocabulary"] == size)
        axes.axhline(best, color="#777777", linestyle="--", label="Kneser–Ney 5-gram")
        axes.axhline(0.75 * best, color="#bbbbbb", linestyle=":", label="three quarters of it")
    axes.set(xlabel="minutes on one H200, shared by the runs", ylabel="perplexity", yscale="log")
    axes.set_yticks([50, 60, 80, 100, 150, 200], labels=["50", "60", "80", "100", "150", "200"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(options.output, dpi=120)


def curve(folder: Path) -> tuple[list[float], list[float]]:
    """Minutes of training and the perplexity measured then, mean of both directions."""
    minutes, found, spent, before = [], [], 0.0, 0
    with (folder / "training" / "log.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["loss"]:
                step = int(row["step"])
                spent += (step - before) / (float(row["examples_per_second"]) / streams(folder))
                before = step
            if row["tune_perplexity"]:
                minutes.append(spent / 60)
                found.append(float(row["tune_perplexity"]))
    return minutes, found


def streams(folder: Path) -> int:
    run = json.loads((folder / "training" / "run.json").read_text(encoding="utf-8"))
    return int(run["data"]["num_streams"])


if __name__ == "__main__":
    main()

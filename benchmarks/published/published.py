"""Whole sets of the literature by our recipes, on what their training files hold back.

    python benchmarks published --data DATA --output published.jsonl --run trec=attention-bilstm
    python benchmarks published --data DATA --output published.jsonl --run resume=tag
    python benchmarks published --show published.jsonl

`--run SET=RECIPE` trains on the whole training file, and measures on dev; `classify` and `tag` are
`softquery train classify FILE` and `softquery train tag FILE`, by their defaults. Sets without a
dev file are measured on a tenth of train that is held out with the seed 0. `--set` is passed on to
the recipe. Each run is a line of the output; a run whose line is there already is not made again.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.small.small import read_items, write_folder
from benchmarks.small.tags import without_places

SETS = {
    "trec": "classification/trec",
    "sst5": "classification/sst5",
    "chnsenticorp": "classification/chnsenticorp",
    "tnews": "classification/tnews",
    "conll2000": "tagging/conll2000",
    "resume": "tagging/resume_ner",
    "weibo": "tagging/weibo_ner",
}
HELD = 0.1
"""Share of train that is measured on, where there is no dev."""
FILE_VERBS = ("classify", "tag")


def splits(data: Path, name: str) -> dict[str, list[str]]:
    """The rows to learn from, and those to measure on."""
    folder = data / SETS[name]
    rows = read_items(next(folder.glob("train.*")))
    dev_path = next(folder.glob("dev.*"), None)
    if dev_path is not None:
        found = {"train": rows, "dev": read_items(dev_path)}
    else:
        random.Random(0).shuffle(rows)
        count = round(HELD * len(rows))
        found = {"train": rows[count:], "dev": rows[:count]}
    if name == "weibo":
        found = {split: without_places(items) for split, items in found.items()}
    return found


def trained(folder: Path, recipe: str, ending: str, seed: int, words: list[str]) -> dict[str, Any]:
    """What `softquery train … --json` prints."""
    command = [sys.executable, "-m", "softquery", "train", recipe]
    if recipe in FILE_VERBS:
        command += [f"{folder}/train.{ending}", "--dev", f"{folder}/dev.{ending}"]
    else:
        command += ["--data", str(folder)]
    command += ["--output", f"{folder}/model", "--json", "--seed", str(seed), *words]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(answer.stderr)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def run_one(data: Path, name: str, recipe: str, seed: int, settings: list[str]) -> dict[str, Any]:
    """Train, measure, and return the line of the output."""
    task = SETS[name].split("/")[0]
    with tempfile.TemporaryDirectory() as made:
        folder, parts = Path(made), splits(data, name)
        write_folder(folder, task, parts)
        ending = "conll" if task == "tagging" else "tsv"
        began = time.monotonic()
        words = [word for each in settings for word in ("--set", each)]
        dev = trained(folder, recipe, ending, seed, words)["dev"]
        seconds = time.monotonic() - began
    metric = "f1" if task == "tagging" else "accuracy"
    return {
        "set": name,
        "recipe": recipe,
        "settings": settings,
        "seed": seed,
        "rows": len(parts["train"]),
        "n": len(parts["dev"]),
        "metric": metric,
        "value": round(dev[metric], 4),
        "interval": [round(each, 4) for each in dev[f"{metric}_interval"]],
        "seconds": round(seconds, 1),
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What was measured so far."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def show(path: Path) -> None:
    """The runs as a table."""
    print("| set | by | learnt from | measured on | score | 95 % interval | seconds |")
    print("|---|---|---|---|---|---|---|")
    for row in read_lines(path):
        low, high = (100 * each for each in row["interval"])
        by = f"`{row['recipe']}`" + "".join(f", `{each}`" for each in row["settings"])
        cells = [row["set"], by, f"{row['rows']:,}", f"{row['n']:,}"]
        cells += [f"{100 * row['value']:.1f}", f"{low:.1f} to {high:.1f}", f"{row['seconds']:.0f}"]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Make the runs that the output lacks, or show them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--run", action="append", default=[], help="SET=RECIPE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="passed on to the recipe")
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show is not None:
        show(given.show)
        return
    for each in given.run:
        name, recipe = each.split("=")
        keys = {"set": name, "recipe": recipe, "seed": given.seed, "settings": given.set}
        if any(keys.items() <= row.items() for row in read_lines(given.output)):
            continue
        row = run_one(given.data, name, recipe, given.seed, given.set)
        with given.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()

r"""Train by a recipe's defaults on samples of 30 to 1,000 rows, and measure on rows left aside.

    python benchmarks small --data DATA --output small.jsonl --name fitted
    python benchmarks small --data DATA --output small.jsonl --sets sst2 --rows 90 --samples 1,2
    python benchmarks small --show small.jsonl

Every sample is drawn with its own number as the seed, the model is trained with the same one, and
500 rows of dev, or of train where a set has no dev, are what it is measured on. Each run is a line
of the output; a run whose line is there already is not made again.
"""

import argparse
import json
import lzma
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NUM_DEV = 500
SETS = {
    "sst2": ("classification/sst2", "attention-bilstm"),
    "trec": ("classification/trec", "attention-bilstm"),
    "tnews": ("classification/tnews", "attention-bilstm-zh"),
    "chnsenticorp": ("classification/chnsenticorp", "attention-bilstm-zh"),
    "snli": ("pairs/snli_100k", "esim"),
    "qqp": ("pairs/qqp_first10k", "esim"),
    "lcqmc": ("pairs/lcqmc", "esim-zh"),
    "conll2003": ("tagging/conll2003", "tagger"),
    "resume": ("tagging/resume_ner", "tagger"),
}
"""By name: the folder of the set, and the recipe that is tried on it."""
HEADS = {"classification": "text\tlabel", "pairs": "sentence1\tsentence2\tlabel"}


def read_items(path: Path) -> list[str]:
    """Rows as our columns, one line each; for tags, sentences as blocks of `word tag` lines."""
    encoding = "latin-1" if path.parent.name == "trec" else "utf-8"
    text = lzma.decompress(path.read_bytes()).decode(encoding)
    if "tagging" in path.parts:
        return list(_blocks(text))
    lines = [line for line in text.splitlines() if line]
    if path.parent.name in ("sst2", "sst5", "trec"):
        parts = [line.split(" ", 1) for line in lines]
        return [f"{words}\tc{label}" for label, words in parts]
    if path.parent.name == "chnsenticorp":
        parts = [line.split("\t", 1) for line in lines[1:]]
        return [f"{words}\tc{label}" for label, words in parts if "\t" not in words]
    if "intents" in path.parts:
        return [line for line in lines[1:] if not line.endswith("\toos")]
    return lines[1:] if "pairs" in path.parts else lines


def _blocks(text: str) -> Iterator[str]:
    for block in text.replace("\r", "").split("\n\n"):
        lines = [line.split() for line in block.splitlines() if line.strip()]
        if lines and lines[0][0] != "-DOCSTART-":
            yield "\n".join(f"{words[0]} {words[-1]}" for words in lines)


def sample(folder: Path, num_rows: int, seed: int) -> tuple[list[str], list[str]]:
    """So many rows to train on, and `NUM_DEV` others, all with labels that the former have."""
    rows = read_items(next(folder.glob("train.*")))
    random.Random(seed).shuffle(rows)
    train, dev, dev_path = rows[:num_rows], rows[num_rows:], next(folder.glob("dev.*"), None)
    if dev_path is not None:
        dev = read_items(dev_path)
        random.Random(0).shuffle(dev)
    known = set.union(*map(_labels, train))
    return train, [item for item in dev if _labels(item) <= known][:NUM_DEV]


def _labels(item: str) -> set[str]:
    """The label of a row, or the kinds of spans of a sentence."""
    if "\t" in item:
        return {item.rpartition("\t")[2]}
    return {line.rpartition(" ")[2].partition("-")[2] for line in item.splitlines()} - {""}


def write_folder(folder: Path, task: str, splits: dict[str, list[str]]) -> None:
    """The splits as files that `softquery train` reads."""
    for split, items in splits.items():
        if task == "tagging":
            (folder / f"{split}.conll").write_text("\n\n".join(items) + "\n", encoding="utf-8")
        else:
            (folder / f"{split}.tsv").write_text(
                "\n".join([HEADS[task], *items]) + "\n", encoding="utf-8"
            )


def train_once(data: Path, name: str, num_rows: int, seed: int, words: list[str]) -> dict[str, Any]:
    """Train and measure; the line of the output."""
    place, recipe = SETS[name]
    task = place.split("/")[0]
    train, dev = sample(data / place, num_rows, seed)
    with tempfile.TemporaryDirectory() as made:
        write_folder(Path(made), task, {"train": train, "dev": dev})
        command = [sys.executable, "-m", "softquery", "train", recipe, "--data", made, "--json"]
        command += ["--output", f"{made}/model", "--seed", str(seed), *words]
        began = time.monotonic()
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
    line: dict[str, Any] = {"set": name, "recipe": recipe, "rows": num_rows, "sample": seed}
    line["seconds"] = round(seconds, 1)
    if answer.returncode:
        return {**line, "error": answer.stderr.strip().splitlines()[-1]}
    metrics = json.loads(answer.stdout)
    metric = "f1" if task == "tagging" else "accuracy"
    found = metrics["training"]
    line |= {"metric": metric, "value": metrics["dev"][metric]}
    line |= {"epochs": found["epochs"], "best_epoch": found["best_epoch"], "steps": found["steps"]}
    return {**line, "learnt": found.get("learnt"), "warnings": len(found.get("warnings", []))}


def show(path: Path) -> None:
    """Means and the range over samples, a row per set and size and a column per name."""
    values: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    names: dict[str, None] = {}
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        names[line["name"]] = None
        values[line["set"], line["rows"]][line["name"]].append(100 * line.get("value", 0.0))
    print("| set | rows | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
    order = list(SETS)
    for (name, num_rows), found in sorted(values.items(), key=lambda each: _place(each[0], order)):
        cells = [_cell(found.get(each, [])) for each in names]
        print(f"| {name} | {num_rows:,} | " + " | ".join(cells) + " |")


def _place(key: tuple[str, int], order: list[str]) -> tuple[int, int]:
    return order.index(key[0]), key[1]


def _cell(found: list[float]) -> str:
    if not found:
        return ""
    mean = sum(found) / len(found)
    return f"{mean:.1f} ({min(found):.1f} to {max(found):.1f}; {len(found)})"


def main() -> None:
    """Make the runs that the output lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--name", default="fitted", help="what these runs are called")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", default="30,90,300,1000")
    parser.add_argument("--samples", default="1,2,3")
    parser.add_argument("--show", type=Path, help="print this output as a table")
    given, words = parser.parse_known_args()
    if given.show is not None:
        show(given.show)
        return
    output: Path = given.output
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    done = {tuple(json.loads(each)[key] for key in ("name", "set", "rows", "sample"))
            for each in lines}  # fmt: skip
    for num_rows in map(int, given.rows.split(",")):
        for name in given.sets.split(","):
            for seed in map(int, given.samples.split(",")):
                if (given.name, name, num_rows, seed) in done:
                    continue
                line = {"name": given.name, **train_once(given.data, name, num_rows, seed, words)}
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    main()

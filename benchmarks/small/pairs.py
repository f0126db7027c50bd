r"""Pairs from 30 to 1,000 rows: `softquery train match FILE`, by its defaults.

    python benchmarks small pairs --data DATA --output pairs.jsonl

DATA holds `pairs/SET/…`. The shipped matchers have seen no label of these sets. Of each, rows
are drawn to learn from and 500 others to measure on, five times (seeds 1 to 5). Beside it: the
shipped matcher untouched, and the cosine of `embed-en` or `embed-zh` from a threshold on that has
the best accuracy on the rows that are learnt from. Runs that the output has are not made again.
"""

import argparse
import json
import lzma
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np

import softquery as sq
from softquery.files import write_text

SETS = {
    "rte": ("rte/train.tsv.xz", "en"),
    "afqmc": ("afqmc/dev.tsv.xz", "zh"),
    "oppo_xiaobu_dev": ("oppo_xiaobu_dev/dev.tsv.xz", "zh"),
    "qqp_20k": ("qqp_20k/dev.tsv.xz", "en"),
}
SIZES, SEEDS, MEASURED = (30, 90, 300, 1_000), (1, 2, 3, 4, 5), 500
WAYS = ("train match", "untouched", "cosine")
Row = dict[str, str]


def rows_of(path: Path) -> list[Row]:
    """All pairs of a file."""
    names = ("sentence1", "sentence2", "label")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        cells = [line.rstrip("\n").split("\t") for line in lines]
    rows = [dict(zip(names, each, strict=True)) for each in cells[1:] if len(each) == len(names)]
    return [{**row, "label": "1" if row["label"] in ("1", "entailment") else "0"} for row in rows]


def cosines(rows: Sequence[Row], language: str) -> np.ndarray:
    """How near both sides of each pair are."""
    encoder = sq.load(f"embed-{language}", threads=1)
    first, second = (encoder.encode([row[f"sentence{side}"] for row in rows]) for side in (1, 2))
    return np.sum(first * second, axis=1)


def by_threshold(near: np.ndarray, gold: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What is answered to others, from the threshold on that is best here."""
    bounds = np.concatenate([[-2.0], np.sort(near), [2.0]])
    right = [((near >= bound) == gold).mean() for bound in bounds]
    return others >= bounds[int(np.argmax(right))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    text = options.output.read_text(encoding="utf-8") if options.output.exists() else ""
    found = [json.loads(line) for line in text.splitlines()]
    done = {(each["set"], each["rows"], each["seed"]) for each in found}
    for name in options.sets.split(","):
        place, language = SETS[name]
        rows = rows_of(options.data / "pairs" / place)
        matcher = sq.load(f"match-{language}", threads=1)
        for seed in SEEDS:
            if all((name, size, seed) in done for size in SIZES):
                continue
            drawn = random.Random(seed).sample(rows, MEASURED + max(SIZES))
            dev, pool = drawn[:MEASURED], drawn[MEASURED:]
            gold = np.array([row["label"] == "1" for row in drawn])
            pairs = [(row["sentence1"], row["sentence2"]) for row in dev]
            untouched = np.array([each.label == "1" for each in matcher.predict(pairs)])
            near = cosines(drawn, language)
            for size in SIZES:
                if (name, size, seed) in done:
                    continue
                with tempfile.TemporaryDirectory() as scratch:
                    model = sq.train(
                        pool[:size], "match", output=Path(scratch) / "model", seed=seed
                    )
                    kept = model.report["learned_by"].rpartition("; ")[2]
                    said = np.array([each.label == "1" for each in model.predict(pairs)])
                part = slice(MEASURED, MEASURED + size)
                cosine = by_threshold(near[part], gold[part], near[:MEASURED])
                answers = dict(zip(WAYS, (said, untouched, cosine), strict=True))
                right = {
                    key: float((each == gold[:MEASURED]).mean()) for key, each in answers.items()
                }
                found.append({"set": name, "rows": size, "seed": seed, **right, "kept": kept})
                write_text(options.output, "".join(f"{json.dumps(each)}\n" for each in found))
        for size in SIZES:
            some = [each for each in found if (each["set"], each["rows"]) == (name, size)]
            shown = (f"{key} {100 * mean(each[key] for each in some):.1f}" for key in WAYS)
            print(f"{name}, {size} rows: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()

r"""Tags from 30 to 1,000 sentences: `softquery train tag FILE`, by its defaults.

    python benchmarks small tags --data DATA --output tags.jsonl
    python benchmarks small tags --data DATA --output tags.jsonl --base match-en --sets conll2003
    python benchmarks small tags --show tags.jsonl

DATA holds `tagging/SET/…`. Of the training sentences of each set some are drawn to learn from, five
times (seeds 1 to 5), and 500 of dev whose labels the sample has are measured on. The numbers that
Weibo's file puts behind characters, their place in a word, are left out.
"""

import argparse
import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean

from benchmarks.small.small import sample, write_folder

import softquery as sq
from softquery.bundle import read_bundle

SETS = {"conll2003": "conll2003", "resume": "resume_ner", "weibo": "weibo_ner"}


def without_places(items: list[str]) -> list[str]:
    """Sentences whose tokens are single characters, without what stands behind them."""
    return [
        "\n".join(f"{line[0]}{line[line.index(' ') :]}" for line in item.splitlines())
        for item in items
    ]


def measured(
    data: Path, name: str, num_rows: int, seed: int, base: str | None
) -> dict[str, object]:
    """Train on a sample and measure; the line of the output."""
    train, dev = sample(data / "tagging" / SETS[name], num_rows, seed)
    if name == "weibo":
        train, dev = without_places(train), without_places(dev)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_folder(folder, "tagging", {"train": train, "dev": dev})
        began = time.monotonic()
        model = sq.train(
            folder / "train.conll",
            "tag",
            dev=folder / "dev.conll",
            output=folder / "model",
            init=base,
            seed=seed,
        )
        seconds = time.monotonic() - began
        found = read_bundle(folder / "model")
        return {
            "set": name,
            "rows": num_rows,
            "sample": seed,
            "base": found.config.base,
            "f1": round(model.report["figures"]["f1"], 4),
            "seconds": round(seconds, 1),
            "learnt": found.metrics["training"]["learnt"],
        }


def show(path: Path) -> None:
    """Means over samples, and their range."""
    found: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        found[line["set"], line["base"], line["rows"]].append(100 * line["f1"])
    print("| set | words are read by | sentences | F1 |\n|---|---|---|---|")
    for (name, base, rows), each in sorted(found.items()):
        many = f"{mean(each):.1f} ({min(each):.1f} to {max(each):.1f}; {len(each)})"
        print(f"| {name} | `{base}` | {rows:,} | {many} |")


def main() -> None:
    """Make the runs that the output lacks, or show them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--base", help="what words are read by; by default by their language")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", default="30,90,300,1000")
    parser.add_argument("--samples", default="1,2,3,4,5")
    parser.add_argument("--show", type=Path, help="print this output as a table")
    given = parser.parse_args()
    if given.show is not None:
        show(given.show)
        return
    output: Path = given.output
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    known = [json.loads(each) for each in lines]
    done = {(each["set"], each["rows"], each["sample"], each["asked"]) for each in known}
    for name in given.sets.split(","):
        for num_rows in map(int, given.rows.split(",")):
            for seed in map(int, given.samples.split(",")):
                if (name, num_rows, seed, given.base) in done:
                    continue
                line = measured(given.data, name, num_rows, seed, given.base)
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**line, "asked": given.base}) + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    main()

r"""Make pairs that differ in one thing from free texts, or drop those that a teacher contradicts.

    python shipped/hard_pairs.py en --texts requests.txt --task match --output pairs.jsonl --seed 1
    python shipped/hard_pairs.py zh --texts requests_zh.txt --output pairs.jsonl --count 100000
    python shipped/hard_pairs.py check --pairs scored.jsonl --output kept.jsonl

`en` and `zh` read texts, one per line, and write a row per pair: the sentences, the `label` that
follows from how the pair was made, its `rule`, `how` it was made, and its `source` text. `check`
reads rows that `teacher.py label --gold 0` gave `probabilities`.
"""

import argparse
import json
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hard.check import SURE, check
from hard.make import Maker
from measured_faqs import is_measured


def read_texts(paths: Iterable[Path]) -> Iterator[str]:
    """The lines of text files, compressed or not, without those that search is measured on."""
    for path in paths:
        with (
            lzma.open(path, "rt", encoding="utf-8")
            if path.suffix == ".xz"
            else path.open(encoding="utf-8") as file
        ):
            yield from (line.strip() for line in file if not is_measured(line))


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """One JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def make(options: argparse.Namespace) -> None:
    """Write pairs and say how many of each rule and label there are."""
    maker = Maker(language=options.language, task=options.task, seed=options.seed)
    pairs = maker.pairs(read_texts(options.texts), options.count)
    write_rows(options.output, map(asdict, pairs))
    counts = Counter((pair.rule, pair.label) for pair in pairs)
    for rule in sorted({rule for rule, _ in counts}):
        told = ", ".join(
            f"{label}: {n:,}" for (name, label), n in sorted(counts.items()) if name == rule
        )
        print(f"{rule}: {told}")
    print(f"{len(pairs):,} pairs, {dict(Counter(pair.label for pair in pairs))}")
    print(f"kept out by the probes: {dict(sorted(maker.refused.items()))}")


def drop(options: argparse.Namespace) -> None:
    """Write what the teacher does not contradict, and say which share of each rule went."""
    rows = (json.loads(line) for path in options.pairs for line in path.open(encoding="utf-8"))
    checked = check(rows, options.sure)
    write_rows(options.output, checked.kept)
    for rule, share in checked.shares().items():
        print(f"{rule}: {share:.1%} of {checked.given[rule]:,} dropped")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(required=True, dest="language")
    for language, tasks in (("en", ["match", "nli"]), ("zh", ["match"])):
        making = verbs.add_parser(language, help="make pairs")
        making.add_argument("--texts", type=Path, nargs="+", required=True)
        making.add_argument("--task", choices=tasks, default="match")
        making.add_argument("--output", type=Path, required=True)
        making.add_argument("--seed", type=int, default=1)
        making.add_argument("--count", type=int, help="the most pairs to write")
        making.set_defaults(verb=make)
    checking = verbs.add_parser("check", help="drop what a teacher contradicts")
    checking.add_argument("--pairs", type=Path, nargs="+", required=True)
    checking.add_argument("--output", type=Path, required=True)
    checking.add_argument("--sure", type=float, default=SURE)
    checking.set_defaults(verb=drop)
    options = parser.parse_args()
    options.verb(options)


if __name__ == "__main__":
    main()

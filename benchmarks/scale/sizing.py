"""Do the formulas of `softquery plan` predict what larger cases cost?

    python benchmarks scale sizing RATES.json OUTPUT.json [--verbs match index] [--rows 100000 …]
                                   [--work FOLDER]

RATES.json is what `softquery bench rates --json` printed on the same machine. Each case runs as a
command with one thread; beside what it cost stands what the formulas say. Cases that OUTPUT.json
holds already are kept; so are, with `--work`, the indexes.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from softquery.bench.rates import (
    SHORT,
    MeasuredCase,
    index_name,
    measure_index,
    measure_match,
    measure_search,
    read_rates,
)
from softquery.bench.sizing import Formulas


def predicted(formulas: Formulas, case: MeasuredCase) -> dict[str, float]:
    """What the formulas say of a case."""
    rows, words = case.rows, case.words
    if case.verb == "match":
        return {
            "seconds": formulas.match_seconds(rows, words),
            "disk": formulas.match_disk(rows, words),
        }
    if case.verb == "index":
        return {
            "seconds": formulas.index_seconds(rows, words),
            "disk": formulas.index_disk(rows, words),
            "memory": formulas.indexing_memory(rows, words),
        }
    return {
        "seconds": formulas.search_seconds(rows),
        "memory": formulas.index_memory(rows, words),
    }


def compared(formulas: Formulas, case: MeasuredCase) -> dict[str, Any]:
    """A case with what the formulas say, as a multiple of what was measured."""
    said = predicted(formulas, case)
    ratios = {name: value / getattr(case, name) for name, value in said.items()}
    return {"case": asdict(case), "predicted": said, "ratio": ratios}


def measured(folder: Path, verb: str, rows: int) -> Iterator[MeasuredCase]:
    """The cases of a verb; of an index also a search in it."""
    if verb == "match":
        yield measure_match(folder, rows, SHORT)
        return
    index = folder / index_name(rows, SHORT)
    if not index.exists():
        yield measure_index(folder, rows, SHORT)
    yield measure_search(index, rows, SHORT)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rates", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--verbs", nargs="+", default=["match", "index"])
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    rates = read_rates(given.rates)
    formulas = Formulas(rates)
    cases: list[MeasuredCase] = []
    if given.output.exists():
        kept = json.loads(given.output.read_text(encoding="utf-8"))["cases"]
        cases = [MeasuredCase(**each["case"]) for each in kept]
    with tempfile.TemporaryDirectory(prefix="softquery-sizing-") as scratch:
        folder = given.work or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in given.rows:
            for verb in given.verbs:
                for case in measured(folder, verb, rows):
                    cases.append(case)
                    found = [compared(formulas, each) for each in cases]
                    save(given.output, {"rates": asdict(rates), "cases": found})
                    print(case.verb, rows, json.dumps(found[-1]["ratio"]), flush=True)


def save(path: Path, found: dict[str, Any]) -> None:
    """What is known so far."""
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

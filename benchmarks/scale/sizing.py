"""Do the formulas of `softquery plan` predict what larger cases cost?

    python benchmarks scale sizing RATES.json OUTPUT.json [--verbs match index] [--rows 100000 …]

RATES.json is what `softquery bench rates --json` printed on the same machine. Each case runs as a
command with one thread; beside what it cost stands what the formulas say. Cases that OUTPUT.json
holds already are kept.
"""

import argparse
import json
import tempfile
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rates", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--verbs", nargs="+", default=["match", "index"])
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    given = parser.parse_args()
    rates = read_rates(given.rates)
    formulas = Formulas(rates)
    cases: list[MeasuredCase] = []
    if given.output.exists():
        kept = json.loads(given.output.read_text(encoding="utf-8"))["cases"]
        cases = [MeasuredCase(**each["case"]) for each in kept]
    for rows in given.rows:
        for verb in given.verbs:
            with tempfile.TemporaryDirectory(prefix="softquery-sizing-") as scratch:
                folder = Path(scratch)
                if verb == "match":
                    cases.append(measure_match(folder, rows, SHORT))
                else:
                    cases.append(measure_index(folder, rows, SHORT))
                    cases.append(measure_search(folder / index_name(rows, SHORT), rows, SHORT)[0])
            found = {"rates": asdict(rates), "cases": [compared(formulas, each) for each in cases]}
            given.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(json.dumps(found["cases"][-1]["ratio"]))


if __name__ == "__main__":
    main()

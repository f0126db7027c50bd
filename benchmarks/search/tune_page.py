"""The tables of the page, from what `tune` measured.

python benchmarks search tune_page tune.json
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

SHOWN = (
    "first_answer", "mrr", "answered_rightly", "precision", "coverage", "unanswerable_answered",
    "net", "loss",
)  # fmt: skip
NAMES = (
    "first answer", "MRR", "answered rightly", "precision", "coverage", "unanswerable answered",
    "right less wrong", "loss",
)  # fmt: skip


def mean(values: Iterable[float | None]) -> float:
    known = [each for each in values if each is not None]
    return float(np.mean(known)) if known else float("nan")


def change(run: Mapping[str, Any], name: str, *, is_careful: bool) -> float | None:
    """What a figure changed by; nothing where a careful tuning left the index alone."""
    before, after = run["before"][name], run["after"][name]
    if before is None or after is None:
        return None
    return 0.0 if is_careful and not run["is_sure"] else after - before


def by_size(sets: Mapping[str, Any], size: int, name: str, *, is_careful: bool) -> list[float]:
    """The mean change of each set over its seeds."""
    return [
        mean(
            change(run, name, is_careful=is_careful)
            for run in each["runs"]
            if run["queries"] == size
        )
        for each in sets.values()
    ]


def summary(sets: Mapping[str, Any], sizes: Iterable[int]) -> str:
    """Means before and after, and the worst set, for each number of labelled queries."""
    lines = [
        f"| labelled | | {' | '.join(NAMES)} |",
        f"| --- | --- |{' --- |' * len(NAMES)}",
    ]
    for size in sizes:
        runs = [run for each in sets.values() for run in each["runs"] if run["queries"] == size]
        for when in ("before", "after"):
            found = [
                mean(
                    mean(r[when][n] for r in s["runs"] if r["queries"] == size)
                    for s in sets.values()
                )
                for n in SHOWN
            ]
            lines.append(f"| {size} | {when} | {' | '.join(f'{x:.3f}' for x in found)} |")
        for title, is_careful in (("gain, forced", False), ("gain, where sure", True)):
            gains = [by_size(sets, size, name, is_careful=is_careful) for name in SHOWN]
            found = [f"{mean(each):+.3f} ({min(each):+.3f} to {max(each):+.3f})" for each in gains]
            lines.append(f"| {size} | {title} | {' | '.join(found)} |")
        sure = [run for run in runs if run["is_sure"]]
        worse = sum(run["after"]["net"] < run["before"]["net"] for run in sure)
        others = [run for run in runs if not run["is_sure"]]
        lines.append(
            f"| {size} | {len(sure)} of {len(runs)} sure, {worse} of them fewer right less wrong; "
            f"{sum(r['after']['net'] < r['before']['net'] for r in others)} of the {len(others)} "
            f"others |{' |' * len(NAMES)}"
        )
    return "\n".join(lines)


def each_set(sets: Mapping[str, Any], size: int) -> str:
    """Every set, before and after."""
    names = ("first_answer", "precision", "coverage", "unanswerable_answered", "net")
    titles = [NAMES[SHOWN.index(name)] for name in names]
    lines = [
        f"| set | rows | sure | {' | '.join(titles)} |",
        f"| --- | --- | --- |{' --- |' * len(titles)}",
    ]
    for name, each in sets.items():
        runs = [run for run in each["runs"] if run["queries"] == size]
        cells = [
            f"{mean(r['before'][n] for r in runs):.3f} → {mean(r['after'][n] for r in runs):.3f}"
            for n in names
        ]
        sure = sum(run["is_sure"] for run in runs)
        lines.append(f"| {name} | {each['rows']} | {sure} of {len(runs)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("measured", type=Path)
    sets = json.loads(parser.parse_args().measured.read_text(encoding="utf-8"))["sets"]
    sizes = sorted({run["queries"] for each in sets.values() for run in each["runs"]})
    counted = {name: each for name, each in sets.items() if each["counts"]}
    apart = {name: each for name, each in sets.items() if not each["counts"]}
    for title, group in (("judged", counted), ("developed on", apart)):
        if group:
            print(f"{title}, {len(group)} sets\n\n{summary(group, sizes)}\n")
            print(f"{each_set(group, max(sizes))}\n")


if __name__ == "__main__":
    main()

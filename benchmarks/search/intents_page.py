"""The tables of what `intents.py` has measured.

python benchmarks search intents_page FILE
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

OURS, OUR_COSINE, BM25, MINILM = SYSTEMS = ("ours", "our cosine", "BM25", "MiniLM")
GROUPS = {"en": "English", "en apart": "English, source in `requests/`", "zh": "Chinese"}
COLUMNS = {
    "first_right": "first right",
    "precision": "precision",
    "coverage": "coverage",
    "outside_answered": "out of scope answered",
    "precision_all": "precision, those counted",
    "auroc": "AUROC",
    "ece": "ECE",
}
MINILM_COLUMNS = ("first_right", "precision", "coverage", "outside_answered", "auroc")
PRECISIONS, OUTSIDE = (0.88, 0.9, 0.92, 0.94), (0.1, 0.15, 0.2)
FAQ_COLUMNS = ("first_right", "minilm_first_right", "answered_rightly", "answered_wrongly")
Row = Sequence[object]


def tables(result: dict[str, Any]) -> Iterator[str]:
    """Every table, in Markdown."""
    for group, title in GROUPS.items():
        mine = {name: each for name, each in result["sets"].items() if each["group"] == group}
        if mine:
            yield f"\n{title}, {len(mine)} sets, unweighted means:\n"
            yield from _means(mine)
            yield ""
            yield from _curves(result["curves"][group])
            yield ""
            yield from _each(mine)
    yield ""
    yield from _faqs(result["faqs"])


def _means(sets: dict[str, Any]) -> Iterator[str]:
    yield from _head("system", *COLUMNS.values())
    for system in SYSTEMS:
        rows = [each[system] for each in sets.values() if system in each]
        if rows:
            yield _line(system, *(mean_known([row[name] for row in rows]) for name in COLUMNS))


def _each(sets: dict[str, Any]) -> Iterator[str]:
    others = [f"MiniLM: {COLUMNS[name]}" for name in MINILM_COLUMNS]
    has_minilm = any(MINILM in each for each in sets.values())
    yield from _head("set", *COLUMNS.values(), *(others if has_minilm else ()))
    for name, each in sets.items():
        cells = [each[OURS][column] for column in COLUMNS]
        if has_minilm:
            cells += [each[MINILM][column] for column in MINILM_COLUMNS]
        yield _line(name, *cells)


def _curves(curves: dict[str, list[list[float]]]) -> Iterator[str]:
    """Coverage at equal precision, and at equal shares of answers out of scope."""
    first = [f"coverage at precision {value:g} (out of scope answered)" for value in PRECISIONS]
    second = [f"coverage at {value:g} out of scope answered (precision)" for value in OUTSIDE]
    yield from _head("system", *first, *second)
    for system, points in curves.items():
        cells = [coverage_at(points, value) for value in PRECISIONS]
        cells += [coverage_within(points, value) for value in OUTSIDE]
        yield _line(system, *(f"{_shown(one)} ({_shown(other)})" for one, other in cells))


def _faqs(faqs: dict[str, Any]) -> Iterator[str]:
    titles = ("first right", "MiniLM's", "answered rightly", "answered wrongly")
    yield from _head("FAQ", *titles, "unanswerable answered")
    for name, each in faqs.items():
        last = f"{each['unanswerable_answered']} of {each['unanswerable']}"
        yield _line(name, *(each.get(column) for column in FAQ_COLUMNS), last)


def coverage_at(
    points: Sequence[Sequence[float]], precision: float
) -> tuple[float | None, float | None]:
    """The most coverage of a curve at a precision, and what it answers out of scope there."""
    fitting = [(cover, outside) for _, right, cover, outside in points if right >= precision]
    cover, outside = max(fitting, default=(None, None))
    return cover, None if outside is None or outside < 0 else outside


def coverage_within(
    points: Sequence[Sequence[float]], outside: float
) -> tuple[float | None, float | None]:
    """The most coverage of a curve that answers so much out of scope, and its precision there."""
    fitting = [(cover, right) for _, right, cover, out in points if 0 <= out <= outside]
    return max(fitting, default=(None, None))


def mean_known(values: Sequence[float | None]) -> float | None:
    """The mean of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _head(*titles: str) -> Iterator[str]:
    yield _line(*titles)
    yield "|" + " --- |" * len(titles)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(_shown, cells))} |"


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> None:
    """Show a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    print("\n".join(tables(json.loads(parser.parse_args().file.read_text("utf-8")))))


if __name__ == "__main__":
    main()

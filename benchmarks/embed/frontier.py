r"""Draw how good sentence vectors are against how long one takes and how large the model is.

    python benchmarks embed frontier --quality benchmarks/embed/quality.json \
        --speed benchmarks/embed/speed.json --output benchmarks/embed/frontier.svg

Left: the mean of STS-B, Quora and first answers; right: first answers alone, which BM25 has as
well. A circle's area is the model's size on the disk, and its number is explained below. The line
joins what nothing else beats in both. What was measured for quality and not for speed is a line
across.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.embed.sentences_page import TITLES

HERE = Path(__file__).parent
SAME_VECTORS = {"minilm-torch": "minilm"}
"""Forms that are timed by themselves and give the vectors of another."""
PANELS = {"mean": "mean of STS-B, Quora, first answers", "first_answers": "first answers, %"}
OURS, THEIRS, WORDS = "#c44e52", "#4c72b0", "#777777"
AREA = 5.0
"""Square points per megabyte."""
LEAST = 24.0


@dataclass(frozen=True, slots=True)
class Point:
    """A form with its time, its figure and its size."""

    name: str
    milliseconds: float
    figure: float
    megabytes: float | None

    @property
    def label(self) -> str:
        """Its title and its size."""
        size = "" if self.megabytes is None else f", {self.megabytes:.0f} MB"
        return TITLES.get(self.name, self.name) + size

    @property
    def colour(self) -> str:
        """By whose it is."""
        if self.name == "bm25":
            return WORDS
        return THEIRS if self.name in TITLES else OURS


def whole(quality: dict[str, Any], name: str, key: str) -> float | None:
    """A mean by whole vectors."""
    widths = quality["models"].get(name, {}).get("widths", {})
    found: float | None = next(iter(widths.values()))["means"][key] if widths else None
    return found


def points_of(quality: dict[str, Any], speed: dict[str, Any], key: str) -> list[Point]:
    """Everything that has both a time and this figure."""
    found = []
    for name, row in speed["rows"].items():
        figure = whole(quality, SAME_VECTORS.get(name, name), key)
        same = speed["rows"].get(SAME_VECTORS.get(name, name), {})
        size = row.get("size_bytes") or same.get("size_bytes")
        if figure is not None:
            found.append(Point(name, row["one_ms"], figure, size and size / 1e6))
    return found


def unbeaten(points: Sequence[Point]) -> list[Point]:
    """Points that no other beats in both, the fastest first.

    >>> names = unbeaten([Point("a", 1, 50, 1), Point("b", 2, 40, 1), Point("c", 3, 60, 1)])
    >>> [point.name for point in names]
    ['a', 'c']
    """
    kept: list[Point] = []
    for point in sorted(points, key=lambda each: (each.milliseconds, -each.figure)):
        if not kept or point.figure > kept[-1].figure:
            kept.append(point)
    return kept


def untimed(quality: dict[str, Any], speed: dict[str, Any], key: str) -> dict[str, float]:
    """Figures of models whose speed was not measured."""
    named = {name: whole(quality, name, key) for name in quality["models"]}
    return {
        name: figure
        for name, figure in named.items()
        if figure is not None and name not in speed["rows"]
    }


def draw_panel(axes: Any, points: Sequence[Point], across: dict[str, float], title: str) -> None:
    """One figure against time."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    best = unbeaten(points)
    axes.plot([p.milliseconds for p in best], [p.figure for p in best], color="#bbbbbb", zorder=1)
    for point in points:
        axes.scatter(point.milliseconds, point.figure, s=area(point), alpha=0.5, linewidths=0,
                     color=point.colour, zorder=2)  # fmt: skip
    times = [point.milliseconds for point in points]
    low, high = min(times) / 2.2, max(times) * 2.2
    for name, figure in across.items():
        axes.plot([low, high], [figure, figure], color=WORDS, linewidth=0.8, linestyle=":")
        axes.annotate(f" {TITLES.get(name, name)}, not timed", (low, figure), xytext=(0, 3),
                      textcoords="offset points", fontsize=8)  # fmt: skip
    axes.set(xscale="log", xlabel="one short text, ms, two threads", ylabel=title)
    axes.set_xlim(low, high)
    axes.margins(y=0.14)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)


def area(point: Point) -> float:
    """Of a circle, in square points."""
    return max(LEAST, AREA * (point.megabytes or 0))


def put_numbers(axes: Any, points: Sequence[Point], numbers: dict[str, int]) -> None:
    """The number of each circle, above it or, for every other of close neighbours, below."""
    before = None
    is_above = True
    for point in sorted(points, key=lambda each: each.milliseconds):
        is_close = before is not None and point.milliseconds < 1.6 * before
        is_above = not is_above if is_close else True
        before = point.milliseconds
        away = math.sqrt(area(point) / math.pi) + 2
        axes.annotate(
            str(numbers[point.name]), (point.milliseconds, point.figure), fontsize=9,
            xytext=(0, away if is_above else -away), textcoords="offset points", ha="center",
            va="bottom" if is_above else "top", fontweight="bold", color=point.colour,
        )  # fmt: skip


def draw(quality: dict[str, Any], speed: dict[str, Any], path: Path) -> None:
    """Both panels, and below them what each number stands for."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    matplotlib.rcParams["svg.hashsalt"] = "softquery"
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    panels = dict(zip(PANELS, figure.subplots(1, 2), strict=True))
    points = {key: points_of(quality, speed, key) for key in PANELS}
    shown = {point.name: point for some in points.values() for point in some}
    order = sorted(shown.values(), key=lambda point: point.milliseconds)
    numbers = {point.name: number for number, point in enumerate(order, 1)}
    for key, axes in panels.items():
        if points[key]:
            draw_panel(axes, points[key], untimed(quality, speed, key), PANELS[key])
            put_numbers(axes, points[key], numbers)
    handles = [Line2D([], [], marker="o", linestyle="", color=p.colour, alpha=0.6) for p in order]
    labels = [f"{numbers[point.name]}  {point.label}" for point in order]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    is_svg = path.suffix == ".svg"
    told = {"Date": None, "Title": "Sentence vectors: quality against time"} if is_svg else None
    figure.savefig(path, dpi=120, metadata=told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quality", type=Path, default=HERE / "quality.json")
    parser.add_argument("--speed", type=Path, default=HERE / "speed.json")
    parser.add_argument("--output", type=Path, default=HERE / "frontier.svg")
    options = parser.parse_args()
    quality, speed = (
        json.loads(path.read_text(encoding="utf-8")) for path in (options.quality, options.speed)
    )
    draw(quality, speed, options.output)


if __name__ == "__main__":
    main()

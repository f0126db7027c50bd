"""The pictures of a report as SVG: a curve, a diagram of reliability, a histogram.

Colours come from the page's style by classes, so that one picture fits light and dark.
"""

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 440.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 24.0, 14.0, 50.0
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
Point = tuple[float, float]


def curve_chart(data: Mapping[str, Any]) -> str:
    """Coverage against precision, and against the unanswerable queries that are answered."""
    precision = _points(data["curve"], "precision")
    outside = _points(data["curve"], "unanswerable_answered")
    today, marks = data["today"], ""
    if today["coverage"] is not None:
        x, _ = _at(today["coverage"], 0)
        marks = f'<line class="today" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{_floor():g}"/>'
        for name, kind in (("precision", "good"), ("unanswerable_answered", "bad")):
            if today[name] is not None:
                _, y = _at(0, today[name])
                marks += f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        marks += _label(x, TOP + 10, "today", "today-text")
    lines = _line(precision, "good") + (_line(outside, "bad") if outside else "")
    body = _axes("answerable queries that are answered", TICKS, TICKS) + lines + marks
    return _svg(body, "Precision and answered unanswerable queries against coverage")


def calibration_chart(data: Mapping[str, Any]) -> str:
    """How often answers of a score are right, beside the score."""
    groups: Sequence[Mapping[str, Any]] = data["calibration"]["groups"]
    most = max((each["n"] for each in groups), default=1)
    dots = ""
    for each in groups:
        x, y = _at(each["score"], each["right"])
        size = 3 + 4 * (each["n"] / most) ** 0.5
        title = f"{each['n']:,} queries: score {each['score']:.2f}, right {each['right']:.2f}"
        dots += (
            f'<circle class="good" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}">'
            f"<title>{title}</title></circle>"
        )
    (x1, y1), (x2, y2) = _at(0, 0), _at(1, 1)
    ideal = f'<line class="ideal" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'
    body = _axes("score", TICKS, TICKS) + ideal + _line(_pairs(groups), "good") + dots
    return _svg(body, "The share of right first rows against their scores")


KINDS = {
    "right": "good",
    "wrong": "wrong",
    "unanswerable": "bad",
    "answered": "good",
    "not answered": "bad",
}
"""The class of each part of a histogram."""


def histogram_chart(histogram: Mapping[str, Any], threshold: float | None) -> str:
    """How many queries have which best score, in stacked bars, with the threshold."""
    edges, counts = histogram["edges"], histogram["counts"]
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    most = max([1, *totals])
    low, high = edges[0], edges[-1]
    width = (WIDTH - LEFT - RIGHT) / max(1, len(totals))
    bars = ""
    for place in range(len(totals)):
        base, x = 0, LEFT + place * width
        for name, column in counts.items():
            if not column[place]:
                continue
            top = _at(0, (base + column[place]) / most)[1]
            bottom = _at(0, base / most)[1]
            bars += (
                f'<rect class="{KINDS[name]}" x="{x + 1:.1f}" y="{top:.1f}"'
                f' width="{max(1.0, width - 2):.1f}" height="{max(0.5, bottom - top):.1f}">'
                f"<title>{name}: {column[place]:,}, score {edges[place]:.2f} to "
                f"{edges[place + 1]:.2f}</title></rect>"
            )
            base += column[place]
    mark = ""
    if threshold is not None and high > low:
        x, _ = _at((threshold - low) / (high - low), 0)
        mark = f'<line class="today" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{_floor():g}"/>'
        mark += _label(x, TOP + 10, "threshold", "today-text")
    xs = [low + (high - low) * tick for tick in TICKS]
    body = _axes("best score", xs, (0, most), is_count=True) + bars + mark
    return _svg(body, "Queries by their best score")


def _points(curve: Sequence[Mapping[str, Any]], name: str) -> list[Point]:
    return [
        (each["coverage"], each[name])
        for each in curve
        if each["coverage"] is not None and each[name] is not None
    ]


def _pairs(groups: Sequence[Mapping[str, Any]]) -> list[Point]:
    return [(each["score"], each["right"]) for each in groups]


def _at(x: float, y: float) -> Point:
    """Where a point of the unit square is drawn."""
    return LEFT + x * (WIDTH - LEFT - RIGHT), _floor() - y * (_floor() - TOP)


def _floor() -> float:
    return HEIGHT - BOTTOM


def _line(points: Sequence[Point], kind: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_at(*point) for point in points))
    return f'<polyline class="{kind}" points="{path}"/>'


def _axes(title: str, xs: Sequence[float], ys: Sequence[float], *, is_count: bool = False) -> str:
    parts = []
    for place, value in enumerate(xs):
        x, _ = _at(place / (len(xs) - 1), 0)
        shown = f"{value:.2g}" if "score" in title else f"{value:.0%}"
        parts.append(f'<text class="tick" x="{x:.1f}" y="{_floor() + 19:g}">{shown}</text>')
    for place, value in enumerate(ys):
        _, y = _at(0, place / (len(ys) - 1))
        shown = f"{value:,.0f}" if is_count else f"{value:.0%}"
        parts.append(
            f'<line class="grid" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick side" x="{LEFT - 7:g}" y="{y + 4:.1f}">{shown}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    name = f'<text class="tick" x="{middle:g}" y="{HEIGHT - 8:g}">{title}</text>'
    return "".join(parts) + name


def _label(x: float, y: float, text: str, kind: str) -> str:
    """A label beside a vertical line, on the side where there is room."""
    is_left = x > WIDTH / 2
    place = x - 5 if is_left else x + 5
    anchor = "end" if is_left else "start"
    return f'<text class="{kind}" x="{place:.1f}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def _svg(body: str, description: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-label="{description}">{body}</svg>'
    )

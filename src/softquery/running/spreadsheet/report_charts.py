"""Charts of a report as SVG, whose colours are those of the page and so of its light and dark form.

Axes are honest: losses and shares begin at zero, shares end at one, and every line has its name.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 40
NUM_TICKS = 4
Point = tuple[float, float]
Place = Callable[[Point], Point]
"""From values to a place in the picture."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of a chart, and the class by which the page colours it."""

    name: str
    points: Sequence[Point]
    look: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A vertical line that marks a place, such as the epoch that was kept."""

    at: float
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """What a chart's axes show."""

    x: str
    y: str
    is_share: bool = False
    """Whether y ends at one."""
    from_zero: bool = True
    """Whether x begins at zero."""


def line_chart(lines: Sequence[Line], axes: Axes, marks: Sequence[Mark] = ()) -> str:
    """Lines over one x axis, with a legend below.

    >>> one = Line(name="loss", points=[(0, 1.0), (1, 0.5)], look="a")
    >>> line_chart([one], Axes(x="epoch", y="loss")).startswith("<figure")
    True
    """
    points = [point for line in lines for point in line.points]
    xs = [x for x, _ in points] + [mark.at for mark in marks]
    low = 0.0 if axes.from_zero else min(xs)
    high = max(max(xs), low + 1e-9)
    top = 1.0 if axes.is_share else nice_top(max(y for _, y in points))

    def place(point: Point) -> Point:
        x = LEFT + (point[0] - low) / (high - low) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - point[1] / top * (HEIGHT - TOP - BOTTOM)
        return x, y

    parts = [_y_axis(axes, top, place, low), _x_axis(axes, low, high, place)]
    for mark in marks:
        x, _ = place((mark.at, 0.0))
        anchor = "end" if x > WIDTH / 2 else "start"
        shift = -6 if x > WIDTH / 2 else 6
        parts.append(
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            f'<text class="mark" x="{x + shift:.1f}" y="{TOP + 10}" text-anchor="{anchor}">'
            f"{escape(mark.name)}</text>"
        )
    for line in lines:
        placed = [place(point) for point in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline class="line {line.look}" points="{path}"/>')
        if len(placed) <= 40:
            parts += [
                f'<circle class="dot {line.look}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
                for x, y in placed
            ]
    title = f"{axes.y} by {axes.x}"
    body = "".join(parts)
    keys = "".join(
        f'<li><span class="key {line.look}"></span>{escape(line.name)}</li>' for line in lines
    )
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'{body}</svg><figcaption><ul class="keys">{keys}</ul></figcaption></figure>'
    )


def nice_top(value: float) -> float:
    """The end of an axis: the next round number.

    >>> nice_top(0.83), nice_top(3.2), nice_top(0.0)
    (1.0, 4.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value)


def _y_axis(axes: Axes, top: float, place: Place, low: float) -> str:
    parts = []
    for tick in range(NUM_TICKS + 1):
        value = top * tick / NUM_TICKS
        x, y = place((low, value))
        shown = f"{value:.0%}" if axes.is_share else f"{value:g}"
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>'
        )
    return "".join(parts)


def _x_axis(axes: Axes, low: float, high: float, place: Place) -> str:
    parts = []
    for tick in range(NUM_TICKS + 1):
        value = low + (high - low) * tick / NUM_TICKS
        x, y = place((value, 0.0))
        shown = f"{value:.0%}" if axes.x == "confidence" else f"{round(value):,}"
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{shown}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="title" x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(axes.x)}</text>"
    )
    return "".join(parts)

"""Plots as PNG (extra `[plot]`): bars with intervals, reliability diagrams, maps of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import write_atomically
from softquery.errors import InputError, MissingExtra
from softquery.explain.fonts import choose_fonts
from softquery.explain.lettering import visible

PLAIN, MARKED = "#bbbbbb", "#4c72b0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """The score of one system, from 0 to 1, with its confidence interval."""

    name: str
    share: float
    low: float
    high: float
    is_baseline: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BarPanel:
    """Bars that belong together, under one title."""

    title: str
    bars: Sequence[Bar]


def draw_bars(panels: Sequence[BarPanel], path: Path, *, label: str) -> None:
    """Draw panels side by side; the first bar is on top, a dashed line marks the best baseline.

    Args:
        panels: At least one.
        path: Where to write.
        label: What is measured.

    Raises:
        MissingExtra: Without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", needed_for="drawing bars") from None
    most = max(len(panel.bars) for panel in panels)
    size = (1.5 + 4.5 * len(panels), 1.4 + 0.36 * most)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)
    for axes, panel in zip(grid[0], panels, strict=True):
        _draw_panel(axes, panel)
        axes.set_xlabel(f"{label}, 95 % interval")
    with write_atomically(path, "wb") as handle:
        figure.savefig(handle, dpi=120, format="png")


def _draw_panel(axes: Any, panel: BarPanel) -> None:
    bars, places = panel.bars, range(len(panel.bars))
    reach = [
        [max(0.0, bar.share - bar.low) for bar in bars],
        [max(0.0, bar.high - bar.share) for bar in bars],
    ]
    colours = [PLAIN if bar.is_baseline else MARKED for bar in bars]
    shares = [bar.share for bar in bars]
    axes.barh(places, shares, xerr=reach, color=colours, error_kw={"lw": 1, "capsize": 2})
    for place, bar in enumerate(bars):
        axes.text(bar.high, place, f"  {100 * bar.share:.1f}", va="center", fontsize=9)
    if baselines := [bar.share for bar in bars if bar.is_baseline]:
        axes.axvline(max(baselines), color="#777777", lw=1, ls="--")
    axes.set_yticks(places, [bar.name for bar in bars], parse_math=False)
    axes.invert_yaxis()
    lowest, highest = min(bar.low for bar in bars), max(bar.high for bar in bars)
    axes.set_xlim(max(0.0, lowest - 0.1), highest + 0.12)
    axes.set_xticks(
        [tick for tick in axes.get_xticks() if tick <= 1.0]
    )  # leaves room for the last label
    axes.set_xlim(max(0.0, lowest - 0.1), highest + 0.12)  # setting ticks may have widened it
    axes.set_title(panel.title, parse_math=False)


class Bin(Protocol):
    """Rows of similar confidence."""

    @property
    def confidence(self) -> float:
        """The mean confidence of these rows."""

    @property
    def accuracy(self) -> float:
        """The share of these rows that is right."""


def draw_reliability(before: Sequence[Bin], after: Sequence[Bin], path: Path) -> None:
    """Draw accuracy against confidence, before and after calibration.

    A model whose probabilities mean what they say lies on the diagonal (Guo et al. 2017, Figure 1).
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", needed_for="a reliability diagram") from None
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#999999", lw=1, ls="--", label="means what it says")
    for bins, name, colour in ((before, "before", "#dd8452"), (after, "calibrated", "#4c72b0")):
        points = [(each.confidence, each.accuracy) for each in bins]
        axes.plot(*zip(*points, strict=True), marker="o", ms=4, color=colour, label=name)
    lowest = min(each.confidence for each in (*before, *after))
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(max(0, lowest - 0.05), 1), ylim=(0, 1))
    axes.legend(frameon=False)
    with write_atomically(path, "wb") as handle:
        figure.savefig(handle, dpi=120, format="png")


ENDING = ".png"
_INK, _POINT, _ARROW = "#222222", "#4c72b0", "#dd8452"


def require_png(path: str | PathLike[str]) -> None:
    """Refuse a file name that does not end in .png; cheap enough to call before any work.

    >>> require_png("map.svg")
    Traceback (most recent call last):
    softquery.errors.InputError: map.svg: expected a name that ends in .png
    """
    if Path(path).suffix.lower() != ENDING:
        raise InputError(f"expected a name that ends in {ENDING}", source=path)


def draw_word_map(
    words: Sequence[str],
    points: NDArray[np.float32],
    path: str | PathLike[str],
    *,
    arrows: Sequence[tuple[int, int]] = (),
) -> None:
    """Draw words as points in a plane.

    Args:
        words: The label of each point.
        points: Two coordinates per word.
        path: The file.
        arrows: Pairs of indices: from which word to which an arrow leads.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", needed_for="a map of words") from None
    require_png(path)
    fonts = choose_fonts(words)
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(points[:, 0], points[:, 1], s=14, color=_POINT, zorder=2)
    for start, end in arrows:
        style = {"arrowstyle": "->", "color": _ARROW, "lw": 1.2, "shrinkA": 4, "shrinkB": 4}
        axes.annotate("", xy=points[end], xytext=points[start], arrowprops=style, zorder=1)
    for word, (x, y) in zip(words, points.tolist(), strict=True):
        shown = fonts.drawable(visible(word))
        axes.annotate(
            shown,
            (x, y),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=9 if len(words) <= 60 else 6,
            color=_INK,
            family=fonts.families_for(shown),
            parse_math=False,
        )
    axes.set(xlabel="first principal axis", ylabel="second principal axis")
    axes.margins(0.12)
    with write_atomically(path, "wb") as handle:
        figure.savefig(handle, dpi=150, format="png")

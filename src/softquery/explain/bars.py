"""Shares that several systems got right, as bars with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softquery.atomic import write_whole
from softquery.errors import MissingExtra

PLAIN, MARKED = "#bbbbbb", "#4c72b0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One system: its share from 0 to 1, and the interval."""

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
    """Panels side by side as a PNG; the first bar is on top, a dashed line is the best baseline.

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
    with write_whole(path, "wb") as handle:
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
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1.0])  # room for the last label
    axes.set_xlim(max(0.0, lowest - 0.1), highest + 0.12)  # which ticks may have widened
    axes.set_title(panel.title, parse_math=False)

"""A reliability diagram: how often answers of each confidence are right."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from softquery.atomic import write_whole
from softquery.errors import MissingExtra


class Bin(Protocol):
    """Rows of like confidence."""

    @property
    def confidence(self) -> float:
        """Their mean confidence."""

    @property
    def accuracy(self) -> float:
        """The share of them that is right."""


def draw_reliability(before: Sequence[Bin], after: Sequence[Bin], path: Path) -> None:
    """Accuracy against confidence before and after calibration, as a PNG.

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
    with write_whole(path, "wb") as handle:
        figure.savefig(handle, dpi=120, format="png")

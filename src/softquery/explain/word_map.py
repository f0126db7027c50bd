"""Words as points in a plane."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import write_whole
from softquery.errors import InputError, MissingExtra
from softquery.explain.fonts import choose_fonts
from softquery.explain.markup import visible

ENDING = ".png"
_INK, _POINT, _ARROW = "#222222", "#4c72b0", "#dd8452"


def require_png(path: str | PathLike[str]) -> None:
    """Refuse another ending; cheap, so it can be asked before any work.

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
    """Draw words where they lie, as a PNG.

    Args:
        words: What is written beside each point.
        points: Two numbers a word.
        path: The file.
        arrows: From which word to which an arrow leads, by their places.
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
    with write_whole(path, "wb") as handle:
        figure.savefig(handle, dpi=150, format="png")

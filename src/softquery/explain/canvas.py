"""A canvas of matplotlib (extra `[plot]`) in the units of the layouts; PNG on white."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from softquery.atomic import write_bytes
from softquery.errors import MissingExtra
from softquery.explain.colours import Side
from softquery.explain.fonts import Fonts, choose_fonts

_UNITS_PER_INCH, _POINTS_PER_INCH = 96, 72
_DOTS_PER_INCH = 192
_MOST_DOTS = 40e6
"""A larger picture gets fewer dots per inch: 400 words per side would take gigabytes."""
TEXT, QUIET, CHOSEN, BAR, TRACK = "#1b1a2b", "#6a6a80", "#1f8a5b", "#a9abc0", "#eeeff6"
INK: dict[Side, str] = {"first": "#4038b4", "second": "#a14b10"}


def require_matplotlib() -> None:
    """Raise `MissingExtra` where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("plot", needed_for="drawing a PNG") from error


def new_canvas(width: float, height: float, texts: Iterable[str]) -> "Canvas":
    """A white canvas of this size, with fonts that can draw the texts."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / _UNITS_PER_INCH, height / _UNITS_PER_INCH), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return Canvas(axes=axes, fonts=choose_fonts(texts))


def write_canvas(canvas: "Canvas", path: str | PathLike[str]) -> Path:
    """Write the drawing to a file, atomically."""
    figure = canvas.axes.figure
    width, height = figure.get_size_inches()
    contents = BytesIO()
    dots = min(_DOTS_PER_INCH, (_MOST_DOTS / (width * height)) ** 0.5)
    figure.savefig(contents, format="png", dpi=dots)
    write_bytes(path, contents.getvalue())
    return Path(path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Canvas:
    """matplotlib's axes in the units of the layout, with an origin that can be moved."""

    axes: Any
    fonts: Fonts
    x: float = 0.0
    y: float = 0.0

    def moved(self, x: float, y: float) -> "Canvas":
        """The same canvas with its origin moved by (x, y)."""
        return Canvas(axes=self.axes, fonts=self.fonts, x=self.x + x, y=self.y + y)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        colour: str = TEXT,
        anchor: str = "left",
        weight: str = "normal",
        angle: float = 0.0,
    ) -> Any:
        """Draw text on a baseline, as SVG does; dollar signs do not start formulas."""
        drawable = self.fonts.drawable(text)
        families = self.fonts.families_for(drawable)
        return self.axes.text(
            self.x + x,
            self.y + y,
            drawable,
            fontsize=size * _POINTS_PER_INCH / _UNITS_PER_INCH,
            color=colour,
            ha=anchor,
            va="baseline",
            weight=weight if len(families) == 1 else "normal",  # few other fonts have a bold face
            rotation=angle,
            rotation_mode="anchor",
            family=families,
            parse_math=False,
        )

    def run(self, x: float, y: float, parts: Sequence[tuple[str, str]], *, size: float) -> None:
        """Draw parts of a line in bold, each in a colour of its own, one behind the other."""
        for text, colour in parts:
            self.text(x, y, text, size=size, colour=colour, weight="bold")
            # Spaces at the ends have no ink, so that the text is measured between letters.
            x += self._width(f"x{text}x", size) - self._width("xx", size)

    def _width(self, text: str, size: float) -> float:
        """The width of a text in bold."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        drawn = self.text(0, 0, text, size=size, weight="bold")
        figure = self.axes.figure
        agg: Any = FigureCanvasAgg(figure)
        box = drawn.get_window_extent(agg.get_renderer())
        drawn.remove()
        return float(box.width) * _UNITS_PER_INCH / float(figure.dpi)

    def frame(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw the outline of a rectangle."""
        from matplotlib.patches import Rectangle

        corner = (self.x + x, self.y + y)
        line = Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=1.5)
        self.axes.add_patch(line)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a filled rectangle."""
        from matplotlib.patches import Rectangle

        corner = (self.x + x, self.y + y)
        self.axes.add_patch(Rectangle(corner, width, height, color=colour, linewidth=0))

"""Pictures of where an answer looked: the mean first, then every layer and head."""

import base64
import hashlib
from io import BytesIO
from pathlib import Path

from softquery.atomic import write_bytes
from softquery.errors import MissingExtra
from softquery.explain.fonts import choose_fonts
from softquery.explain.generation import GenerationAlignment, Weights
from softquery.explain.heat_map import HeatMap, cell_size
from softquery.explain.lettering import fitted
from softquery.explain.markup import escaped, isolated, visible, visible_token
from softquery.explain.picture import picture_css

PADDING, GAP, HEADING, TITLE = 30.0, 30.0, 96.0, 40.0
SMALL_CELL = 14.0
_PAGE = (
    "body{margin:0;font-family:system-ui,sans-serif;background:#f4f4f8}"
    "main{padding:24px;overflow-x:auto}"
    "@media (prefers-color-scheme:dark){body{background:#15141f}}"
)


def generation_svg(alignment: GenerationAlignment) -> str:
    """All maps as one SVG that needs nothing but a viewer.

    >>> import numpy as np
    >>> svg = written_svg(WrittenAlignment(
    ...     source="ja", text="yes", source_tokens=("ja",), tokens=("yes",),
    ...     weights=np.ones((1, 1)), score=0.0))
    >>> "<title>yes → ja: 1.00</title>" in svg
    True
    """
    panels = _panels(alignment)
    columns = 1 if alignment.weights.ndim == 2 else alignment.weights.shape[1]
    places, width, height = _places(panels, columns)
    width = max(width, 720.0)
    body = "".join(
        f'<g transform="translate({x:.1f} {y:.1f})">\n'
        f'<text class="title" y="14">{escaped(title)}</text>\n'
        f'<g transform="translate(0 {TITLE - 14:.1f})">{drawing.markup(drawing.top)}</g></g>\n'
        for (title, drawing), (x, y) in zip(panels, places, strict=True)
    )
    source, text = (isolated(visible(each)) for each in (alignment.source, alignment.text))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="what why">\n'
        f'<title id="what">Where “{escaped(text)}” looked</title>\n'
        f'<desc id="why">Attention weights from the answer to “{escaped(source)}”.</desc>\n'
        f"<style>\n{picture_css()}</style>\n"
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}"'
        f' rx="14"/>\n{_heading(alignment, width)}{body}</svg>\n'
    )


def generation_html(alignment: GenerationAlignment) -> str:
    """The same as a page that allows its own styles and nothing else."""
    svg = generation_svg(alignment)
    inner = svg[svg.index("<style>") + 7 : svg.index("</style>")]
    hashes = " ".join(f"'{_hash(style)}'" for style in (_PAGE, inner))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src {hashes}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(isolated(visible(alignment.text)))} · who asked whom?</title>\n"
        f"<style>{_PAGE}</style>\n</head>\n<body>\n<main>\n{svg}</main>\n</body>\n</html>\n"
    )


def generation_png(alignment: GenerationAlignment, path: Path) -> None:
    """The same maps as a PNG, drawn by matplotlib (extra `[plot]`)."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plot", needed_for="drawing a PNG") from error
    heads = alignment.heads()
    maps: list[tuple[str, Weights]] = [("mean", alignment.mean), *heads] if heads else [
        ("", alignment.mean)
    ]  # fmt: skip
    columns = 1 if not heads else alignment.weights.shape[1]
    rows = 1 if not heads else 1 + alignment.weights.shape[0]
    size = max(3.0, 0.28 * max(alignment.weights.shape[-2:]))
    figure = Figure(figsize=(size * columns + 1, size * rows + 0.6), layout="constrained")
    fonts = choose_fonts([alignment.source, alignment.text])
    for place, (title, weights) in enumerate(maps):
        at = 1 if place == 0 else columns + place
        axes = figure.add_subplot(rows, columns, at)
        axes.imshow(weights, vmin=0, vmax=1, cmap="Purples", aspect="auto")
        axes.set_title(title, fontsize=8)
        asked = [visible_token(each) for each in alignment.source_tokens]
        askers = [visible_token(each) for each in alignment.tokens]
        axes.set_xticks(range(len(asked)), asked, rotation=60, fontsize=7, family=fonts.families)
        axes.set_yticks(range(len(askers)), askers, fontsize=7, family=fonts.families)
    made = BytesIO()
    figure.savefig(made, format="png", dpi=120)
    write_bytes(path, made.getvalue())


def _panels(alignment: GenerationAlignment) -> list[tuple[str, HeatMap]]:
    longest = max(alignment.weights.shape[-2:])
    heads = alignment.heads()
    first = "Mean of all layers and heads" if heads else "Each token of the answer asks the source"
    found = [(first, _map(alignment, alignment.mean, cell_size(longest)))]
    return [*found, *((name, _map(alignment, each, SMALL_CELL)) for name, each in heads)]


def _map(alignment: GenerationAlignment, weights: Weights, cell: float) -> HeatMap:
    return HeatMap(
        side="second",
        askers=alignment.tokens,
        asked=alignment.source_tokens,
        weights=weights,
        cell=cell,
    )


def _places(
    panels: list[tuple[str, HeatMap]], columns: int
) -> tuple[list[tuple[float, float]], float, float]:
    """Corners of the maps, and the size of the whole: the first alone, the others in a grid."""
    sizes = [(each.width, each.height(each.top) + TITLE) for _, each in panels]
    places = [(PADDING, PADDING + HEADING)]
    y = PADDING + HEADING + sizes[0][1] + GAP
    width = sizes[0][0]
    for start in range(1, len(panels), columns):
        x, row = PADDING, sizes[start : start + columns]
        for wide, _ in row:
            places.append((x, y))
            x += wide + GAP
        width, y = max(width, x - GAP - PADDING), y + max(high for _, high in row) + GAP
    return places, width + 2 * PADDING, y - GAP + PADDING


def _heading(alignment: GenerationAlignment, width: float) -> str:
    room = width - 2 * PADDING
    model = f" · {visible(alignment.model)}" if alignment.model else ""
    lines = (
        ("note", 11.0, 12.0, f"Who asked whom?{model} · score {alignment.score:.2f}"),
        ("first", 38.0, 16.0, visible(alignment.source)),
        ("second", 64.0, 16.0, visible(alignment.text)),
    )
    drawn = "".join(
        f'<text class="{kind}" y="{y:g}" font-size="{size:g}">'
        f"{escaped(fitted(text, size, room))}</text>\n"
        for kind, y, size, text in lines
    )
    return f'<g transform="translate({PADDING:g} {PADDING:g})">\n{drawn}</g>\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

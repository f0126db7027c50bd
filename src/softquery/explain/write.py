"""Explanations as files: the ending decides the form."""

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path

from softquery.atomic import write_text
from softquery.errors import InputError
from softquery.explain.alignment import PairAlignment
from softquery.explain.data import to_json
from softquery.explain.page import to_html
from softquery.explain.picture import to_svg
from softquery.explain.png import require_matplotlib, to_png

ENDINGS = (".html", ".svg", ".png", ".json")


def write_explanation(alignment: PairAlignment, path: str | PathLike[str]) -> Path:
    """Write the alignment in the form that the path's ending names, whole or not at all."""
    return write_form(
        path,
        html=lambda: to_html(alignment),
        svg=lambda: to_svg(alignment),
        json=lambda: to_json(alignment) + "\n",
        png=lambda target: to_png(alignment, target),
    )


def write_form(
    path: str | PathLike[str],
    *,
    html: Callable[[], str],
    svg: Callable[[], str],
    json: Callable[[], str],
    png: Callable[[Path], object],
) -> Path:
    """Write one of four forms by the path's ending; the others are not made.

    Args:
        path: The file.
        html: Makes a page.
        svg: Makes a picture.
        json: Makes data.
        png: Writes a picture there.
    """
    require_ending(path)
    target = Path(path)
    ending = target.suffix.lower()
    if ending == ".png":
        png(target)
    else:
        write_text(target, {".html": html, ".svg": svg, ".json": json}[ending]())
    return target


def require_ending(path: str | PathLike[str]) -> None:
    """Refuse a name whose ending names no form; cheap, so it can be asked before any work.

    >>> require_ending("why.html")
    >>> require_ending("why.bmp")
    Traceback (most recent call last):
    softquery.errors.InputError: why.bmp: expected a name that ends in .html, .svg, .png or .json
    """
    if Path(path).suffix.lower() not in ENDINGS:
        expected = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(f"expected a name that ends in {expected}", source=fspath(path))


def require_place(path: str | PathLike[str]) -> None:
    """Refuse, before any work, a place where no explanation can go, or what nothing here can draw.

    Raises:
        InputError: If the ending names no form, there is no such folder, or the name is a folder's.
        MissingExtra: If a PNG is asked for and matplotlib is not installed.
    """
    require_ending(path)
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=path)
    if target.is_dir():
        raise InputError("cannot be written (is a folder)", source=path)
    if target.suffix.lower() == ".png":
        require_matplotlib()

"""Writes explanations to files; the ending of a file decides its form."""

import json
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from softquery.atomic import write_text
from softquery.errors import InputError
from softquery.explain.alignment import PairAlignment, one_line_json, to_json
from softquery.explain.canvas import require_matplotlib
from softquery.explain.generation import GenerationAlignment
from softquery.explain.html import text_to_html, to_html
from softquery.explain.maps.maps_html import generation_html, self_html
from softquery.explain.maps.maps_png import generation_png, self_png
from softquery.explain.maps.maps_svg import generation_svg, self_svg
from softquery.explain.png import text_to_png, to_png
from softquery.explain.self_attention import SelfAttention
from softquery.explain.svg import text_to_svg, to_svg
from softquery.explain.text_weights import TextWeights
from softquery.language import ENGLISH, speaking

Explanation: TypeAlias = PairAlignment | TextWeights | GenerationAlignment | SelfAttention

ENDINGS = (".html", ".svg", ".png", ".json")


def text_to_json(shown: TextWeights) -> str:
    """The weights as one JSON object on one line; Chinese stays readable."""
    return one_line_json(shown.to_dict())


def _maps_to_json(alignment: GenerationAlignment | SelfAttention) -> str:
    return json.dumps(alignment.to_dict(), ensure_ascii=False)


class _Forms(NamedTuple):
    """What makes each form of one kind of explanation; `png` writes the file itself."""

    html: Callable[[Any], str]
    svg: Callable[[Any], str]
    json: Callable[[Any], str]
    png: Callable[[Any, Path], object]


_FORMS: dict[type[Explanation], _Forms] = {
    PairAlignment: _Forms(to_html, to_svg, to_json, to_png),
    TextWeights: _Forms(text_to_html, text_to_svg, text_to_json, text_to_png),
    GenerationAlignment: _Forms(generation_html, generation_svg, _maps_to_json, generation_png),
    SelfAttention: _Forms(self_html, self_svg, _maps_to_json, self_png),
}


def write_explanation(shown: Explanation, path: str | PathLike[str]) -> Path:
    """Write an explanation atomically, in the form that the path's ending names.

    Raises:
        InputError: If the ending names no form, or the file cannot be written.
        MissingExtra: If a PNG is asked for and matplotlib is not installed.
    """
    require_ending(path)
    target, forms = Path(path), _FORMS[type(shown)]
    ending = target.suffix.lower()
    if ending == ".png":
        with speaking(ENGLISH):  # few fonts of a machine have all characters
            forms.png(shown, target)
    elif ending == ".json":
        write_text(target, forms.json(shown) + "\n")
    else:
        write_text(target, (forms.html if ending == ".html" else forms.svg)(shown))
    return target


def require_ending(path: str | PathLike[str]) -> None:
    """Refuse a file name whose ending names no form; cheap enough to call before any work.

    >>> require_ending("why.html")
    >>> require_ending("why.bmp")
    Traceback (most recent call last):
    softquery.errors.InputError: why.bmp: expected a name that ends in .html, .svg, .png or .json
    """
    if Path(path).suffix.lower() not in ENDINGS:
        expected = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(f"expected a name that ends in {expected}", source=fspath(path))


def require_place(path: str | PathLike[str]) -> None:
    """Check, before any work, that an explanation can be drawn and written to this path.

    Raises:
        InputError: If the ending names no form, there is no such folder, or the path is a folder.
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

"""The weights of a text's words as files: the ending decides the form."""

from os import PathLike
from pathlib import Path

from softquery.explain.data import one_line_json
from softquery.explain.text_page import text_to_html
from softquery.explain.text_picture import text_to_svg
from softquery.explain.text_png import text_to_png
from softquery.explain.text_weights import TextWeights
from softquery.explain.write import write_form


def write_text_weights(shown: TextWeights, path: str | PathLike[str]) -> Path:
    """Write the weights in the form that the path's ending names, whole or not at all."""
    return write_form(
        path,
        html=lambda: text_to_html(shown),
        svg=lambda: text_to_svg(shown),
        json=lambda: text_to_json(shown) + "\n",
        png=lambda target: text_to_png(shown, target),
    )


def text_to_json(shown: TextWeights) -> str:
    """The weights as one JSON object on one line; Chinese stays readable."""
    return one_line_json(shown.to_dict())

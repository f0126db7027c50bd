"""The weights of a text's words as files: the ending decides the form."""

import json
import re
from os import PathLike
from pathlib import Path

from softquery.explain.text_page import text_to_html
from softquery.explain.text_picture import text_to_svg
from softquery.explain.text_png import text_to_png
from softquery.explain.text_weights import TextWeights
from softquery.explain.write import require_ending
from softquery.whole import write_text

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def write_text_weights(shown: TextWeights, path: str | PathLike[str]) -> Path:
    """Write the weights in the form that the path's ending names, whole or not at all."""
    require_ending(path)
    target = Path(path)
    ending = target.suffix.lower()
    if ending == ".png":
        text_to_png(shown, target)
    elif ending == ".html":
        write_text(target, text_to_html(shown))
    elif ending == ".svg":
        write_text(target, text_to_svg(shown))
    else:
        write_text(target, text_to_json(shown) + "\n")
    return target


def text_to_json(shown: TextWeights) -> str:
    """The weights as one JSON object on one line; Chinese stays readable."""
    text = json.dumps(shown.to_dict(), ensure_ascii=False, allow_nan=False)
    # Half of a character can stand in a Python string and in JSON's escapes, but not in UTF-8.
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

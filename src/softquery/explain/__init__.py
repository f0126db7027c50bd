"""Why this answer? Who asked whom, and which words were heard, as data and as pictures.

Everything is written in the base install, SVG and HTML by hand; only PNG needs `[plot]`.
"""

from softquery.explain.alignment import PairAlignment
from softquery.explain.data import from_json, to_json
from softquery.explain.generation import GenerationAlignment
from softquery.explain.page import to_html
from softquery.explain.picture import to_svg
from softquery.explain.png import to_png
from softquery.explain.strongest import Partner, StrongestLinks
from softquery.explain.text_page import text_to_html
from softquery.explain.text_picture import text_to_svg
from softquery.explain.text_png import text_to_png
from softquery.explain.text_weights import HeavyWord, TextWeights
from softquery.explain.write_text_weights import text_to_json

__all__ = [
    "StrongestLinks",
    "HeavyWord",
    "PairAlignment",
    "Partner",
    "TextWeights",
    "GenerationAlignment",
    "from_json",
    "text_to_html",
    "text_to_json",
    "text_to_png",
    "text_to_svg",
    "to_html",
    "to_json",
    "to_png",
    "to_svg",
]

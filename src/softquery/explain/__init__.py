"""Explanations of answers: attention weights as data and as pictures.

JSON, SVG and HTML need only the base install; PNG needs the extra `[plot]`.
"""

from softquery.explain.alignment import PairAlignment, Partner, StrongestLinks, from_json, to_json
from softquery.explain.generation import GenerationAlignment
from softquery.explain.html import text_to_html, to_html
from softquery.explain.png import text_to_png, to_png
from softquery.explain.reasons import Method, Reasons, WordReason
from softquery.explain.self_attention import SelfAttention
from softquery.explain.svg import text_to_svg, to_svg
from softquery.explain.text_weights import HeavyWord, TextWeights
from softquery.explain.write import text_to_json

__all__ = [
    "StrongestLinks",
    "HeavyWord",
    "PairAlignment",
    "SelfAttention",
    "Partner",
    "Method",
    "Reasons",
    "WordReason",
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

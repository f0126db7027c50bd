"""Why did these two match? Who asked whom, as data and as pictures.

Everything is written in the base install, SVG and HTML by hand; only PNG needs `[plot]`.
"""

from softquery.explain.alignment import PairAlignment
from softquery.explain.data import from_json, to_json
from softquery.explain.page import to_html
from softquery.explain.picture import to_svg
from softquery.explain.png import to_png
from softquery.explain.strongest import Asking, Partner
from softquery.explain.written import WrittenAlignment

__all__ = [
    "Asking",
    "PairAlignment",
    "Partner",
    "WrittenAlignment",
    "from_json",
    "to_html",
    "to_json",
    "to_png",
    "to_svg",
]

"""What notebooks show of explanations: a picture that stands by itself, and a short line."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pytest

from softquery.explain import GenerationAlignment, PairAlignment, TextWeights
from softquery.explain.notebook import table_html

NASTY = '</style><script>"&\x00 &amp; כלב'
SHOWN = {
    "pair": PairAlignment(
        first=NASTY, second="b", first_tokens=(NASTY,), second_tokens=("b",),
        first_to_second=np.ones((1, 1)), second_to_first=np.ones((1, 1)),
        label="same", score=0.75, probabilities={"other": 0.25, "same": 0.75},
    ),
    "text": TextWeights(
        text=NASTY, sentences=((NASTY,),), word_weights=(np.array([1.0]),),
        label="good", score=0.75, probabilities={"bad": 0.25, "good": 0.75},
    ),
    "generation": GenerationAlignment(
        source=NASTY, text="yes", source_tokens=(NASTY,), tokens=("yes",),
        weights=np.ones((1, 1)), score=-0.5,
    ),
}  # fmt: skip
every = pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)


@every
def test_the_picture_is_an_image_that_keeps_its_styles(shown):
    page = shown._repr_html_()
    (image,) = ElementTree.fromstring(f"<p>{page[:-1]}/></p>")
    assert image.tag == "img"
    kind, _, data = image.attrib["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert ElementTree.fromstring(b64decode(data)).tag.endswith("svg")
    assert NASTY[:8] in image.attrib["alt"]
    assert "<style" not in page
    assert "<script" not in page


@every
def test_a_line_is_short_and_holds_no_arrays(shown):
    line = repr(shown)
    assert re.fullmatch(r"\w+\('.*', .*score=-?0\.\d+\)", line)
    assert "array" not in line
    assert len(line) < 200


def test_long_texts_are_cut_in_a_line():
    pair = SHOWN["pair"]
    long = PairAlignment(**{**pair.to_dict(), "first": "a" * 10_000})
    assert len(repr(long)) < 250


def test_a_table_holds_text_and_no_markup():
    page = table_html("<b>", ["score", "question"], [{"score": 0.12345, "question": NASTY}, {}])
    cells = [cell.text for cell in ElementTree.fromstring(page).iter("td")]
    assert cells[0] == "0.123"
    assert cells[1].startswith("\u2068</style><script>")
    assert cells[2:] == [None, None]

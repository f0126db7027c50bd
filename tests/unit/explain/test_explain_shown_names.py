"""What pictures say in place of labels, marks and pieces: words that people know."""

import json
import re

import numpy as np
import pytest
from explain_samples import aligned, small

from softquery.explain import GenerationAlignment, PairAlignment
from softquery.explain.html import to_html
from softquery.explain.layout import HEADING, TITLE_AT, arrange, map_width
from softquery.explain.maps.maps_html import generation_html
from softquery.explain.png import to_png
from softquery.explain.reasons import Reasons
from softquery.explain.svg import to_svg
from softquery.language import speaking

NAMES = {
    "0": {"en": "different meaning", "zh": "意思不同"},
    "1": {"en": "same meaning", "zh": "意思相同"},
}
ANSWER = {"label": "0", "score": 0.2, "probabilities": {"0": 0.8, "1": 0.2}}


def named(**changes):
    reasons = Reasons(
        answer="0",
        method="left out",
        words=(("i", "eat"), ("eats",)),
        changes=(np.array([0.1, 1.0]), np.array([-0.5])),
        score=1.4,
        probability=0.8,
        probabilities=(np.array([0.78, 0.6]), np.array([0.87])),
    )
    return small(**ANSWER, label_names=NAMES, reasons=reasons, **changes)


@pytest.mark.parametrize("draw", [to_svg, to_html])
def test_labels_are_called_by_their_names(draw):
    drawn = draw(named())
    assert drawn.count("different meaning") >= 3  # the answer, its bar, and the reasons
    assert "same meaning" in drawn
    with speaking("zh_CN"):
        assert "“意思不同”" in draw(named())


def test_data_keep_the_labels():
    data = named().to_dict()
    assert (data["label"], list(data["probabilities"])) == ("0", ["0", "1"])
    assert "label_names" not in data
    assert PairAlignment.from_dict(json.loads(json.dumps(data))) == named()


def test_all_names_are_left_out_where_one_has_no_room():
    long = {**NAMES, "1": {"en": "neither follows from it nor contradicts it"}}
    drawn = to_svg(small(**ANSWER, label_names=long))
    assert "meaning" not in drawn
    assert "follows" not in drawn


def test_an_answer_within_the_text_is_marked():
    alignment = aligned(
        ("who", "slept", "?"),
        ("now", "Ada", "slept"),
        sides=("question", "text"),
        found=range(1, 2),
    )
    page, svg = to_html(alignment), to_svg(alignment)
    assert re.findall(r'class="chip found"[^>]*><bdi class="token">(\w+)', page) == ["Ada"]
    assert svg.count('<rect class="found"') == 2
    for drawn in (page, svg):
        assert len(re.findall(r'strong"[^>]*>Ada<', drawn)) == 2
        assert "first sentence" not in drawn


def test_marks_of_the_ends_have_no_chips():
    page = to_html(aligned(("<bos>", "i", "eat", "<eos>"), ("[CLS]", "eats", "[SEP]")))
    chips = re.findall(
        r'<button [^>]*class="chip"[^>]*?( hidden)?><bdi class="token">([^<]*)', page
    )
    assert [text for hidden, text in chips if not hidden] == ["i", "eat", "eats"]
    assert len(chips) == 7


def test_a_generated_text_has_threads_to_its_source():
    page = generation_html(
        GenerationAlignment(
            source="ein Fahrrad",
            text="a bicycle",
            source_tokens=("▁ein", "▁Fahr", "rad"),
            tokens=("▁a", "▁bicycle"),
            weights=np.full((2, 3), 1 / 3),
            score=-0.5,
        )
    )
    data = json.loads(re.search(r'id="weights">(.*?)</script>', page).group(1))
    assert data["first"] is None
    assert np.shape(data["second"]) == (2, 3)
    found = re.findall(r'<bdi class="token">([^<]*)', page)
    assert found == ["ein", "Fahr", "##rad", "a", "bicycle"]
    assert re.search(r'<fieldset class="switch" hidden>', page)


def test_headings_of_a_png_are_in_the_colours_of_both_texts(tmp_path):
    images = pytest.importorskip("matplotlib.image")
    alignment = small()
    to_png(alignment, tmp_path / "why.png")
    layout = arrange(alignment)
    drawn = np.round(images.imread(tmp_path / "why.png")[:, :, :3] * 255).astype(int)
    scale = len(drawn) / layout.height
    for x, y in layout.maps_at:
        title = drawn[int((y - HEADING) * scale) : int((y - HEADING + TITLE_AT) * scale)]
        right = int((x + map_width(layout.maps[0])) * scale)
        found = set(map(tuple, title[:, int(x * scale) : right].reshape(-1, 3).tolist()))
        assert {(0x40, 0x38, 0xB4), (0xA1, 0x4B, 0x10), (0x1B, 0x1A, 0x2B)} <= found

"""Pictures and pages of reasons: every word in its colour, and nothing outside of the picture."""

from xml.etree import ElementTree

import numpy as np
import pytest
from explain_samples import HOSTILE, any_tokens, small
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.explain import (
    GenerationAlignment,
    Reasons,
    SelfAttention,
    TextWeights,
    text_to_html,
    text_to_svg,
    to_html,
    to_svg,
)
from softquery.explain.colours import level_class
from softquery.explain.layout import PADDING, arrange
from softquery.explain.maps.maps_layout import arrange_maps
from softquery.explain.maps.maps_svg import generation_svg, self_svg


def made_up(*sentences, answer="same", method="left out", seed=0):
    """Reasons with random changes."""
    rng = np.random.default_rng(seed)
    is_left_out = method == "left out"
    return Reasons(
        answer=answer,
        method=method,
        score=1.0,
        probability=0.7,
        words=tuple(map(tuple, sentences)),
        changes=tuple(rng.normal(size=len(words)) * 2 for words in sentences),
        probabilities=tuple(rng.random(len(words)) for words in sentences) if is_left_out else (),
        base=None if is_left_out else 0.25,
    )


def of_text(*sentences, **changes):
    words = [np.full(len(each), 1 / max(1, len(each))) for each in sentences]
    values = {
        "text": " ".join(map(" ".join, sentences)), "sentences": sentences,
        "word_weights": tuple(words), "label": "good", "score": 0.7,
        "probabilities": {"bad": 0.3, "good": 0.7},
        "reasons": made_up(*sentences),
        "contributions": made_up(*sentences, method="added up"),
    }  # fmt: skip
    return TextWeights(**{**values, **changes})


@settings(max_examples=15, deadline=None)
@given(any_tokens, any_tokens, st.sampled_from(["same", "", *HOSTILE]))
def test_any_words_give_valid_pictures_and_pages(first, second, answer):
    pair = small(reasons=made_up(first, second, answer=answer))
    root = ElementTree.fromstring(to_svg(pair))
    assert root.tag.endswith("svg")
    page = to_html(pair)
    assert "<script>alert" not in page
    assert "<img" not in page
    shown = of_text(tuple(first), tuple(second))
    ElementTree.fromstring(text_to_svg(shown))
    assert "<script" not in text_to_html(shown)


def test_words_have_the_colour_of_their_change_and_say_what_it_means():
    reasons = Reasons(
        answer="same", method="left out", score=1.0, probability=0.7,
        words=(("i", "eat"), ("eats",)), changes=(np.array([2.0, -1.0]), np.array([0.01])),
        probabilities=(np.array([0.25, 0.9]), np.array([0.7])),
    )  # fmt: skip
    svg, page = to_svg(small(reasons=reasons)), to_html(small(reasons=reasons))
    for drawn in (svg, page):
        assert level_class("for", 1.0) in drawn
        assert level_class("against", 0.5) in drawn
        assert "What does “same” owe to each word?" in drawn
        assert "+2.00" in drawn
        assert "−1.00" in drawn
    assert "<title>i: +2.00; 25.0% without it</title>" in svg
    assert 'title="−1.00; 90.0% without it"' in page
    assert "owe to each word" not in to_svg(small())
    assert "owe to each word" not in to_html(small())


@pytest.mark.parametrize("count", [1, 12, 200])
def test_reasons_stay_in_the_picture_and_above_the_maps(count):
    words = [f"word{number}" for number in range(count)]
    layout = arrange(small(reasons=made_up(words, words)))
    placed = layout.reasons
    ends = [PADDING + word.x + word.width for word in placed.layout.words]
    assert max(ends) <= layout.width - PADDING + 1e-6
    lowest = placed.y + max(word.y for word in placed.layout.words) + 40
    assert lowest <= placed.rule_at < min(y for _, y in layout.maps_at) - 40
    boxes = [(word.x, word.y) for word in placed.layout.words]
    assert len(set(boxes)) == 2 * count


def test_a_text_shows_what_was_left_out_then_what_adds_up_then_its_weights():
    svg = text_to_svg(of_text(("so", "good")))
    titles = [
        "What does “same” owe to each word?",
        "What does the state of each word add to “same”?",
        ">Which words was the answer read off?<",
    ]
    places = [svg.index(title) for title in titles]
    assert places == sorted(places)
    alone = text_to_svg(of_text(("so", "good"), reasons=None, contributions=None))
    assert "owe" not in alone


def test_pngs_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for number, shown in enumerate((small(reasons=made_up(["i"], ["猫"])), of_text(("a", "$b$")))):
        assert shown.plot(tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")


MAPS = [
    GenerationAlignment(
        source="ein Mann", text="a man", source_tokens=("ein", "Mann"), tokens=("a", "man"),
        weights=np.full((2, 3, 2, 2), 0.5), score=-0.5, model="tiny",
    ),
    SelfAttention(text="it sat", tokens=("it", "sat"), weights=np.full((2, 3, 2, 2), 0.5)),
]  # fmt: skip


@pytest.mark.parametrize("shown", MAPS, ids=["generation", "self"])
def test_maps_of_heads_lie_in_a_grid_below_the_first_one(shown):
    layout = arrange_maps(shown)
    assert [panel.name for panel in layout.panels][:2] == ["", "layer 1, head 1"]
    assert len(layout.panels) == 7
    assert len({panel.y for panel in layout.panels}) == 3
    assert layout.rule_at < layout.panels[0].y < layout.panels[1].y
    for panel in layout.panels:
        assert panel.x + panel.drawing.width <= layout.width - PADDING + 1e-6
        assert panel.y + panel.drawing.height(panel.drawing.top) < layout.height
    svg = (generation_svg if isinstance(shown, GenerationAlignment) else self_svg)(shown)
    assert "rows ask, columns are asked" in svg
    assert svg.count('class="row"') == 2 * 7


@pytest.mark.parametrize("shown", MAPS, ids=["generation", "self"])
def test_every_form_of_maps_has_the_style_of_pairs(shown, tmp_path):
    page = shown.plot(tmp_path / "why.html").read_text(encoding="utf-8")
    for part in ("--first-thread", "prefers-color-scheme: dark", 'class="panel', "softquery"):
        assert part in page
    pytest.importorskip("matplotlib")
    from matplotlib import image

    picture = image.imread(shown.plot(tmp_path / "why.png"))
    layout = arrange_maps(shown)
    assert picture.shape[:2] == pytest.approx((2 * layout.height, 2 * layout.width), abs=2)

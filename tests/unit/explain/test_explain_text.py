"""The words of one text and their weights: data, SVG, page and PNG."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from explain_samples import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.explain import TextWeights, text_to_html, text_to_json, text_to_svg

few = settings(max_examples=25, deadline=None)


def shown(sentences, *, with_shares=True, **changes):
    """Weights of these words, drawn at random."""
    rng = np.random.default_rng(1)

    def drawn(count):
        return rng.dirichlet(np.full(count, 0.3)) if count else np.zeros(0)

    values = {
        "text": " ".join(" ".join(words) for words in sentences),
        "sentences": tuple(map(tuple, sentences)),
        "word_weights": tuple(drawn(len(words)) for words in sentences),
        "sentence_weights": drawn(len(sentences)) if with_shares else None,
        "label": "positive",
        "score": 0.7,
        "probabilities": {"negative": 0.3, "positive": 0.7},
        "model": "sentiment-en",
    }
    return TextWeights(**{**values, **changes})


REVIEW = [["Well", "made", "."], ["I", "liked", "it", "!"]]


def test_shares_and_strengths():
    weights = shown([["a", "b"], ["c"]], word_weights=([0.25, 0.75], [1.0]),
                    sentence_weights=[0.36, 0.64])  # fmt: skip
    np.testing.assert_allclose(np.concatenate(weights.shares()), [0.09, 0.27, 0.64], rtol=1e-6)
    assert sum(each.sum() for each in weights.shares()) == pytest.approx(1)
    # √0.36 · 0.25, √0.36 · 0.75, √0.64 · 1, over the largest
    wanted = np.array([0.6 * 0.25, 0.6 * 0.75, 0.8]) / 0.8
    np.testing.assert_allclose(np.concatenate(weights.strengths()), wanted, rtol=1e-6)
    assert [(heavy.word, heavy.sentence, heavy.position) for heavy in weights.heaviest(2)] == [
        ("c", 1, 0),
        ("b", 0, 1),
    ]


def test_weights_are_copies_that_nobody_can_change():
    given = np.array([0.5, 0.5], dtype=np.float32)
    weights = shown([["a", "b"]], word_weights=(given,), with_shares=False)
    given[0] = 1
    assert weights.word_weights[0].tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        weights.word_weights[0][0] = 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"word_weights": ([0.5, 0.5],)}, "1 arrays of weights for 2 sentences"),
        ({"word_weights": ([1.0], [1.0, 0, 0, 0])}, r"word_weights must have shape \(3,\), got"),
        ({"word_weights": ([0.5, 0.6, 0.7], [1.0, 0, 0, 0])}, "sum to at most 1"),
        ({"sentence_weights": [1.0]}, r"sentence_weights must have shape \(2,\)"),
        ({"sentence_weights": [-0.5, 0.5]}, "weights of at least 0"),
        ({"sentence_weights": [np.nan, 0.5]}, "weights of at least 0"),
    ],
)
def test_weights_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        shown(REVIEW, **changes)


def test_json_holds_every_bit():
    weights = shown(REVIEW)
    found = json.loads(text_to_json(weights))
    assert found["sentences"] == REVIEW
    for one, other in zip(found["word_weights"], weights.word_weights, strict=True):
        assert np.array(one, dtype=np.float32).tolist() == other.tolist()
    assert found["label"] == "positive"
    assert json.loads(text_to_json(shown(REVIEW, with_shares=False)))["sentence_weights"] is None


@pytest.mark.parametrize("with_shares", [True, False])
def test_svg_shows_every_word_with_its_weight(with_shares):
    weights = shown(REVIEW, with_shares=with_shares)
    root = ElementTree.fromstring(text_to_svg(weights))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    wanted = [
        f"{word}: {weight:.2f}"
        for words, row in zip(REVIEW, weights.word_weights, strict=True)
        for word, weight in zip(words, row, strict=True)
    ]
    assert [title for title in titles if title in wanted] == wanted
    assert sum(title.startswith("sentence: ") for title in titles) == (2 if with_shares else 0)


def test_words_stay_on_the_paper():
    root = ElementTree.fromstring(text_to_svg(shown([["word"] * 300, ["我"] * 300])))
    width, height = float(root.get("width")), float(root.get("height"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width
        assert float(box.get("y", 0)) + float(box.get("height")) <= height


def test_the_page_stands_alone_and_has_no_script():
    page = text_to_html(shown(REVIEW))
    assert "script-src 'none'" in page
    assert "<script" not in page
    assert re.findall(r"(?:src|href)=", page) == []
    assert page.count('class="word ') == 7
    assert page.count('class="share ') == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_users_text_stays_text(text):
    weights = shown([[text, "b"], [text]], text=text, label=text, model=text,
                    probabilities={text: 1.0})  # fmt: skip
    root = ElementTree.fromstring(text_to_svg(weights))
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "line", "g"
    }  # fmt: skip
    page = text_to_html(weights)
    assert "<script" not in page
    assert "<img" not in page
    json.loads(text_to_json(weights))
    text_to_json(weights).encode()
    page.encode()


@few
@given(st.lists(st.lists(st.text(max_size=8), max_size=9), max_size=4), st.booleans())
def test_anything_can_be_drawn(sentences, with_shares):
    weights = shown(sentences, with_shares=with_shares)
    ElementTree.fromstring(text_to_svg(weights))
    assert text_to_html(weights).endswith("</html>\n")


def test_nothing_to_show_is_said():
    weights = shown([], with_shares=True)
    assert "there is no word" in text_to_svg(weights)
    assert "there is no word" in text_to_html(weights)


def test_the_ending_decides_the_form(tmp_path):
    weights = shown(REVIEW)
    for name, wanted in (("a.svg", text_to_svg), ("b.html", text_to_html)):
        assert weights.plot(tmp_path / name).read_text(encoding="utf-8") == wanted(weights)
    assert weights.plot(tmp_path / "c.json").read_text("utf-8") == text_to_json(weights) + "\n"
    with pytest.raises(InputError, match=r"expected a name that ends in \.html, \.svg, \.png or"):
        weights.plot(tmp_path / "why.bmp")


def test_a_png_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for place, weights in enumerate((shown(REVIEW), shown([], with_shares=False))):
        content = weights.plot(tmp_path / f"why-{place}.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"

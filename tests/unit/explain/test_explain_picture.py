import re
from xml.etree import ElementTree

import numpy as np
import pytest
from explain_samples import HOSTILE, aligned, alignments, random_weights, small
from hypothesis import given, settings

from softquery.explain import to_svg
from softquery.explain.heat_map import cell_size
from softquery.explain.layout import arrange
from softquery.explain.lettering import visible_token

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {"svg", "title", "desc", "style", "rect", "circle", "line", "text", "tspan", "g"}


def parsed(alignment):
    return ElementTree.fromstring(to_svg(alignment).encode("utf-8"))


def texts(root, name="text"):
    return ["".join(each.itertext()) for each in root.iter(SVG + name)]


def cells(root, side):
    rows = [each for each in root.iter(SVG + "g") if each.get("data-side") == side]
    return [row.findall(SVG + "rect") for row in rows]


def tooltips(root):
    return [each.findtext(SVG + "title") for each in root.iter(SVG + "rect") if len(each)]


@settings(max_examples=60, deadline=None)
@given(alignments())
def test_any_text_and_any_weights_give_valid_xml(alignment):
    root = parsed(alignment)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= KNOWN
    for each in root.iter():
        assert not [name for name in each.attrib if name.startswith("on") or "href" in name]
    num_first, num_second = len(alignment.first_tokens), len(alignment.second_tokens)
    drawn = num_first if num_second else 0, num_second if num_first else 0
    assert (len(cells(root, "first")), len(cells(root, "second"))) == drawn
    assert all(len(row) == num_second for row in cells(root, "first"))
    assert all(len(row) == num_first for row in cells(root, "second"))


def test_every_hostile_token_is_shown_as_text():
    tokens = [token for token in HOSTILE if len(token) < 12]
    shown = texts(parsed(aligned(tokens, ["b"])))
    assert {visible_token(token) for token in tokens} <= set(shown)
    assert {"-->", "]]><!--", "␣", "∅", "\ufffd"} <= set(shown)


def test_tooltips_name_both_words_and_the_weight():
    found = tooltips(parsed(small()))
    assert found == ["i → eats: 1.00", "eat → eats: 0.42", "eats → i: 0.25", "eats → eat: 0.75"]


def test_cells_have_the_class_of_their_weight_and_numbers_where_they_fit():
    root = parsed(small())
    (strong,), (weak,) = cells(root, "first")
    assert (strong.get("class"), weak.get("class")) == ("a24", "a14")
    numbers = [each for each in root.iter(SVG + "text") if "number" in each.get("class", "")]
    assert [each.text for each in numbers] == ["1", ".42", ".25", ".75"]


def test_both_directions_are_asked_as_questions_and_the_answer_is_given():
    shown = texts(parsed(small()))
    assert "Each word of the first sentence asks the second" in shown
    assert "Each word of the second sentence asks the first" in shown
    assert {"entailment", "70.0%", "20.0%", "10.0%", "Who asked whom? · nli-en"} <= set(shown)


def test_bars_are_as_long_as_the_labels_are_likely():
    root = parsed(small(probabilities={"yes": 1.0, "no": 0.5}, label="no"))
    track = next(each for each in root.iter(SVG + "rect") if each.get("class") == "track")
    bars = [each for each in root.iter(SVG + "rect") if each.get("class", "").startswith("bar")]
    shares = [float(bar.get("width")) / float(track.get("width")) for bar in bars]
    assert shares == pytest.approx([1.0, 0.5])
    assert [bar.get("class") for bar in bars] == ["bar", "bar chosen"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"label": None, "score": 3.84, "probabilities": {}}, {"grade", "3.84"}),
        ({"label": None}, {"answer", "no answer", "70.0%"}),
        ({"label": "1", "probabilities": {}}, {"answer", "1"}),
    ],
)
def test_grades_and_abstentions_are_told_apart(changes, expected):
    assert expected <= set(texts(parsed(small(**changes))))


def test_of_many_labels_the_likeliest_are_shown():
    chances = {f"label{place}": place / 45 for place in range(10)}
    shown = texts(parsed(small(label="label9", probabilities=chances)))
    assert [text for text in shown[:40] if re.fullmatch(r"label\d", text)] == [
        "label9",  # the answer, then the bars
        *("label9", "label8", "label7", "label6", "label5"),
    ]


@pytest.mark.parametrize("num_tokens", [1, 2, 10, 25, 60])
def test_cells_shrink_before_the_picture_grows(num_tokens):
    tokens = [f"word{place}" for place in range(num_tokens)]
    layout = arrange(aligned(tokens, tokens))
    cell = layout.maps[0].cell
    assert cell == cell_size(num_tokens)
    assert 14 <= cell <= 34
    assert layout.maps[0].font_size >= 10
    if num_tokens <= 25:
        assert layout.width < 1300


@pytest.mark.parametrize("num_tokens", [1, 3, 17, 60])
def test_nothing_leaves_the_picture_and_the_maps_stay_apart(num_tokens):
    tokens = ["incomprehensibilities"] * num_tokens
    layout = arrange(aligned(tokens, tokens[:1]))
    (left, right), ((left_x, y), (right_x, _)) = layout.maps, layout.maps_at
    assert left_x + left.width < right_x
    assert right_x + right.width <= layout.width
    assert y + max(left.height(layout.top), right.height(layout.top)) < layout.height


def test_columns_of_single_characters_stand_upright_and_words_are_turned():
    chinese, english = aligned("这个手机", "多少钱"), aligned(["a"], ["elephant", "b"])
    assert [each.angle for each in arrange(chinese).maps] == [0, 0]
    assert arrange(english).maps[0].angle == 45
    assert "rotate(" not in to_svg(chinese)
    assert "rotate(-45)" in to_svg(english)


def test_large_maps_leave_out_what_shows_no_weight():
    tokens = ["a"] * 200
    diagonal = np.eye(200)
    root = parsed(aligned(tokens, tokens, first_to_second=diagonal, second_to_first=diagonal))
    assert len(tooltips(root)) == 400
    assert all(len(row) == 2 for row in cells(root, "first"))  # the ground and one cell


def test_a_long_token_is_cut_and_told_in_full_on_pointing():
    word = "Donaudampfschifffahrtsgesellschaft"
    root = parsed(aligned([word], ["b"]))
    row = next(each for each in root.iter(SVG + "g") if each.get("data-side") == "first")
    label = row.find(SVG + "text")
    assert label.findtext(SVG + "title") == word
    assert "".join(label.itertext()).removeprefix(word).endswith("…")


def test_text_from_right_to_left_survives_and_stays_to_itself():
    root = parsed(aligned(["כלב", "dog"], ["حيوان"]))
    assert "כלב" in texts(root)
    assert "حيوان" in texts(root)
    first, second, *_ = tooltips(root)
    assert first.startswith("\u2068כלב\u2069 → \u2068حيوان\u2069: ")
    assert second.startswith("dog → \u2068حيوان\u2069: ")


def test_long_sentences_are_wrapped_and_cut():
    root = parsed(small(first="word " * 300, second="好" * 300))
    lines = [each for each in root.iter(SVG + "text") if each.get("font-size") == "16"]
    assert len(lines) == 6
    assert [line.text.endswith("…") for line in lines] == [False, False, True] * 2


@pytest.mark.parametrize(("first", "second"), [([], []), ([], ["a"]), (["a"], [])])
def test_empty_sentences_are_drawn_as_such(first, second):
    shown = texts(parsed(aligned(first, second)))
    assert any(text.startswith("there is no word that") for text in shown)


def test_it_follows_the_scheme_of_its_viewer_and_asks_for_nothing():
    svg = to_svg(small())
    assert "@media (prefers-color-scheme: dark)" in svg
    assert "Noto Sans CJK SC" in svg
    assert "url(" not in svg
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]


def test_the_same_alignment_gives_the_same_picture():
    weights = random_weights(3, 3)
    one, two = (aligned("abc", "abd", first_to_second=weights) for _ in range(2))
    assert to_svg(one) == to_svg(two)

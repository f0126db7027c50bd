"""Pictures and pages in Chinese: what is ours is translated, what users wrote is not."""

import re

import numpy as np
import pytest

from softquery.explain import PairAlignment
from softquery.explain.html import to_html
from softquery.explain.svg import read_resource, to_svg
from softquery.language import speaking
from softquery.language.page_templates import localised_template, page_texts

CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.fixture
def alignment():
    return PairAlignment(
        first="answer source",
        second="no answer",
        first_tokens=("answer", "source"),
        second_tokens=("no", "answer"),
        first_to_second=np.array([[0.1, 0.9], [0.5, 0.5]]),
        second_to_first=np.array([[0.5, 0.5], [0.9, 0.1]]),
        label="label",
        score=0.75,
        probabilities={"label": 0.75, "grade": 0.25},
    )


@pytest.mark.parametrize("draw", [to_html, to_svg])
def test_english_is_as_it_was(draw, alignment):
    before = draw(alignment)
    with speaking("zh_CN"):
        assert CHINESE.search(draw(alignment))
    assert draw(alignment) == before
    assert not CHINESE.search(before)


def test_a_page_is_chinese(alignment):
    with speaking("zh_CN"):
        page = to_html(alignment)
    assert '<html lang="zh-CN">' in page
    assert "<h2>谁问了谁？</h2>" in page
    for text in ("第一句", "第二句", "的每个词问", "行在问，列被问", 'aria-label="概率"'):
        assert text in page
    assert "Who asked" not in page


def test_what_users_wrote_stays(alignment):
    """Words, sentences and labels that are called as our headings are."""
    with speaking("zh_CN"):
        page, drawing = to_html(alignment), to_svg(alignment)
    for markup in (page, drawing):
        assert {"answer", "source", "no"} <= set(re.findall(r">([a-z ]+)<", markup))
        assert {"label", "grade"} <= set(re.findall(r">([a-z ]+)<", markup))
        assert "no answer" in markup


@pytest.mark.parametrize("name", ["page.html", "pair_panels.html", "text_panels.html"])
def test_every_text_of_a_template_is_translated(name):
    english = page_texts(localised_template(read_resource(name)))
    with speaking("zh_CN"):
        chinese = page_texts(localised_template(read_resource(name)))
    assert len(chinese) == len(english)
    assert [text for text in chinese if not CHINESE.search(text)] == []

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from explain_samples import HOSTILE, aligned, alignments, small
from hypothesis import given, settings

from softquery.explain import to_html
from softquery.explain.colours import EXPONENT, NUM_LEVELS
from softquery.explain.lettering import json_for_script, shortened, visible_token

KNOWN = {
    *("html", "head", "meta", "title", "style", "script", "body", "main", "section", "footer"),
    *("div", "p", "h1", "h2", "bdi", "span", "ul", "li", "figure", "figcaption"),
    *("fieldset", "legend", "label", "input", "button"),
    *("svg", "g", "rect", "text", "tspan"),
}
VOID = {"meta", "input"}


class Page(HTMLParser):
    """The tags of a page, with the text of some; fails where tags are not closed in order."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.contents = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, dict(attributes), []))

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag
        name, attributes, parts = self.open.pop()
        self.contents.append((name, attributes, "".join(parts)))
        if self.open:
            self.open[-1][2].extend(parts)

    def handle_data(self, data):
        if self.open:
            self.open[-1][2].append(data)

    def texts(self, tag, **expected):
        return [
            text
            for name, attributes, text in self.contents
            if name == tag and expected.items() <= attributes.items()
        ]


def chips(page):
    return page.texts("bdi", **{"class": "token"})


def meta(page, name):
    (found,) = (a["content"] for tag, a in page.tags if a.get("http-equiv") == name)
    return found


@settings(max_examples=60, deadline=None)
@given(alignments())
def test_any_text_and_any_weights_give_a_page_that_parses(alignment):
    html = to_html(alignment)
    html.encode("utf-8")
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= KNOWN
    assert [tag for tag, _ in page.tags].count("script") == 2
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in UNWANTED]
    tokens = alignment.first_tokens + alignment.second_tokens
    assert chips(page) == [shortened(visible_token(token)) for token in tokens]


UNWANTED = {"src", "href", "style", "action", "srcdoc"}


def test_hostile_text_stays_text():
    page = Page(to_html(aligned(HOSTILE, HOSTILE, model=HOSTILE[0], label=HOSTILE[1])))
    assert page.texts("h1") == [HOSTILE[1]]
    assert page.texts("footer") == [f"softquery · {HOSTILE[0]}"]
    assert "$maps${title}$$" in chips(page)


def test_the_policy_allows_the_one_style_and_the_one_script_and_nothing_else():
    page = Page(to_html(small()))
    policy = dict(part.split(" ", 1) for part in meta(page, "Content-Security-Policy").split("; "))
    (style,), (script,) = page.texts("style"), page.texts("script")[1:]

    def allowed(text):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        return f"'sha256-{digest}'"

    assert policy == {
        "default-src": "'none'",
        "style-src": allowed(style),
        "script-src": allowed(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_is_fetched():
    html = to_html(small())
    addresses = set(re.findall(r"\w+://[^\"'\s]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, which the script gives to curves
    assert "url(" not in html
    assert "@import" not in html


def test_the_script_gets_the_weights_and_the_bend_of_the_colours():
    (data,) = Page(to_html(small())).texts("script", id="weights")
    assert json.loads(data) == {
        "first": [[1.0], [0.42]],
        "second": [[0.25, 0.75]],
        "levels": NUM_LEVELS,
        "exponent": EXPONENT,
        "words": {
            "asks": " asks ",
            "asked": " is asked by ",
            "nobody": "nobody",
            "more": ", and {count} more",
        },
    }


def test_directions_and_languages_are_declared():
    html = to_html(aligned(["כלב"], list("狗跑")))
    assert 'class="sentence first" role="group" aria-labelledby="first-sentence" dir="rtl"' in html
    assert 'aria-labelledby="second-sentence" dir="ltr"' in html
    assert '<div class="chips" lang="zh">' in html
    assert html.startswith('<!doctype html>\n<html lang="en">\n')


def test_probabilities_are_listed_with_the_chosen_one_marked():
    page = Page(to_html(small()))
    assert page.texts("li", **{"class": "chosen"}) == ["entailment70.0%"]
    assert page.texts("li") == ["entailment70.0%", "neutral20.0%", "contradiction10.0%"]


@pytest.mark.parametrize(("first", "second"), [([], []), ([], ["a"]), (["a"], [])])
def test_empty_sentences_say_so(first, second):
    page = Page(to_html(aligned(first, second)))
    expected = [not first, not second].count(True)
    assert page.texts("span", **{"class": "quiet"}).count("no words") == expected


def test_both_maps_are_inside_with_their_tooltips():
    page = Page(to_html(small()))
    assert page.texts("figcaption")[0].startswith("Each word of the first sentence asks the second")
    assert len(page.texts("figure")) == 2
    assert "eat → eats: 0.42" in page.texts("title")


def test_a_grade_has_no_bars():
    page = Page(to_html(small(label=None, score=np.float32(3.5), probabilities={})))
    assert page.texts("h1") == ["3.50"]
    assert page.texts("ul") == []


@pytest.mark.parametrize("word", [*HOSTILE[:4], "</ScRiPt>", "\u2028", "&lt;"])
def test_data_cannot_end_the_script_it_stands_in(word):
    text = json_for_script({"word": word})
    assert json.loads(text) == {"word": word}
    assert not set(text) & set("<>&\u2028\u2029")

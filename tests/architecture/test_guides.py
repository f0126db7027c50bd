"""No page that is read from beginning to end takes longer than ten minutes."""

import re

import pytest
from repository import ROOT

DOCS = ROOT / "docs"
MOST_WORDS = 2_000
"""What ten minutes are enough for, code included."""
REFERENCE = ("api", "errors", "decisions")
"""Folders of what is looked up."""
LOOKED_UP = ("glossary.md", "layers.md")
GUIDES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] not in (*REFERENCE, *LOOKED_UP)
]
HAN = re.compile(r"[\u3400-\u9fff]")
SIGNS_PER_WORD = 1.6
"""Chinese characters that say as much as a word of English."""


def num_words(text: str) -> int:
    """Words, and for Chinese text about as many as its translation would have."""
    signs = len(HAN.findall(text))
    return round(signs / SIGNS_PER_WORD) + len(HAN.sub(" ", text).split())


def test_guides_are_short():
    lengths = {
        page.relative_to(DOCS).as_posix(): num_words(page.read_text("utf-8")) for page in GUIDES
    }
    assert {name: length for name, length in lengths.items() if length > MOST_WORDS} == {}


def test_every_page_has_a_place_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE))
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert written - named == set()
    assert named - written == set()


@pytest.mark.parametrize(("text", "expected"), [("one two", 2), ("软查询是注意力", 4)])
def test_words_are_counted(text, expected):
    assert num_words(text) == expected


def test_guides_are_found():
    names = {page.relative_to(DOCS).as_posix() for page in GUIDES}
    assert {"search.md", "index.md"} <= names
    assert "glossary.md" not in names

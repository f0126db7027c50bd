"""Every text that people read has its Chinese one, and the catalogue holds no other."""

import gettext
import re
import sys
from io import BytesIO

import pytest
from repository import PACKAGE, ROOT

sys.path.append(str(ROOT))

from translations.foreign import COMPOSED_TEXTS
from translations.po import Entry, compiled, read_po, write_po
from translations.wanted import wanted_texts

from softquery.language import CATALOGUES
from softquery.language.text_catalogue import HOLE, PLACE, is_open, open_catalogue

TO_DO = "run `python translations` in the repository, translate what it lists, and run it again"
CHINESE = re.compile("[\u4e00-\u9fff（）：；，]")
ALIKE = {
    *("MB", "Python", "ms", "p50 ms", "softquery", "bert", "cove", "dev", "elmo", "measured_on"),
    *("per cent", "--text", "token", ", "),
}
"""Names, units and a comma between names, whose translation has no Chinese character."""


@pytest.fixture(scope="module")
def wanted():
    return wanted_texts(PACKAGE)


@pytest.fixture(scope="module", params=CATALOGUES.values())
def catalogue(request):
    return PACKAGE / "language" / request.param / "LC_MESSAGES" / "softquery.po"


def test_what_is_said_is_translated_and_nothing_else(catalogue, wanted):
    texts = read_po(catalogue)
    assert {text: wanted[text] for text in wanted if not texts.get(text)} == {}, TO_DO
    assert sorted(set(texts) - set(wanted)) == [], TO_DO


def test_the_compiled_catalogue_is_the_written_one(catalogue):
    language = catalogue.parents[1].name
    assert catalogue.with_suffix(".mo").read_bytes() == compiled(read_po(catalogue), language), (
        TO_DO
    )


def test_translations_fill_in_what_their_texts_do(catalogue):
    texts = read_po(catalogue)
    filled = {text: (HOLE.findall(text), HOLE.findall(told)) for text, told in texts.items()}
    assert {text: both for text, both in filled.items() if not set(both[1]) <= set(both[0])} == {}
    assert [text for text in texts if is_open(text)] == [PLACE]


def test_translations_are_chinese():
    texts = open_catalogue("zh_CN").texts
    same = {text for text, told in texts.items() if not CHINESE.search(told)}
    commands = {text for text in same if text.startswith(("pip ", "softquery ", "p99 "))}
    assert sorted(same - commands - ALIKE) == []


def test_translations_have_chinese_marks(catalogue):
    """Between Chinese characters stand the marks of Chinese."""
    between = re.compile("[\u4e00-\u9fff][,;:!?()][\u4e00-\u9fff ]")
    assert [told for told in read_po(catalogue).values() if between.search(told)] == []


def test_what_is_put_together_stands_in_the_sources():
    """At least how its longest part begins, as the rest may stand elsewhere."""
    sources = " ".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    parts = [max(HOLE.split(text)[::2], key=len).strip(" ;,").split() for text in COMPOSED_TEXTS]
    assert [part for part in parts if " ".join(part[:2]).rstrip(":;") not in sources] == []


def test_gettext_reads_what_is_compiled(tmp_path):
    entries = [Entry("holds no rows", "没有任何行"), Entry('two\nlines, "quoted" \\n', "两\n行")]
    write_po(tmp_path / "a.po", entries, "zh_CN")
    texts = read_po(tmp_path / "a.po")
    assert texts == {each.text: each.translation for each in entries}
    read = gettext.GNUTranslations(BytesIO(compiled(texts, "zh_CN")))
    assert [read.gettext(text) for text in texts] == list(texts.values())
    assert read.info()["language"] == "zh_CN"


def test_a_broken_catalogue_is_refused(tmp_path):
    for content in ('msgid "a"\nmsgstr "b"\nmsgid "a"\nmsgstr "c"\n', "msgid 'a'\nnonsense\n"):
        (tmp_path / "a.po").write_text(content)
        with pytest.raises(ValueError, match=r"a\.po, line \d"):
            read_po(tmp_path / "a.po")

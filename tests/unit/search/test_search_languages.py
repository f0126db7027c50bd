"""The matcher follows the language of the rows, and a query in another language is told so."""

import pytest

from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings
from softquery.search.query.index_languages import FEW, choose_matcher, languages_read
from softquery.zoo import shipped_folder

ENGLISH = [
    {"id": "p", "question": "How do I reset my password?"},
    {"id": "d", "question": "How long does delivery take?"},
]
CHINESE = [
    {"id": "密", "question": "怎么重置密码？"},
    {"id": "货", "question": "多久能收到货？"},
]
GERMAN = [{"question": "Wie setze ich mein Passwort zurück?"}]


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    folder = tmp_path_factory.mktemp("english") / "faq.sq"
    return Index.build(iter(ENGLISH), folder, threads=1)


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chinese") / "faq.sq"
    return Index.build(iter(CHINESE), folder, threads=1)


def test_the_matcher_is_that_of_the_rows(english, chinese):
    assert (english.manifest.model, chinese.manifest.model) == ("match-en", "match-zh")
    assert chinese.last_changes.chosen == "match-zh is chosen: 2 of 2 rows are in Chinese"
    assert chinese.last_changes.unread == {}


def test_a_matcher_that_was_named_is_taken(tmp_path):
    index = Index.build(CHINESE + ENGLISH[:1], tmp_path / "faq.sq", model="match-en", threads=1)
    assert index.manifest.model == "match-en"
    assert (index.last_changes.chosen, index.last_changes.unread) == ("", {"zh": 2})


def test_rows_in_two_languages_can_be_divided(tmp_path):
    rows = [*ENGLISH, *CHINESE, {"id": "7", "question": "Wi-Fi"}]
    index = Index.build(rows, tmp_path / "zh.sq", language="zh", threads=1)
    assert [row["id"] for row in index.rows()] == ["密", "货", "7"]
    assert index.manifest.model == "match-zh"


def test_rows_in_languages_of_which_one_is_not_read_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"2 rows are in English, 1 in German, and an index has"):
        Index.build(ENGLISH + GERMAN, tmp_path / "faq.sq")
    assert list(tmp_path.iterdir()) == []


def test_a_language_that_no_shipped_matcher_reads_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"the data: its rows are in German; the shipped"):
        Index.build(GERMAN, tmp_path / "faq.sq")
    with pytest.raises(ConfigError, match="no language is called 'tlh'"):
        Index.build(GERMAN, tmp_path / "faq.sq", language="tlh")
    with pytest.raises(InputError, match="holds no rows in 'zh'"):
        Index.build(GERMAN, tmp_path / "faq.sq", language="zh")


def test_few_rows_in_another_language_are_no_reason_to_refuse():
    assert choose_matcher({"zh": 90, "en": 10, None: 50}, "faq.csv").model == "match-zh"
    with pytest.raises(InputError):
        choose_matcher({"zh": 100, "en": int(100 * FEW) + 2}, "faq.csv")
    assert choose_matcher({None: 3}, "faq.csv").reason == "no row tells its language"


def test_a_query_in_another_language_is_told_so(english, chinese):
    said = "the query is in {}, which {} do not read; scores mean little"
    assert english.find("怎么退款").note == said.format("Chinese", "match-en and embed-en")
    assert english.find("Как оплатить?").note == said.format(
        "Cyrillic script", "match-en and embed-en"
    )
    assert english.find("Wie lange dauert die Lieferung?").note == said.format(
        "German", "match-en and embed-en"
    )
    assert chinese.find("how do I pay?").note == said.format("English", "match-zh and embed-zh")
    for query in ("How do I pay?", "VPN", "1 + 1", "👍"):
        assert english.find(query).note is None
    assert english.find("怎么退款", stages=["words"]).note is None  # which asks no model


def test_a_model_of_ones_own_is_believed_about_its_script_alone(model, tmp_path):
    settings = IndexSettings(min_score=0.0)
    index = Index.build(GERMAN, tmp_path / "faq.sq", model=model, settings=settings, threads=1)
    assert index.last_changes.unread == {}
    assert index.find("Wie geht das mit der Lieferung?").note is None


def test_what_shipped_matchers_read():
    from softquery.bundle import read_bundle

    found = {
        name: languages_read(read_bundle(shipped_folder() / name))
        for name in ("match-en", "match-zh")
    }
    assert found == {"match-en": {"en"}, "match-zh": {"zh"}}


def test_adding_rows_in_another_language_is_told(tmp_path):
    index = Index.build(ENGLISH, tmp_path / "faq.sq", threads=1)
    assert index.add(CHINESE).unread == {"zh": 2}
    assert index.add([*GERMAN, {"question": "How do I pay?"}], language="en").added == 1

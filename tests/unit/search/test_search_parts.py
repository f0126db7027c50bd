"""An index whose rows are in English and Chinese: a part for each, searched as one."""

import os
import shutil
import signal

import pytest

from softquery.errors import ConfigError, InputError
from softquery.files import Row
from softquery.search import (
    Index,
    IndexSettings,
    LanguageIndex,
    compare_stages,
    evaluate_index,
    migrate,
    open_index,
    report_index,
)

ROWS = [
    {"id": "password", "question": "How do I reset my password?", "answer": "Choose Forgot."},
    {"id": "delivery", "question": "How long does delivery take?", "answer": "Two days."},
    {"id": "cards", "question": "Which cards do you accept?", "answer": "All.", "kind": "money"},
    {"id": "密码", "question": "怎么重置密码？", "answer": "点击忘记密码。"},
    {"id": "发票", "question": "可以开发票吗？", "answer": "可以。", "色": "红"},
    {"id": "paypal", "question": "PayPal", "answer": "Yes."},
    {
        "id": "app",
        "question": ["Is there an app for phones?", "有手机应用吗？"],
        "answer": "Yes. 有。",
    },
]
QUERIES = [("I forgot my password", "password"), ("忘了密码怎么办", "密码"), ("PayPal", "paypal")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts") / "faq.sq"
    Index.build(ROWS, folder, settings=IndexSettings(min_score=0.0), threads=1)
    return folder


@pytest.fixture
def faq(built, tmp_path):
    return Index.open(shutil.copytree(built, tmp_path / "faq.sq"), threads=1)


def test_each_row_goes_to_the_part_of_its_language(built):
    index = Index.open(built, threads=1)
    assert isinstance(index, LanguageIndex)
    assert index.model_names == ("match-en", "match-zh")
    ids = {code: sorted(row["id"] for row in part.rows()) for code, part in index.parts.items()}
    assert ids["zh"] == sorted(["密码", "发票", "app"])
    assert ids["en"] == sorted(["password", "delivery", "cards", "paypal", "app"])
    assert (len(index), index.main, repr(index).count("match-")) == (8, "en", 2)
    assert sorted(path.name for path in built.iterdir()) == ["en", "languages.json", "lock", "zh"]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_a_query_is_asked_of_the_part_of_its_language(query, expected, built):
    index = Index.open(built, threads=1)
    found = index.find(query, top_k=9)
    assert found.hits[0]["id"] == expected
    assert found.note is None
    assert [hit["score"] for hit in found.hits] == sorted(
        (hit["score"] for hit in found.hits), reverse=True
    )
    ids = [hit["id"] for hit in found.hits]
    assert len(ids) == len(set(ids)) == (7 if query == "PayPal" else len(ids))
    if query != "PayPal":
        part = index.parts["zh" if expected == "密码" else "en"]
        assert found.hits == part.find(query, top_k=9).hits
    many = index.search_many([query, "Wie geht das mit dem Passwort?"], top_k=9)
    assert many[0].hits == found.hits
    assert many[1].note.startswith("the query is in German, which match-en and embed-en do not")


def test_a_row_has_phrasings_in_both_languages(built):
    index = Index.open(built, threads=1)
    for query in ("Do you have an app?", "你们有应用吗？"):
        assert index.search(query)[0]["id"] == "app"
    assert [hit["id"] for hit in index.search("App", top_k=9)].count("app") == 1


def test_filters_name_columns_of_any_part(built):
    index = Index.open(built, threads=1)
    assert [hit["id"] for hit in index.search("PayPal", where={"色": "红"})] == ["发票"]
    assert index.search("How do I pay?", where={"色": "红"}) == []
    with pytest.raises(InputError, match="no column 'size' to filter by"):
        index.search("PayPal", where={"size": "M"})


def test_steps_alignments_and_stages(built):
    index = Index.open(built, threads=1)
    steps = index.steps("PayPal", explain=True, top_k=3, stages=["words", "vectors", "rerank"])
    for _ in steps.recall():
        pass
    for part in (steps.comparisons, steps.alignments):
        for step in part():
            step.run()
    found = steps.result()
    assert found.hits == index.search("PayPal", explain=True, top_k=3)
    assert all("alignment" in hit for hit in found.hits)
    assert index.find("PayPal", stages=["words"]).stages == ("words",)


def test_rows_are_added_moved_and_deleted(faq):
    assert faq.add(ROWS).unchanged == 8
    changes = faq.add(
        [
            {"id": "delivery", "question": "多久能收到货？", "answer": "两天。"},
            {"id": "new", "question": "Do you sell gift cards?"},
        ]
    )
    assert (changes.added, changes.updated, len(faq)) == (1, 1, 9)
    assert faq.search("几天能送到？")[0]["id"] == "delivery"
    assert "delivery" not in {row["id"] for row in faq.parts["en"].rows()}
    assert faq.delete(["app", "怎么重置密码？"]).deleted == 2
    assert {"app", "密码"} & {row["id"] for row in Index.open(faq.path, threads=1).rows()} == set()
    with pytest.raises(InputError, match="no row has the id or the question 'app'"):
        faq.delete(["new", "app"])
    assert "new" in {row["id"] for row in faq.rows()}


def test_settings_rebuilding_and_compacting(faq):
    faq.set_aim("coverage=0.8")
    again = Index.rebuild(faq.path, threads=1)
    assert (again.last_changes.rebuilt, again.aim, len(again)) == (8, "coverage=0.8", 8)
    again.add([{"question": "你们周末上班吗？"}])
    again.compact()
    assert {code: len(part.segments) for code, part in again.parts.items()} == {"en": 1, "zh": 1}
    assert sum(again.size_bytes().values()) > 1000
    assert faq.refresh()
    assert faq.duplicates() == []
    with pytest.raises(ConfigError, match="has a matcher for each language"):
        Index.rebuild(faq.path, model="match-en")
    with pytest.raises(ConfigError, match="has a matcher for each language"):
        Index.open(faq.path, model="match-en")
    with pytest.raises(ConfigError, match="has a part for each language; copy them apart: --from"):
        migrate(faq, faq.path.parent / "copy.sq")
    assert len(migrate(faq.parts["zh"], faq.path.parent / "copy.sq")) == 4


def test_it_is_evaluated_and_reported(built):
    index = open_index(built, threads=1)
    rows = [Row({"query": query, "doc": doc}, 1, "q") for query, doc in QUERIES]
    rows += [Row({"query": query, "doc": ""}, 1, "q") for query in ("Who is she?", "她是谁？")]
    found = evaluate_index(index, rows)
    assert found.metrics()["mrr"] == 1.0
    compared = compare_stages(index, rows, [("words",), ("words", "vectors", "rerank")])
    assert len(compared.report()["compared"]) == 2
    assert "<html" in report_index(index, rows).to_html()


def test_parts_are_tuned_by_their_own_queries(faq):
    texts = ["I forgot my password", "the password is gone", "new password please"]
    rows = [
        {"query": f"{text} {number}", "doc": "password"} for text in texts for number in range(9)
    ] + [{"query": "忘了密码", "doc": "密码"}, {"query": "I pay by invoice", "doc": "发票"}]
    told = []
    reports = faq.tune_parts(rows, force=True, announce=lambda code, report: told.append(code))
    assert list(reports) == told == ["en"]
    assert reports["en"].num_queries == 27
    assert (faq.parts["zh"].tuning, faq.tuning.num_queries) == (None, 27)
    assert faq.search("password is gone")[0]["id"] == "password"
    faq.untune()
    assert faq.tuning is None
    with pytest.raises(InputError, match="no language has 20 queries to tune its part on, found 1"):
        faq.tune_parts(rows[-2:-1])


def test_an_interrupted_indexing_goes_on(tmp_path):
    place = tmp_path / "faq.sq"
    with pytest.raises(ZeroDivisionError):
        Index.build(ROWS, place, threads=1, advance=lambda done: 1 // (done < 6))
    with pytest.raises(InputError, match="was never finished: give the command that began it"):
        Index.open(place)
    assert len(Index.build(ROWS, place, threads=1)) == 8
    with pytest.raises(InputError, match="exists already; --add adds and replaces rows"):
        Index.build(ROWS, place)


@pytest.mark.parametrize("step", [3, 20, 30, 40])
def test_a_kill_while_rows_are_added_leaves_each_part_whole(step, faq):
    """Rows of each language are there or are not, and the same call completes it."""
    more = [
        {"id": "a", "question": "Do you ship abroad?"},
        {"id": "b", "question": "能寄到国外吗？"},
    ]
    child = os.fork()
    if child == 0:
        import sys

        left = step

        def hook(event, arguments):
            nonlocal left
            if event.startswith(("os.", "open")) and str(faq.path) in str(arguments):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            faq.add(more)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    opened = Index.open(faq.path, threads=1)
    ids = [row["id"] for row in opened.rows()]
    assert len(ids) - len(ROWS) - 1 == len({"a", "b"} & set(ids))
    opened.add(more)
    assert {"a", "b"} <= {row["id"] for row in opened.rows()}
    assert len(opened) == 10


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 2, "languages": ["en"], "main": "en", "unfinished": false}',
        '{"format": 1, "languages": ["en", "../zh"], "main": "en", "unfinished": false}',
        '{"format": 1, "languages": ["zh"], "main": "en", "unfinished": false}',
        '{"format": 1, "languages": "en", "main": "en", "unfinished": false}',
    ],
    ids=range(6),
)
def test_a_forged_list_of_parts_is_refused(content, built, tmp_path):
    place = shutil.copytree(built, tmp_path / "faq.sq")
    (place / "languages.json").write_text(content)
    with pytest.raises(InputError, match="is damaged"):
        Index.open(place)


def test_links_are_refused(built, tmp_path):
    place = shutil.copytree(built, tmp_path / "faq.sq")
    shutil.move(place / "zh", tmp_path / "zh")
    (place / "zh").symlink_to(tmp_path / "zh")
    with pytest.raises(InputError, match="is a link"):
        Index.open(place)

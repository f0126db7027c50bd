"""Rows with several texts: phrasings, passages, answers, synonyms; and what rows weigh."""

import json

import pytest

from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings
from softquery.search.changes.passages import cut, num_words
from softquery.search.changes.synonyms import Synonyms, read_synonyms

ROWS = [
    {"id": "a", "question": ["w1 w2", "w10 w11", "w20 w21 w22"], "answer": "yes"},
    {"id": "b", "question": "w3 w4", "answer": "no", "phrasings": "w30 w31|w32"},
    {"id": "c", "question": "w5 w6"},
]
LONG = " ".join(f"w{number} w{number + 1} w{number + 2}." for number in range(20, 80, 3))


def made(tmp_path, model, rows, **settings):
    options = IndexSettings(min_score=0.0, **settings)
    return Index.build(rows, tmp_path / "faq.sq", model=model, settings=options, threads=1)


@pytest.fixture
def faq(tmp_path, model):
    return made(tmp_path, model, ROWS)


def first(index, query, stage="vectors"):
    return index.search(query, stages=[stage])[0]


def test_a_row_is_found_by_any_phrasing_and_shown_once(faq):
    hit = first(faq, "w10 w11")
    assert (hit["id"], hit["question"], hit["answer"]) == ("a", "w1 w2", "yes")
    assert hit["matched"] == {"column": "phrasings", "text": "w10 w11"}
    assert hit["phrasings"] == ["w10 w11", "w20 w21 w22"]
    assert "matched" not in first(faq, "w1 w2")
    for stages in (["words", "vectors", "rerank"], ["rerank"], ["words"]):
        ids = [each["id"] for each in faq.search("w10 w2 w31 w6", top_k=9, stages=stages)]
        assert len(ids) == len(set(ids)) > 0
    assert len(faq) == 3
    assert [row["id"] for row in faq.rows()] == ["a", "b", "c"]


def test_an_alignment_is_that_of_the_phrasing(faq):
    (hit,) = faq.search("w32", top_k=1, explain=True, stages=["vectors"])
    assert (hit["id"], hit["alignment"]["second"]) == ("b", "w32")


def test_repeated_ids_are_phrasings(tmp_path, model):
    rows = [
        {"id": "a", "question": "w1 w2", "answer": "yes", "kind": ""},
        {"id": "b", "question": "w3", "answer": "no", "kind": ""},
        {"id": "a", "question": "w10 w11", "answer": "", "kind": "odd"},
    ]
    index = made(tmp_path, model, rows)
    hit = first(index, "w10 w11")
    assert (hit["answer"], hit["kind"]) == ("yes", "odd")
    assert (hit["question"], hit["matched"]["text"]) == ("w1 w2", "w10 w11")
    assert index.last_changes.added == 2
    with pytest.raises(InputError, match="row 2: id 'a' is already used by row 1, with another an"):
        index.add([{"id": "a", "question": "w1", "answer": x} for x in ("yes", "no")])


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "a", "question": ["w1", "w2"]}\n',
        '{"id": "a", "question": "w1", "phrasings": ["w2"]}\n',
        '{"id": "a", "question": "w1"}\n{"id": "a", "question": "w2"}\n',
    ],
    ids=["list", "phrasings", "repeated"],
)
def test_a_file_has_phrasings_in_three_ways(text, tmp_path, model):
    (tmp_path / "faq.jsonl").write_text(text)
    index = made(tmp_path, model, tmp_path / "faq.jsonl")
    assert (len(index), first(index, "w2")["matched"]["text"]) == (1, "w2")


@pytest.mark.parametrize("question", [["w1", ""], ["w1", 7], [], {"a": "b"}, [["w1"]]], ids=repr)
def test_a_list_of_something_else_is_refused(question, faq):
    with pytest.raises(InputError, match="row 1: (a phrasing is empty|question is)"):
        faq.add([{"question": question}])


def test_adding_again_replaces_all_texts_of_a_row(faq, model):
    assert faq.add(ROWS).unchanged == 3
    changes = faq.add([{"id": "a", "question": ["w1 w2", "w50"], "answer": "yes"}])
    assert (changes.added, changes.updated, len(faq)) == (0, 1, 3)
    texts = sorted(
        q for s in faq.segments for r in s.live_rows for q in [s.cells.text(r, "question")]
    )
    assert texts == ["w1 w2", "w3 w4", "w30 w31", "w32", "w5 w6", "w50"]
    assert first(faq, "w50")["id"] == "a"
    assert faq.delete(["a"]).deleted == 1
    assert [row["id"] for row in faq.rows()] == ["b", "c"]
    assert {hit["id"] for hit in faq.search("w50 w1", stages=["rerank"])} == {"b", "c"}
    for name in ("a", "w32", "b\x1f1"):  # gone, no question of a row, an inner name
        with pytest.raises(InputError, match="no row has the id or the question"):
            faq.delete([name])


def test_phrasings_survive_rebuilding_compacting_and_opening(faq, model):
    faq.add([{"id": "d", "question": ["w7", "w8"]}])
    faq.compact()
    again = Index.rebuild(faq.path, threads=1)
    assert (again.last_changes.rebuilt, len(again)) == (4, 4)
    opened = Index.open(faq.path, threads=1)
    assert first(opened, "w8")["matched"] == {"column": "phrasings", "text": "w8"}
    assert list(opened.rows()) == list(faq.rows())


def test_filters_hold_for_all_texts_of_a_row(faq):
    hits = faq.search("w10 w11", where={"answer": "no"}, stages=["rerank"], top_k=9)
    assert [hit["id"] for hit in hits] == ["b"]


def test_a_long_question_is_found_by_its_passages(tmp_path, model):
    index = made(tmp_path, model, [{"id": "long", "question": LONG}, ROWS[2]], passage_words=9)
    hit = first(index, "w41 w42 w43", "words")
    found = hit["matched"]
    assert hit["question"] == LONG
    assert found["column"] == "question"
    assert LONG[found["start"] : found["end"]] == found["text"]
    assert "w41 w42 w43." in found["text"]
    assert index.last_changes.num_cut == 0
    by_words = index.search(LONG[:60], stages=["words"])
    assert [each["id"] for each in by_words] == ["long"]


def test_answers_are_texts_where_that_is_asked_for(tmp_path, model):
    rows = [{"id": "a", "question": "w1", "answer": LONG}, {"id": "b", "question": "w2"}]
    index = made(tmp_path, model, rows, text_columns=("answer",), passage_words=9)
    hit = first(index, "w41 w42 w43", "words")
    assert (hit["id"], hit["answer"], hit["matched"]["column"]) == ("a", LONG, "answer")
    with pytest.raises(InputError, match="no column 'body' to search as text; found: id, quest"):
        made(tmp_path / "..", model, rows, text_columns=("body",))


def test_long_answers_are_stored_once(tmp_path, model):
    rows = [{"id": "a", "question": [f"w{n}" for n in range(9)], "answer": "long " * 1000}]
    index = made(tmp_path, model, rows)
    (segment,) = index.segments
    assert (segment.folder / "cells.bin").stat().st_size < 10_000
    hit = first(index, "w7")
    assert (hit["answer"], hit["matched"]["text"]) == ("long " * 1000, "w7")


def test_synonyms_are_further_texts(tmp_path, model):
    (tmp_path / "words.txt").write_text("# ours\nw1, w90 w91\n\nw5,w70\n")
    groups = read_synonyms(tmp_path / "words.txt")
    assert groups == (("w1", "w90 w91"), ("w5", "w70"))
    index = made(tmp_path, model, ROWS, synonyms=groups)
    hit = first(index, "w90 w91 w2")
    assert (hit["id"], hit["matched"]) == ("a", {"column": "synonyms", "text": "w90 w91 w2"})
    index.add([{"id": "d", "question": "w1 w60"}])
    assert first(index, "w90 w91 w60")["id"] == "d"
    (tmp_path / "words.txt").write_text("w1\n")
    with pytest.raises(InputError, match=r"words.txt, row 1: expected words with commas"):
        read_synonyms(tmp_path / "words.txt")


def test_synonyms_are_whole_words_in_any_case():
    words = Synonyms((("PTO", "paid time off"), ("微信", "WeChat")))
    assert words.variants("How much pto is left?") == ["How much paid time off is left?"]
    assert words.variants("Is this a ptolemy?") == []
    assert words.variants("我能用微信付款吗？") == ["我能用WeChat付款吗？"]


def test_weights_multiply_odds(tmp_path, model):
    rows = [{"id": "a", "question": "w1 w2"}, {"id": "b", "question": "w1 w3", "weight": "1e9"}]
    index = made(tmp_path, model, rows)
    assert index.last_changes.num_weighted == 1
    best = index.search("w1 w2", top_k=2)
    assert [hit["id"] for hit in best] == ["b", "a"]
    plain = made(tmp_path / "..", model, rows, weights=False).search("w1 w2", top_k=2)
    before, after = (next(h["score"] for h in hits if h["id"] == "b") for hits in (plain, best))
    assert after / (1 - after) == pytest.approx(1e9 * before / (1 - before), rel=1e-3)
    for weight in ("3 kg", "0", "-1", "nan", "inf"):
        with pytest.raises(InputError, match=r"row 1: weight is .*, expected a number above 0"):
            index.add([{"question": "w9", "weight": weight}])


def test_an_index_without_these_settings_is_read(faq):
    path = faq.path / "manifest.json"
    data = json.loads(path.read_text())
    for name in ("text_columns", "passage_words", "synonyms", "weights", "answer_share"):
        del data["settings"][name]
    path.write_text(json.dumps(data))
    settings = Index.open(faq.path, threads=1).manifest.settings
    assert (settings.passage_words, settings.weights, settings.answer_share) == (0, False, 0)


@pytest.mark.parametrize(
    "settings",
    [{"text_columns": "answer"}, {"passage_words": 3}, {"synonyms": [["one"]]}],
    ids=str,
)
def test_settings_of_texts_are_checked(settings):
    with pytest.raises(ConfigError):
        IndexSettings(**settings)


def test_a_forged_cell_is_a_row_by_itself(faq):
    from softquery.search.storage.searched_texts import read_text

    for cell in ("{}", "[]", "7", '{"row": 7, "column": "answer"}', '{"row"', "null"):
        assert read_text(cell, "") is None
    found = read_text('{"row": "a", "column": "answer", "start": "x", "end": 3}', "b")
    assert (found.start, found.end) == (None, None)


def test_passages_are_whole_sentences():
    text = "它有3.5米长。可以洗吗？可以！" * 4
    spans = cut(text, 20)
    assert all(num_words(text[start:end]) <= 20 for start, end in spans)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(text[end - 1] in "。？！" for _, end in spans)
    assert cut("w" * 5000, 8) == []  # one word
    assert len(cut("a b c d e f g h i j", 4)) == 3

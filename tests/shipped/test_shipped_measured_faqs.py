"""The FAQs that search is measured on: whole, without repeats, and in no list to train from."""

import csv
from collections import Counter

import hard_pairs
import pytest
from gather import gather
from measured_faqs import FAQS, FOLDER, is_measured, measured_keys, measured_texts
from text_collection import HELD_OUT, Collection, bare_key
from text_sources import Library

PAIRS = "sentence1\tsentence2\tlabel\n"


def read(name):
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        delimiter = "\t" if name.endswith(".tsv") else ","
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.fixture(params=sorted(FAQS))
def language(request):
    return request.param


@pytest.fixture
def faq(language):
    return read(f"{FAQS[language]}_faq.csv")


@pytest.fixture
def queries(language):
    return read(f"{FAQS[language]}_queries.tsv")


def test_forty_questions_with_answers(faq):
    assert len(faq) == 40
    assert set(faq[0]) == {"id", "category", "question", "answer"}
    for row in faq:
        assert all(value and value == " ".join(value.split()) for value in row.values()), row
    for column in ("id", "question", "answer"):
        assert len({bare_key(row[column]) for row in faq}) == 40, column


def test_a_hundred_queries_and_forty_without_an_answer(faq, queries):
    assert Counter(row["kind"] for row in queries) == {"answered": 100, "near": 20, "far": 20}
    ids = {row["id"] for row in faq}
    for row in queries:
        assert (row["doc"] in ids) == (row["kind"] == "answered"), row
        assert bool(row["doc"]) == (row["kind"] == "answered"), row
    asked = Counter(row["doc"] for row in queries if row["doc"])
    assert set(asked) == ids
    assert min(asked.values()) >= 2


def test_no_query_stands_twice_or_is_a_question_of_the_faq(faq, queries):
    texts = [row["query"] for row in queries]
    assert all(text == " ".join(text.split()) for text in texts)
    keys = [bare_key(text) for text in texts]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & {bare_key(row["question"]) for row in faq}


def test_every_text_is_known_in_any_spelling(language):
    texts = list(measured_texts(language))
    assert len(texts) == 2 * 40 + 140
    assert all(is_measured(f" {text.upper()} !") for text in texts)
    assert {bare_key(text) for text in texts} <= measured_keys()


def test_collected_texts_leave_them_out(language, tmp_path):
    collection = Collection(frozenset(map(bare_key, Library(tmp_path).held_out(language))))
    for text in measured_texts(language):
        assert not collection.add("any", text)
    assert collection.counts["any"][HELD_OUT] > 100
    assert not collection.texts


def test_gathered_pairs_leave_them_out(tmp_path):
    for name in ("snli_100k", "snli_cad"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dev.tsv").write_text(f"{PAIRS}a b c\td e f\tneutral\n")
        rows = [f"text {number}\tother {number}\tneutral\n" for number in range(40)]
        rows.append("My dog chewed the cover!\ta dog eats\tneutral\n")
        (tmp_path / name / "train.tsv").write_text(PAIRS + "".join(rows))
    splits, _ = gather("nli-en", tmp_path)
    firsts = {row.values["sentence1"] for row in splits["train"] + splits["tune"]}
    assert len(firsts) == 40
    assert not any(map(is_measured, firsts))


def test_hard_pairs_leave_them_out(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("I need a drill for one afternoon\nI need two drills for an hour\n")
    assert list(hard_pairs.read_texts([path])) == ["I need two drills for an hour"]

"""Index, search and evaluate as users type them, on the shipped models and the shop's questions."""

import csv
import json
import shutil
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from running import finish, softquery, start

from softquery.zoo import resolve

# Looked for and not imported: usearch must not be the first of the libraries to be loaded.
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("usearch", "bm25s"))), reason="an index needs the extra [search]"
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FAQ = EXAMPLES / "shop_faq.csv"


def answered(*words):
    answer = softquery(*words, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


@pytest.fixture(scope="module", params=["en", "zh"])
def language(request):
    return request.param


@pytest.fixture(scope="module")
def shop(language, tmp_path_factory):
    place = tmp_path_factory.mktemp("shop") / "faq.sq"
    columns = f"question=question_{language},answer=answer_{language}"
    words = ["--output", place, "--columns", columns, "--model", f"match-{language}"]
    report = answered("index", FAQ, *words)
    assert report["rows"] == report["changes"]["added"]
    assert report["changes"]["repeats"] == []
    return place


def test_the_shop_has_many_questions_in_both_languages():
    with FAQ.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 150
    for row in rows:
        assert all(value.strip() == value and value for value in row.values()), row
    for column in ("id", "question_en", "question_zh", "answer_en", "answer_zh"):
        assert len({row[column] for row in rows}) == len(rows), column


QUERIES = {
    "en": ("How can I get a new password?", "account-01", "How tall is the Eiffel tower?"),
    "zh": ("忘记密码了怎么办", "account-01", "埃菲尔铁塔有多高"),
}


def test_search(shop, language, tmp_path):
    query, best, foreign = QUERIES[language]
    found = answered("search", shop, query, "--top", 2, "--explain", tmp_path / "why.json")
    assert found["query"] == query
    assert found["hits"][0]["id"] == best
    assert found["hits"][0]["category"] == "account"
    assert found["hits"][0]["answer"]
    assert 0.1 <= found["hits"][0]["score"] <= 1
    alignment = json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))
    assert alignment["first"] == query
    assert alignment["second"] == found["hits"][0]["question"]
    assert answered("search", shop, foreign)["hits"] == []
    assert "no good answer" in softquery("search", shop, foreign).out
    elsewhere = answered("search", shop, query, "--where", "category=orders", "--min-score", 0)
    assert {hit["category"] for hit in elsewhere["hits"]} == {"orders"}


def test_evaluate(shop, language, tmp_path):
    queries = EXAMPLES / f"shop_queries_{language}.tsv"
    report = answered("evaluate", shop, "--data", queries, "--errors", tmp_path / "wrong.tsv")
    stages = report["stages"]
    assert report["n"] > 70
    assert stages["hybrid"]["mrr"] > stages["words"]["mrr"]
    assert stages["rerank"]["mrr"] > stages["hybrid"]["mrr"]
    assert report["recall@50"] > 0.85
    assert report["answers"]["rightly_unanswered"] > 0.8
    assert len((tmp_path / "wrong.tsv").read_text(encoding="utf-8").splitlines()) > 3
    shown = softquery("evaluate", shop, "--data", queries)
    assert shown.code == 0
    assert all(word in shown.out for word in ("rerank", "recall@10", "milliseconds"))


def test_stages(shop, language, tmp_path):
    query, best, _ = QUERIES[language]
    found = answered("search", shop, query, "--stages", "words,vectors")
    assert found["stages"] == ["words", "vectors"]
    assert best in [hit["id"] for hit in found["hits"]]
    shown = softquery("search", shop, query, "--stages", "vectors")
    assert shown.err == "by vectors; the score is a probability\n"
    queries = ("--data", EXAMPLES / f"shop_queries_{language}.tsv")
    one = answered("evaluate", shop, *queries, "--stages", "words,vectors")
    assert one["used"] == ["words", "vectors"]
    assert one["mrr"] == one["stages"]["hybrid"]["mrr"]
    subsets = ("--stages", "words", "--stages", "words,vectors", "--stages", "words,vectors,rerank")
    report = answered("evaluate", shop, *queries, *subsets)
    mrr = [each["mrr"] for each in report["compared"]]
    assert mrr == sorted(mrr)
    assert report["compared"][1]["mrr"] == one["mrr"]
    assert report["recommended"] in (["words", "vectors"], ["words", "vectors", "rerank"])
    told = softquery("evaluate", shop, *queries, *subsets)
    assert told.code == 0
    assert "ms p50" in told.out
    assert " words" in told.out
    last = told.err.splitlines()[-1]
    assert last.startswith("recommended: --stages words,vectors")


def test_duplicates_hold_nothing_that_a_spreadsheet_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("faq.csv").write_text(
        "id,question,answer\n=1+1,=how do I pay,By card.\n@2,=how do I pay,In cash.\n",
        encoding="utf-8",
    )
    assert softquery("index", "faq.csv", "--output", "faq.sq").code == 0
    answered("index", "--output", "faq.sq", "--duplicates", "same.tsv")
    cells = Path("same.tsv").read_text(encoding="utf-8").splitlines()[1].split("\t")
    assert cells[:2] == ["'=1+1", "'@2"]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]


def test_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("faq.csv").write_text(
        "id,question,answer\n1,How do I pay?,By card.\n2,How do I pay?,In cash.\n", encoding="utf-8"
    )
    built = softquery("index", "faq.csv", "--output", "faq.sq")
    assert built.code == 0
    chosen = "match-en is chosen: 2 of 2 rows are in English\n"
    assert built.err == f"{chosen}2 added\nrow 3 asks what row 2 asks: How do I pay?\n"
    report = answered("index", "--output", "faq.sq", "--duplicates", "same.tsv")
    assert (report["rows"], report["duplicates"]) == (2, 1)
    assert Path("same.tsv").read_text(encoding="utf-8").splitlines()[1].startswith("1\t2\t")
    Path("more.jsonl").write_text(
        '{"id": 2, "question": "Where is the shop?", "answer": "Here."}\n', encoding="utf-8"
    )
    added = answered("index", "more.jsonl", "--output", "faq.sq", "--add", "--delete", "1")
    assert added["rows"] == 1
    again = softquery("index", "more.jsonl", "--output", "faq.sq", "--add")
    assert again.err == "1 already there\n"
    found = answered("search", "faq.sq", "Where is your shop?", "--min-score", 0)
    assert [hit["answer"] for hit in found["hits"]] == ["Here."]
    assert answered("index", "--output", "faq.sq", "--min-score", 0.9)["min_score"] == 0.9
    assert answered("index", "--output", "faq.sq", "--compact")["segments"] == 1


def replaced(place, name):
    """Put a shipped model where another one was."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(resolve(name), place)


QUERY = ("search", "faq.sq", "How do I pay by card?", "--min-score", 0)


def test_rebuild_after_the_model_was_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replaced(Path("mine"), "match-en")
    Path("faq.csv").write_text(
        "id,question,kind\n1,How do I pay?,pay\n2,Where is the shop?,shop\n3,Who are you?,shop\n",
        encoding="utf-8",
    )
    words = ("--output", "faq.sq", "--model", "mine", "--min-score", 0.3)
    assert softquery("index", "faq.csv", *words).code == 0
    assert softquery("index", "--output", "faq.sq", "--delete", "3").code == 0
    replaced(Path("mine"), "nli-en")
    refused = softquery(*QUERY)
    assert refused.code == 2
    (line,) = refused.err.splitlines()
    assert line.startswith("softquery: faq.sq: was made with another mine (fingerprint ")
    assert line.endswith("; softquery index faq.sq --rebuild makes it anew with today's")
    rebuilt = softquery("index", "faq.sq", "--rebuild")
    assert rebuilt.code == 0
    assert rebuilt.err.splitlines() == [
        "2 encoded again",
        "min_score 0.3 was chosen for the former model's scores and is dropped; the model's own is "
        "0.5, --min-score sets another",
    ]
    assert {(hit["id"], hit["kind"]) for hit in answered(*QUERY)["hits"]} == {
        ("1", "pay"),
        ("2", "shop"),
    }
    report = answered(
        "index", "--output", "faq.sq", "--rebuild", "--model", "match-en", "--min-score", 0.2
    )
    assert (report["model"], report["min_score"], report["rows"]) == ("match-en", 0.2, 2)
    assert report["changes"]["rebuilt"] == 2


def test_a_rebuild_that_is_killed_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = (
        f"{number},How do I pay for {number} pens of {number % 97} francs?\n"
        for number in range(4000)
    )
    Path("faq.csv").write_text("id,question\n" + "".join(rows), encoding="utf-8")
    assert softquery("index", "faq.csv", "--output", "faq.sq").code == 0
    before, manifest = answered(*QUERY)["hits"], Path("faq.sq/manifest.json").read_bytes()
    process = start("index", "faq.sq", "--rebuild", "--model", "nli-en")
    end = time.monotonic() + 60
    while not list(Path("faq.sq/segments").glob(".*.tmp/encodings.bin")):  # it has begun to write
        assert time.monotonic() < end
        assert process.poll() is None, finish(process).err
        time.sleep(0.005)
    process.kill()
    assert finish(process).code == -9
    assert Path("faq.sq/manifest.json").read_bytes() == manifest
    assert answered(*QUERY)["hits"] == before
    report = answered("index", "faq.sq", "--rebuild", "--model", "nli-en")
    assert (report["rows"], report["model"], report["segments"]) == (4000, "nli-en", 1)
    assert len(list(Path("faq.sq/segments").iterdir())) == 1  # nothing was left behind
    assert answered(*QUERY)["hits"] != before


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    """An index whose vectors are those of a sentence encoder, so that its score is learned."""
    from small_sentence_encoders import make_sentence_encoder

    place = tmp_path_factory.mktemp("encoded")
    encoder = make_sentence_encoder(place / "encoder")
    columns = "question=question_en,answer=answer_en"
    words = ["--columns", columns, "--model", "match-en", "--vectors", encoder]
    report = answered("index", FAQ, "--output", place / "faq.sq", *words)
    assert (report["score"], report["aim"]) == ("learned", "precision=0.9")
    return place / "faq.sq"


def test_an_aim_chooses_the_threshold(encoded):
    query = "How do I reset my password?"
    aims = ("precision=0.95", "precision=0.9", "coverage=0.9", "coverage=0.999")
    hits = [answered("search", encoded, query, "--aim", aim, "--top", 50)["hits"] for aim in aims]
    assert [len(each) for each in hits] == sorted(map(len, hits))
    assert len(hits[0]) < len(hits[-1])
    assert answered("search", encoded, query, "--top", 50)["hits"] == hits[1]
    least = answered("search", encoded, query, "--aim", aims[0], "--min-score", 0, "--top", 50)
    assert len(least["hits"]) == 50


def test_the_aim_of_an_index_is_kept(encoded, tmp_path):
    place = tmp_path / "faq.sq"
    shutil.copytree(encoded, place)
    before = answered("index", "--output", place)["min_score"]
    report = answered("index", "--output", place, "--aim", "coverage=0.9")
    assert report["aim"] == "coverage=0.9"
    assert report["min_score"] < before
    report = answered("index", "--output", place, "--min-score", 0.3)
    assert (report["aim"], report["min_score"]) == (None, 0.3)


def test_stages_without_rerank_are_probabilities_too(encoded):
    found = softquery("search", encoded, "reset my password", "--stages", "words,vectors")
    assert "by words,vectors; the score is a probability" in found.err + found.out


def test_bad_aims_are_refused_in_one_line(encoded, tmp_path):
    found = softquery("search", encoded, "a", "--aim", "recall=0.9")
    assert found.code == 2
    assert "aim is 'recall=0.9', expected precision=P or coverage=C" in found.err
    columns = "question=question_en,answer=answer_en"
    words = ["--columns", columns, "--model", "match-en", "--vectors", "states"]
    assert softquery("index", FAQ, "--output", tmp_path / "f.sq", *words).code == 0
    found = softquery("search", tmp_path / "f.sq", "a", "--aim", "precision=0.9")
    assert found.code == 2
    assert "an aim needs the learned score" in found.err


@pytest.mark.parametrize("change", [["--rebuild"], ["--add"], []], ids=str)
def test_texts_of_an_index_that_is_there_stay(change, tmp_path):
    source = [] if change != ["--add"] else [tmp_path / "faq.csv"]
    answer = softquery(
        "index", *source, "--output", tmp_path / "faq.sq", "--texts", "answer", *change
    )
    assert answer.code == 2
    assert "--texts, --answer-share, --synonyms and --passages are for a new index" in answer.err

"""Indexes that clients make of files, what an index tells about itself, and words with weights."""

import threading
from pathlib import Path

import pytest
from serving import in_thread

from softquery.serve import Limits, Settings
from softquery.serve.catalogue import Catalogue, open_model
from softquery.serve.keys import add_key

SHOP = Path(__file__).resolve().parents[3] / "examples" / "shop_faq.csv"
FEW = "question,answer,kind\nHow do I pay?,By card.,money\nWhere is it?,On its way.,parcel\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, shop):
    """Where uploaded indexes are kept; needs what `shop` needs."""
    return tmp_path_factory.mktemp("uploads") / "made"


@pytest.fixture(scope="module")
def taking(catalogue, folder):
    """A server that takes files of at most 200 rows."""
    limits = Limits(max_body=200_000, max_text=1_000, max_rows=200)
    settings = Settings(models=("match-en",), threads=2, uploads=str(folder), limits=limits)
    with in_thread(settings, Catalogue([catalogue.models[0]])) as client:
        yield client


def test_a_file_is_indexed_and_searched_at_once(taking, folder):
    body = {
        "name": "shop.csv",
        "content": SHOP.read_text(encoding="utf-8"),
        "columns": {"question": "question_en", "answer": "answer_en"},
    }
    made = taking.ask("/v1/indexes", body)
    assert made.status == 200
    facts = made.json()
    assert (facts["name"], facts["rows"], facts["language"]) == ("shop", 163, "en")
    assert len(facts["examples"]) == 4
    assert "account" in facts["filters"]["category"]
    assert list(facts["filters"]) == ["category"]
    found = taking.ask("/v1/search", {"query": "I forgot my password", "index": "shop"}).json()
    assert found["hits"][0]["id"] == "account-01"
    assert taking.ask("/v1/indexes/shop").json() == facts
    assert "shop" in [each["name"] for each in taking.ask("/info").json()["indexes"]]
    again = taking.ask("/v1/indexes", {"name": "shop.csv", "content": FEW}).json()
    assert again["name"] == "shop-2"
    assert sorted(each.name for each in folder.iterdir()) == ["shop-2.sq", "shop.sq"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pdf", FEW, "the file's name must end in .csv, .tsv, .jsonl"),
        ("a.csv.gz", FEW, "the file's name must end in"),
        ("a.csv", "", "a.csv: "),
        ("a.csv", "question,answer\n", "a.csv: holds no rows"),
        ("a.csv", "title,answer\na,b\n", 'a.csv, row 1: no column "question"'),
        ("a.csv", "question,answer\na,b\nc\n", "a.csv, row 3: expected 2 columns"),
        ("a.csv", 'question\n"never closed', "a quote is opened and never closed"),
        ("a.csv", "question\na\0b\n", "a.csv, row 2: holds a NUL byte"),
        ("a.csv", "question,score\na,b\n", 'column "score" has a name that hits use'),
        ("a.csv", "id,question,answer\n1,a,x\n1,b,y\n", "row 3: id '1' is already used by row 2"),
        ("a.csv", "question\n" + "a question\n" * 201, "201 rows; an uploaded file may have 200"),
        ("a.csv", f"question\n{'x' * 1_001}\n", "a text is longer than 1,000 characters"),
        ("a.csv", "question\n\ud800\n", "half of a character"),
        ("../../a.jsonl", '{"question": [[1]]}\n', "a.jsonl, row 1: question is a list"),
        ("a.jsonl", "[" * 5_000, "a.jsonl, row 1: "),
    ],
)
def test_what_cannot_be_indexed_is_refused_in_a_line_and_leaves_nothing(
    taking, folder, name, content, said
):
    before = set(folder.iterdir())
    answer = taking.ask("/v1/indexes", {"name": name, "content": content})
    message = answer.json()["error"]["message"]
    assert answer.status == 400
    assert said in message
    assert "\n" not in message
    assert str(folder) not in message
    assert set(folder.iterdir()) == before


def test_a_file_that_is_too_large_is_not_even_read(taking):
    assert taking.ask("/v1/indexes", {"name": "a.csv", "content": "x" * 300_000}).status == 413


def test_one_file_is_indexed_at_a_time(taking):
    body = {
        "name": "busy.csv",
        "content": "question\n" + "".join(f"Why {n}?\n" for n in range(200)),
    }
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(taking.ask("/v1/indexes", body)))
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {each.status for each in answers} == {200, 429}
    assert all("retry-after" in each.headers for each in answers if each.status == 429)


def test_other_servers_of_the_folder_find_a_new_index(catalogue, folder, taking):
    settings = Settings(models=("match-en",), threads=1, uploads=str(folder))
    with in_thread(settings, Catalogue([catalogue.models[0]])) as other:
        named = {each["name"] for each in other.ask("/info").json()["indexes"]}
        assert "late" not in named
        assert taking.ask("/v1/indexes", {"name": "late.csv", "content": FEW}).status == 200
        found = other.ask("/v1/search", {"query": "How do I pay?", "index": "late"})
        assert found.json()["hits"][0]["answer"] == "By card."


def test_a_damaged_folder_is_passed_over(catalogue, tmp_path):
    (tmp_path / "broken.sq").mkdir()
    settings = Settings(models=("match-en",), threads=1, uploads=str(tmp_path))
    with in_thread(settings, Catalogue([catalogue.models[0]])) as client:
        assert client.ask("/info").json()["indexes"] == []
        assert client.ask("/v1/indexes/broken").status == 404


def test_the_number_of_indexes_is_bounded(catalogue, tmp_path, monkeypatch, shop):
    monkeypatch.setattr("softquery.serve.indexes.uploads.MOST_INDEXES", 1)
    settings = Settings(models=("match-en",), threads=1, uploads=str(tmp_path))
    with in_thread(settings, Catalogue([catalogue.models[0]])) as client:
        assert client.ask("/v1/indexes", {"name": "a.csv", "content": FEW}).status == 200
        refused = client.ask("/v1/indexes", {"name": "b.csv", "content": FEW})
        assert "the server holds 1 uploaded indexes already" in refused.json()["error"]["message"]


def test_files_need_a_key_where_there_are_keys(catalogue, tmp_path, shop):
    key = add_key(tmp_path / "keys.txt", "ada")
    settings = Settings(
        models=("match-en",), uploads=str(tmp_path / "made"), keys=str(tmp_path / "keys.txt")
    )
    with in_thread(settings, Catalogue([catalogue.models[0]])) as client:
        body = {"name": "a.csv", "content": FEW}
        assert client.ask("/v1/indexes", body).status == 401
        assert client.ask("/v1/indexes", body, authorization=f"Bearer {key}").status == 200
        assert client.ask("/v1/indexes/a").status == 401


def test_files_are_refused_by_default(client):
    answer = client.ask("/v1/indexes", {"name": "a.csv", "content": FEW})
    assert answer.status == 404
    assert client.ask("/info").json()["uploads"] is False


def test_a_folder_that_cannot_be_made_is_named(catalogue, tmp_path):
    (tmp_path / "file").write_text("")
    settings = Settings(models=("match-en",), uploads=str(tmp_path / "file"))
    with (
        pytest.raises(Exception, match=r"--uploads .*file: cannot be used"),
        in_thread(settings, Catalogue([catalogue.models[0]])),
    ):
        pass


def test_classifiers_tell_the_weight_of_each_word():
    served = Catalogue([open_model("sentiment-en", "sentiment-en")])
    with in_thread(Settings(models=("sentiment-en",), threads=1), served) as client:
        body = {"texts": ["A warm film.", "Dull."], "explain": True}
        warm, dull = client.ask("/v1/classify", body).json()["answers"]
        assert warm["sentences"] == [["A", "warm", "film", "."]]
        assert sum(warm["word_weights"][0]) == pytest.approx(1, abs=1e-4)
        assert (warm["label"], dull["label"]) == ("positive", "negative")
        reasons, added = warm["reasons"], warm["contributions"]
        assert reasons["words"] == warm["sentences"]
        assert reasons["answer"] == "positive"
        assert max(zip(reasons["changes"][0], reasons["words"][0], strict=True))[1] == "warm"
        if added is not None:  # softquery-models of an earlier build has none
            assert (added["words"], added["answer"]) == (warm["sentences"], "positive")
            total = added["base"] + sum(added["changes"][0])
            assert total == pytest.approx(added["score"], abs=1e-4)
        plain = client.ask("/v1/classify", {"texts": body["texts"]}).json()["answers"]
        assert [each["label"] for each in plain] == ["positive", "negative"]
        assert "word_weights" not in plain[0]
        (model,) = client.ask("/info").json()["models"]
        assert model["label_names"]["positive"] == {"en": "positive", "zh": "正面"}

"""`softquery embed` with a sentence encoder, and what else the command line does with one."""

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="small models are made with the extra [train]")

from running import softquery

import softquery as sq
from small_sentence_encoders import labelled_pairs, make_sentence_encoder, random_sentences

LINES = [*random_sentences(6), "", "我们?"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Exported in int8 by the command line."""
    folder = tmp_path_factory.mktemp("sentences")
    plain = make_sentence_encoder(folder / "plain", size=64)
    write_pairs(folder / "pairs.tsv", ["0", "1"] * 20)
    answer = softquery(
        "export", plain, "--output", folder / "int8", "--int8", "--gate", "100",
        "--data", folder / "pairs.tsv", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert (report["precision"], report["gate"]["metric"]) == ("int8", "auc")
    return folder / "int8"


def write_pairs(path, labels):
    rows = ["\t".join(row.values.values()) for row in labelled_pairs(labels)]
    path.write_text("\n".join(["sentence1\tsentence2\tlabel", *rows]), encoding="utf-8")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return tmp_path


def test_a_matrix_for_a_file(model, place):
    answer = softquery(
        "embed", "lines.txt", "--model", model, "--output", "v.npy", "--dimensions", "8", "--json"
    )
    assert answer.code == 0, answer.err
    assert answer.err == "8 vectors of 8 numbers: v.npy\n"
    assert json.loads(answer.out) == {
        "output": "v.npy", "num_rows": 8, "width": 8, "num_resumed": 0, "num_cut": 0,
        "num_skipped": 0,
    }  # fmt: skip
    np.testing.assert_array_equal(np.load("v.npy"), sq.load(model).encode(LINES, dimensions=8))


def test_texts_are_printed(model, place):
    answer = softquery("embed", "--text", "wa", "--text", "wb", "--model", model, "--json")
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert [each["text"] for each in found] == ["wa", "wb"]
    wanted = sq.load(model).encode(["wa", "wb"])
    np.testing.assert_allclose([each["vector"] for each in found], wanted, atol=1e-6)
    shown = softquery("embed", "--text", "wa", "--model", model)
    assert "1 x 24" in shown.out
    assert f"{wanted[0, 0]:.4f}" in shown.out


def test_bad_rows_are_skipped_and_long_ones_told(model, place):
    (place / "bad.txt").write_bytes(b"wa\ncaf\xe9\n" + b"wb " * 100 + b"\n")
    answer = softquery(
        "embed", "bad.txt", "--model", model, "--output", "v.npz", "--on-error", "skip"
    )
    assert answer.code == 0, answer.err
    assert "1 bad row skipped: v.npz.errors.tsv" in answer.err
    assert "1 line cut to the model's 64 tokens" in answer.err
    assert np.load("v.npz")["vectors"].shape == (2, 24)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layers", "top"], "--layers is for words in context, and MODEL gives vectors of sent"),
        (["--stateful"], "--stateful is for words in context"),
        (["--cache", "0"], "--cache is for words in context"),
        (
            ["--dimensions", "25", "--output", "v.npy"],
            "dimensions must be a whole number from 1 to 24, got 25",
        ),
        (["--dimensions", "0"], "invalid value for '--dimensions'"),
        (["--output", "v.txt"], "v.txt: vectors are written as .npy or .npz or .parquet"),
        (["--output", "lines.txt"], "lines.txt: vectors are written as"),
        ([], "name a file for the vectors with --output: .npy, .npz or .parquet"),
    ],
)
def test_refusals(words, said, model, place):
    answer = softquery("embed", "lines.txt", "--model", model, *words)
    assert answer.code == 2
    assert said.replace("MODEL", str(model)) in answer.err
    assert answer.err.count("\n") == 1
    assert [path.name for path in place.iterdir()] == ["lines.txt"]


def test_words_have_no_dimensions(place):
    words = ["--model", "elmo-en", "--output", "v.npz", "--dimensions", "8"]
    answer = softquery("embed", "lines.txt", *words)
    assert answer.code == 2
    assert "--dimensions is for sentences, and elmo-en gives vectors of words" in answer.err


def test_it_is_measured(model, place):
    write_pairs(place / "pairs.tsv", ["0", "1"] * 20)
    answer = softquery(
        "evaluate", model, "--data", "pairs.tsv", "--slice", "length", "--errors", "e.tsv", "--json"
    )
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert report["n"] == 40
    assert report["slices"]["length"]
    head, *rows = (place / "e.tsv").read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["sentence1", "sentence2", "label", "predicted", "confidence", "row"]
    assert len(rows) == 40
    (place / "bad.tsv").write_text("sentence1\tsentence2\tlabel\na\tb\tyes\n")
    answer = softquery("evaluate", model, "--data", "bad.tsv")
    assert answer.code == 2
    assert "bad.tsv, row 2: expected a number as label, 0 and 1 or a grade, found 'yes'" in (
        answer.err
    )


def test_an_index_recalls_by_its_vectors(model, place):
    (place / "faq.csv").write_text("question,answer\nwa wb,1\nwc wd we,2\n", encoding="utf-8")
    built = softquery(
        "index", "faq.csv", "--output", "faq.sq", "--model", "match-en", "--vectors", model
    )
    assert built.code == 0, built.err
    found = sq.Index.open("faq.sq").search("wa wb", top_k=1)
    assert found[0]["question"] == "wa wb"


@pytest.mark.parametrize(
    ("texts", "width"),
    [
        (["How do I cancel?", "42"], 384),
        (["怎么取消订单", "How?", "多少钱"], 256),
        (["", "42"], 384),
    ],
)
def test_without_a_model_the_language_of_the_texts_decides(tmp_path, texts, width):
    source, output = tmp_path / "texts.txt", tmp_path / "vectors.npy"
    source.write_text("\n".join(texts), encoding="utf-8")
    told = softquery("embed", str(source), "--output", str(output))
    assert (told.code, np.load(output).shape) == (0, (len(texts), width))


def test_a_language_that_no_shipped_encoder_reads_is_one_line(tmp_path):
    source = tmp_path / "texts.txt"
    source.write_text("비밀번호를 잊어버렸어요\n", encoding="utf-8")
    told = softquery("embed", str(source), "--output", str(tmp_path / "vectors.npy"))
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"softquery: {source}: most of it is in Korean; embed-en reads English and embed-zh reads "
        "Chinese; name another by --model\n"
    )


def test_layers_need_a_model_of_words(tmp_path):
    told = softquery("embed", "--text", "hello", "--layers", "top")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "softquery: --layers is for words in context, and embed-en gives vectors of sentences; "
        "see --model elmo-en\n"
    )

"""What a run reads: vectors, labels, splits, and files of every form."""

import csv
import gzip
import json
import re
from pathlib import Path

import pytest
from reading import assert_equal, config, metrics, weights
from running import settings, train
from tiny_pairs import COLUMNS, english, write_folder

import softquery as sq
from softquery.data import first_sentence, split_rows
from softquery.files import read_rows

STILL = {"lr": 1e-20}
"""A learning rate that leaves every weight where it starts."""
ONE_STEP = {"max_steps": 1}


@pytest.fixture
def glove(tmp_path):
    """Vectors of five words, two of which no sentence holds."""
    words = ("man", "the", "sleeps", "unheard", "unseen")
    lines = [f"{word} {place}.5 -{place}.25 0.125" for place, word in enumerate(words)]
    path = tmp_path / "glove.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_path_of_vectors_may_hold_a_comma(english_data, glove, tmp_path):
    copied = tmp_path / "glove, small.txt"
    copied.write_bytes(Path(glove).read_bytes())
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("esim", english_data, tmp_path / "model", *words, "--vectors", copied)
    assert "glove, small.txt: " in answer.err


def test_vectors_fill_the_table(english_data, glove, tmp_path):
    words = settings(optim=STILL, training=ONE_STEP, vocabulary={"from_vectors": 4})
    answer = train("esim", english_data, tmp_path / "model", *words, "--vectors", glove)
    matcher = sq.load(tmp_path / "model")
    table = weights(tmp_path / "model")["embedder.table.weight"]
    assert table.shape == (matcher.pipeline.vocab_size, 3)
    found = {word: matcher.pipeline.token_id(word) for word in ("man", "the", "sleeps", "unheard")}
    assert table[[found["man"], found["the"], found["unheard"]]].tolist() == [
        [0.5, -0.25, 0.125],
        [1.5, -1.25, 0.125],
        [3.5, -3.25, 0.125],
    ]
    assert matcher.pipeline.token_id("unseen") is None
    counted = matcher.pipeline.vocab_size - 1  # padding is no word
    assert re.search(rf"glove\.txt: 4 of {counted} words found \(\d+\.\d %\)", answer.err)


def test_a_table_that_nothing_fills_is_not_frozen(english_data, tmp_path):
    words = settings(optim={"lr": 0.01}, training={"max_steps": 2}, vocabulary={"frozen": "true"})
    answer = train("siamese", english_data, tmp_path / "model", *words)
    assert "no vectors are given, so that the table of words learns along" in answer.err


def test_two_files_of_vectors_lie_side_by_side_and_stay_frozen(english_data, glove, tmp_path):
    words = settings(optim={"lr": 0.01}, training={"max_steps": 3}, vocabulary={"frozen": "true"})
    answer = train(
        "esim", english_data, tmp_path / "model", *words, "--vectors", glove, "--vectors", glove
    )
    assert answer.err.count("words found") == 2
    table = weights(tmp_path / "model")["embedder.table.weight"]
    assert table.shape[1] == 6
    place = sq.load(tmp_path / "model").pipeline.token_id("sleeps")
    assert table[place].tolist() == [2.5, -2.25, 0.125] * 2


def test_what_was_cut_is_said(english_data, tmp_path):
    words = settings(training=ONE_STEP, text={"max_tokens": 5})
    answer = train("esim", english_data, tmp_path / "model", *words)
    for split in ("train", "held back", "dev"):
        assert re.search(rf"{split}: \d+ sentences were cut at 5 tokens", answer.err)


def test_pairs_that_dev_shares_with_train_are_said(tmp_path):
    rows = english(100)
    more = english(120)[100:]  # the same seed: other rows than the first hundred
    data = write_folder(tmp_path / "data", [*rows, *rows[:7], *more], num_dev=27)
    answer = train("esim", data, tmp_path / "model", *settings(training=ONE_STEP), "--json")
    assert "warning: 7 of 27 dev pairs also stand in the training data" in answer.err
    assert json.loads(answer.out)["training"]["dev_rows_in_train"] == 7


def test_a_label_that_was_only_held_back_is_a_label(tmp_path):
    """Whichever rows are held back, their labels belong to the task."""
    rows = [(f"First {place}.", "Second.", "ab"[place % 2]) for place in range(40)]
    rows[0] = ("First 0.", "Second.", "rare")
    data = write_folder(tmp_path / "data", [*rows, *rows[1:21]], num_dev=20)
    known = list(read_rows(data / "train.tsv", columns=COLUMNS))
    held_back = (
        split_rows(known, key=first_sentence, share=0.05, seed=seed)[1] for seed in range(99)
    )
    seed = next(seed for seed, rows in enumerate(held_back) if known[0] in rows)
    train("esim", data, tmp_path / "model", *settings(training=ONE_STEP), "--seed", seed)
    assert config(tmp_path / "model")["task"]["labels"] == ["a", "b", "rare"]


def write_csv(path, rows):
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *(row.values.values() for row in rows)])


def write_jsonl(path, rows):
    lines = (json.dumps({**row.values, "further": 1}) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")


RENAMED = {"sentence1": "question", "sentence2": "other", "label": "verdict"}


def write_parquet(path, rows):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra [parquet]")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {RENAMED[name]: [row.values[name] for row in rows] for name in COLUMNS}
    parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize(
    ("writers", "words"),
    [
        ({"train.csv.gz": write_csv, "dev.jsonl": write_jsonl}, []),
        (
            {"train.parquet": write_parquet, "dev.parquet": write_parquet},
            ["--columns", ",".join(f"{ours}={theirs}" for ours, theirs in RENAMED.items())],
        ),
    ],
    ids=["csv.gz and jsonl", "parquet with other names"],
)
def test_other_forms_of_files_train_the_same(english_data, tmp_path, writers, words):
    for name, write in writers.items():
        (tmp_path / "data").mkdir(exist_ok=True)
        split = english_data / f"{name.partition('.')[0]}.tsv"
        write(tmp_path / "data" / name, list(read_rows(split, columns=COLUMNS)))
    small = settings(training={"max_steps": 2})
    train("esim", english_data, tmp_path / "plain", *small)
    train("esim", tmp_path / "data", tmp_path / "other", *small, *words)
    assert_equal(weights(tmp_path / "plain"), weights(tmp_path / "other"))
    assert metrics(tmp_path / "plain")["dev"] == metrics(tmp_path / "other")["dev"]

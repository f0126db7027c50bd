import numpy as np
import pytest
from dev_answers import (
    Answers,
    accuracies,
    calibration_errors,
    read_dev,
    skewed_sets,
    split_halves,
    spread,
)
from hypothesis import given
from hypothesis import strategies as some

from softquery.answers import Calibration
from softquery.errors import InputError
from softquery.files import Row


def rows_of(sources, labels=None):
    labels = labels or ["1"] * len(sources)
    return [
        Row({"source": source, "label": label, "sentence1": "a", "sentence2": "b"}, place, "f")
        for place, (source, label) in enumerate(zip(sources, labels, strict=True))
    ]


@given(some.lists(some.sampled_from("abcd"), max_size=40))
def test_every_set_is_cut_in_its_middle(sources):
    rows = rows_of(sources)
    halves = split_halves(rows)
    assert sorted(row.number for row in halves.ordered) == list(range(len(rows)))
    for name in set(sources):
        places = [row.number for row in rows if row.values["source"] == name]
        first = [row.number for row in halves.first if row.values["source"] == name]
        assert first == places[: len(first)]
        assert len(first) == len(places) // 2


def test_a_set_sorted_by_its_labels_is_told():
    halves = split_halves(rows_of("aaaabbbb", ["0", "0", "1", "1", "0", "1", "0", "1"]))
    lines = skewed_sets(halves)
    assert len(lines) == 2
    assert all(line.startswith("a: label") for line in lines)


def test_rows_without_a_source_are_refused(tmp_path):
    path = tmp_path / "dev.jsonl"
    path.write_text('{"sentence1": "a", "sentence2": "b", "label": "1"}\n')
    with pytest.raises(InputError, match="source"):
        read_dev(path)


def test_figures_are_those_of_each_set():
    rows = rows_of("abab")
    assert accuracies(rows, np.array([True, False, True, True])) == {"a": 1.0, "b": 0.5}
    assert spread([0.25, 0.75]) == {"mean": 0.5, "min": 0.25, "max": 0.75}


def test_calibration_is_seen_in_the_errors():
    rows = rows_of("a" * 40)
    logits = np.array([[0.0, 4.0]] * 40)
    gold = np.array([1, 1, 1, 0] * 10)  # three of four are right; a softmax of 3.64 less says so
    answers = Answers(rows, logits, gold)
    (errors,) = calibration_errors(answers, Calibration(temperature=4 / np.log(3))).values()
    assert errors["ece_before"] > 0.2
    assert errors["ece_after"] == pytest.approx(0.0, abs=1e-9)


def test_a_threshold_decides_answers():
    answers = Answers(rows_of("ab"), np.array([[0.0, 0.4], [0.0, 2.0]]), np.array([0, 1]))
    assert answers.right().tolist() == [False, True]
    assert answers.right(Calibration(threshold=0.7)).tolist() == [True, True]

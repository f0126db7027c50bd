"""Entities and words are counted as seqeval and scikit-learn count them."""

import numpy as np
import pytest

from softquery.answers import spans_of
from softquery.errors import InputError
from softquery.measure import TagReport

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "S-LOC", "E-PER"]


def drawn(seed, count=40):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 12, count)
    return [[str(tag) for tag in draw.choice(TAGS, length)] for length in lengths]


def changed(sentences, seed):
    draw = np.random.default_rng(seed)
    return [
        [tag if draw.random() < 0.7 else str(draw.choice(TAGS)) for tag in tags]
        for tags in sentences
    ]


def measured(gold, predicted):
    return TagReport.of(
        gold,
        predicted,
        gold_spans=[spans_of(tags) for tags in gold],
        predicted_spans=[spans_of(tags) for tags in predicted],
    )


@pytest.mark.parametrize("seed", range(4))
def test_entities_are_counted_as_seqeval_counts_them(seed):
    theirs = pytest.importorskip("seqeval.metrics")
    gold = drawn(seed)
    predicted = changed(gold, seed + 100)
    found = measured(gold, predicted).to_dict()
    assert found["f1"] == pytest.approx(theirs.f1_score(gold, predicted))
    assert found["precision"] == pytest.approx(theirs.precision_score(gold, predicted))
    assert found["recall"] == pytest.approx(theirs.recall_score(gold, predicted))
    assert found["accuracy"] == pytest.approx(theirs.accuracy_score(gold, predicted))
    wanted = theirs.classification_report(gold, predicted, output_dict=True)
    for label, each in found["by_label"].items():
        assert each["f1"] == pytest.approx(wanted[label]["f1-score"])
        assert each["n"] == wanted[label]["support"]


def test_plain_tags_are_counted_word_by_word():
    sklearn = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(3)
    gold = [[str(t) for t in draw.choice(["N", "V", "D"], 6)] for _ in range(30)]
    predicted = [[str(t) for t in draw.choice(["N", "V", "D"], 6)] for _ in range(30)]
    found = TagReport.of(gold, predicted).to_dict()
    flat = [tag for tags in gold for tag in tags], [tag for tags in predicted for tag in tags]
    assert found["accuracy"] == pytest.approx(sklearn.accuracy_score(*flat))
    wanted = sklearn.classification_report(*flat, output_dict=True)
    for tag, each in found["by_label"].items():
        assert each["f1"] == pytest.approx(wanted[tag]["f1-score"])
    assert "f1" not in found
    assert (found["n"], found["tokens"]) == (30, 180)


def test_intervals_hold_the_value_and_repeat_themselves():
    gold = drawn(1, 200)
    predicted = changed(gold, 2)
    one, other = measured(gold, predicted), measured(gold, predicted)
    assert one == other
    low, high = one.f1_interval
    assert low < one.spans.f1 < high
    assert one.accuracy_interval.low < one.accuracy < one.accuracy_interval.high


def test_nothing_found_and_nothing_there():
    found = measured([["O", "O"]], [["O", "O"]]).to_dict()
    assert (found["f1"], found["precision"], found["recall"], found["accuracy"]) == (0, 0, 0, 1)
    assert measured([["B-X"]], [["O"]]).spans.f1 == 0


def test_no_sentences_and_other_lengths_are_refused():
    with pytest.raises(InputError, match="there are no rows to measure"):
        TagReport.of([], [])
    with pytest.raises(ValueError, match="differ in length"):
        TagReport.of([["O"]], [["O", "O"]])

"""SemEval-2010 Task 8's score: by hand, by a loop, and at its edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.measure import (
    ClassReport,
    RelationReport,
    class_score,
    relation_f1,
    relation_of,
    relations_of,
)

LABELS = ["A(e1,e2)", "A(e2,e1)", "B(e1,e2)", "B(e2,e1)", "C(e1,e2)", "Other"]
few = settings(max_examples=60, deadline=None)


def by_loop(gold, predicted, labels=LABELS):
    """As the task's scorer counts: a wrong direction is an answer, and none of the right ones."""
    scores = []
    for relation in dict.fromkeys(relation_of(label) for label in labels):
        if relation == "Other":
            continue
        right = wrong_way = answered_else = actual = 0
        for one, other in zip(gold, predicted, strict=True):
            here, there = relation_of(labels[one]), relation_of(labels[other])
            actual += here == relation
            if there != relation:
                continue
            if here != relation:
                answered_else += 1
            elif one == other:
                right += 1
            else:
                wrong_way += 1
        answered = right + answered_else + wrong_way
        precision = right / answered if answered else 0.0
        recall = right / actual if actual else 0.0
        both = precision + recall
        scores.append(2 * precision * recall / both if both else 0.0)
    return sum(scores) / len(scores)


def test_by_hand():
    gold = [0, 0, 1, 2, 2, 5, 5, 4]
    answers = [0, 1, 1, 2, 5, 0, 5, 2]
    report = RelationReport.of(gold, answers, LABELS)
    # A: 2 right, 4 answered, 3 gold; B: 1 right, 2 answered, 2 gold; C: nothing right, 1 gold.
    assert report.by_relation["A"] == {"precision": 0.5, "recall": pytest.approx(2 / 3),
                                       "f1": pytest.approx(4 / 7), "n": 3}  # fmt: skip
    assert report.by_relation["B"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "n": 2}
    assert report.by_relation["C"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "n": 1}
    assert report.relation_f1 == pytest.approx((4 / 7 + 0.5 + 0) / 3)
    assert report.n == 8
    low, high = report.relation_f1_interval
    assert low < report.relation_f1 < high


@few
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_it_is_what_the_loop_counts(rows):
    gold, predicted = zip(*rows, strict=True)
    assert relation_f1(gold, predicted, LABELS) == pytest.approx(by_loop(gold, predicted))


def test_other_is_left_out_but_costs_precision_and_recall():
    plain = ["A(e1,e2)", "Other"]
    assert relation_f1([0, 1, 1], [0, 1, 1], plain) == 1.0
    assert relation_f1([0, 1, 1], [0, 0, 1], plain) == pytest.approx(2 / 3)
    assert relation_f1([0, 0, 1], [0, 1, 1], plain) == pytest.approx(2 / 3)
    assert relation_f1([1, 1], [1, 1], plain) == 0.0  # nothing was there to be found


def test_nine_relations_and_their_directions():
    names = ["Cause-Effect", "Component-Whole", "Content-Container", "Entity-Destination",
             "Entity-Origin", "Instrument-Agency", "Member-Collection", "Message-Topic",
             "Product-Producer"]  # fmt: skip
    labels = [f"{name}({way})" for name in names for way in ("e1,e2", "e2,e1")] + ["Other"]
    assert relations_of(labels) == tuple(names)
    draw = np.random.default_rng(1)
    gold = draw.integers(0, 19, 500)
    predicted = np.where(draw.random(500) < 0.6, gold, draw.integers(0, 19, 500))
    wanted = by_loop(gold.tolist(), predicted.tolist(), labels)
    assert relation_f1(gold, predicted, labels) == pytest.approx(wanted)
    turned = np.where(predicted < 18, predicted ^ 1, predicted)  # every direction the wrong way
    assert relation_f1(gold, turned, labels) < 0.2 < 0.5 < wanted


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="labels must name a relation"):
        relation_f1([0], [0], ["Other"])
    with pytest.raises(ValueError, match="predicted holds label id 7"):
        relation_f1([0], [7], LABELS)
    with pytest.raises(ValueError, match="rows differ"):
        relation_f1([0, 1], [0], LABELS)
    with pytest.raises(InputError, match="no rows"):
        relation_f1([], [], LABELS)


def test_the_report_of_classes_says_what_it_is_judged_by_first():
    gold, chances = [0, 1, 5], np.eye(6)[[0, 0, 5]]
    plain = ClassReport.of(gold, chances, LABELS).to_dict()
    assert next(iter(plain)) == "accuracy"
    assert "relation_f1" not in plain
    relations = ClassReport.of(gold, chances, LABELS, metric="relation_f1").to_dict()
    assert next(iter(relations)) == "relation_f1"
    assert relations["accuracy"] == pytest.approx(2 / 3)
    assert set(relations["by_label"]) == {"A", "B", "C"}
    macro = ClassReport.of(gold, chances, LABELS, metric="macro_f1").to_dict()
    assert next(iter(macro)) == "macro_f1"
    assert macro["macro_f1_interval"][0] <= macro["macro_f1"] <= macro["macro_f1_interval"][1]


def test_answers_by_a_threshold_count():
    report = ClassReport.of([0, 1], [[0.4, 0.6], [0.3, 0.7]], ["no", "yes"], predicted=[0, 1])
    assert report.to_dict()["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("metric", "wanted"), [("accuracy", 0.5), ("macro_f1", 1 / 3), ("relation_f1", 1 / 3)]
)
def test_scores(metric, wanted):
    labels = ["A(e1,e2)", "B(e1,e2)"]
    assert class_score([0, 1], [0, 0], labels, metric) == pytest.approx(wanted)

"""Classes of texts: loss, labels and metric."""

import math

import numpy as np
import pytest
import torch

from softquery.data import DocumentBatch
from softquery.models import ClassOutput
from softquery.tasks import TextClassification

TASK = TextClassification(labels=("bad", "fair", "good"))


def batch(label):
    return DocumentBatch(torch.zeros(2, 1, 1, dtype=torch.int64), torch.ones(2, 1, 1) > 0, label)


def output(logits):
    return ClassOutput(torch.tensor(logits), torch.ones(2, 1, 1))


def test_loss_is_the_mean_cross_entropy():
    logits = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    found = TASK.loss(output(logits), batch(torch.tensor([2, 0])))
    first = -math.log(math.exp(3) / (math.exp(1) + math.exp(2) + math.exp(3)))
    assert found.item() == pytest.approx((first + math.log(3)) / 2)


def test_smoothing_pulls_towards_all_classes():
    logits = [[9.0, 0.0, 0.0], [9.0, 0.0, 0.0]]
    label = torch.tensor([0, 0])
    smooth = TextClassification(labels=TASK.labels, smoothing=0.3)
    assert smooth.loss(output(logits), batch(label)) > TASK.loss(output(logits), batch(label))
    even = [[0.0] * 3] * 2
    assert smooth.loss(output(even), batch(label)).item() == pytest.approx(math.log(3))


def test_two_passes_are_asked_to_agree():
    """The halves of a batch are the same texts; by hand, for two classes of one text."""
    label = torch.tensor([0, 0])
    agreeing = TextClassification(labels=("a", "b"), consistency=2.0)
    plain = TextClassification(labels=("a", "b"))
    same, apart = output([[1.0, 0.0]] * 2), output([[0.0, 0.0], [math.log(3), 0.0]])
    assert agreeing.loss(same, batch(label)) == plain.loss(same, batch(label))
    one, other = (0.5, 0.5), (0.75, 0.25)
    there = sum(p * math.log(p / q) for p, q in zip(one, other, strict=True))
    back = sum(q * math.log(q / p) for p, q in zip(one, other, strict=True))
    extra = agreeing.loss(apart, batch(label)) - plain.loss(apart, batch(label))
    assert extra.item() == pytest.approx(2.0 * (there + back) / 2, abs=1e-6)


def test_labels_may_be_distributions():
    soft = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    found = TASK.loss(output([[0.0] * 3] * 2), batch(soft))
    assert found.item() == pytest.approx(math.log(3))


def test_it_comes_back_from_a_config():
    assert TextClassification.from_dict(TASK.to_dict()) == TASK
    relations = TextClassification(labels=("A(e1,e2)", "Other"), metric="relation_f1")
    assert TextClassification.from_dict(relations.to_dict()) == relations
    assert TextClassification.from_dict({"labels": ["a", "b"]}).metric == "accuracy"


def test_a_run_is_steered_by_the_metric():
    chances = np.eye(3)[[0, 1, 1]]
    gold = np.array([0, 1, 2])
    assert TASK.steers_by == "accuracy"
    assert TASK.score(gold, chances.argmax(axis=1)) == pytest.approx(2 / 3)
    macro = TextClassification(labels=TASK.labels, metric="macro_f1")
    assert macro.steers_by == "macro_f1"
    assert macro.score(gold, chances.argmax(axis=1)) == pytest.approx(5 / 9)
    assert macro.report(gold, chances)["macro_f1"] == pytest.approx(5 / 9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": ("a",)}, "labels must be two or more different names"),
        ({"labels": ("a", "a")}, "labels must be two or more different names"),
        ({"labels": ("a", "b"), "smoothing": 1.0}, r"smoothing must be in \[0, 1\), got 1.0"),
        ({"labels": ("a", "b"), "consistency": -1.0}, "consistency must not be negative"),
    ],
)
def test_odd_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TextClassification(**settings)


def test_relations_need_a_relation():
    assert TextClassification(labels=("a", "Other"), metric="relation_f1").output_size == 2
    with pytest.raises(ValueError, match="labels must be two"):
        TextClassification(labels=("Other", "Other"), metric="relation_f1")

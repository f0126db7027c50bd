"""Classes and grades: labels read, losses computed, answers measured, configs written and read."""

import math

import numpy as np
import pytest
import torch

from softquery.data import PairBatch, Sentences
from softquery.models import PairOutput
from softquery.tasks import PairClassification, PairGrading, task_from_dict
from softquery.tasks.match import contrast_in_batch

NLI = PairClassification(labels=("entailment", "neutral", "contradiction"))
STS = PairGrading(low=0, high=5)


def batch(label):
    side = Sentences.pack([[2]] * len(label)).pad(torch.arange(len(label)), 1)
    return PairBatch(side, side, label)


def test_classes_are_numbered_in_order():
    assert [NLI.parse_label(label) for label in NLI.labels] == [0, 1, 2]
    assert NLI.output_size == 3


def test_an_unknown_class_is_named_and_cut_to_a_line():
    with pytest.raises(ValueError, match="label 'maybe' is not one of entailment, neutral"):
        NLI.parse_label("maybe")
    with pytest.raises(ValueError, match=r"label 'x{40}' is not"):
        NLI.parse_label("x" * 10_000)


@pytest.mark.parametrize("labels", [(), ("a",), ("a", "a"), ("a", "b", "a")])
def test_classes_must_differ(labels):
    with pytest.raises(ValueError, match="labels must be two or more different names, got"):
        PairClassification(labels=labels)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_smoothing_must_be_a_share(smoothing):
    with pytest.raises(ValueError, match=rf"smoothing must be in \[0, 1\), got {smoothing}"):
        PairClassification(labels=("a", "b"), smoothing=smoothing)


def test_an_agreement_is_not_negative():
    with pytest.raises(ValueError, match=r"consistency must not be negative, got -1.0"):
        PairClassification(labels=("a", "b"), consistency=-1.0)


def test_the_loss_of_classes_by_hand():
    logits, label = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), torch.tensor([0, 2])
    chosen = [math.exp(2) / (math.exp(2) + 1 + math.exp(-1)), 1 / (2 + math.e)]
    wanted = -sum(map(math.log, chosen)) / 2
    assert NLI.loss(PairOutput(logits), batch(label)).item() == pytest.approx(wanted, rel=1e-6)
    assert NLI.loss_of_logits(logits, label).item() == pytest.approx(wanted, rel=1e-6)


def test_smoothing_acts_on_the_loss_that_trains_and_not_on_the_one_that_measures():
    smooth = PairClassification(labels=NLI.labels, smoothing=0.3)
    logits, label = torch.tensor([[4.0, 0.0, 0.0]]), torch.tensor([0])
    log_shares = logits.log_softmax(dim=1)[0]
    wanted = -(0.7 * log_shares[0] + 0.1 * log_shares.sum())
    torch.testing.assert_close(smooth.loss(PairOutput(logits), batch(label)), wanted)
    assert torch.equal(smooth.loss_of_logits(logits, label), NLI.loss_of_logits(logits, label))


def test_probabilities_of_classes_sum_to_one_in_float32():
    shares = NLI.probabilities(torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.bfloat16))
    assert shares.dtype == torch.float32
    assert shares.sum().item() == pytest.approx(1.0)
    assert shares.argmax().item() == 2


@pytest.mark.parametrize(("text", "share"), [("0", 0.0), ("5", 1.0), ("2.5", 0.5), (" 1 ", 0.2)])
def test_grades_are_shares_of_the_scale(text, share):
    assert STS.parse_label(text) == pytest.approx(share)
    assert STS.output_size == 1


def test_a_scale_need_not_start_at_zero():
    assert PairGrading(low=1, high=5).parse_label("2") == 0.25
    assert PairGrading(low=-1, high=1).parse_label("0") == 0.5


@pytest.mark.parametrize("text", ["5.1", "-0.1", "nan", "inf", "four", ""])
def test_a_grade_outside_the_scale_is_named(text):
    with pytest.raises(ValueError, match=f"grade '{text}' is not a number from 0 to 5"):
        STS.parse_label(text)


@pytest.mark.parametrize(("low", "high"), [(5, 5), (5, 0), (0, float("nan"))])
def test_a_scale_must_rise(low, high):
    with pytest.raises(ValueError, match=f"low must be under high, got {low} and {high}"):
        PairGrading(low=low, high=high)


def test_the_loss_of_grades_by_hand():
    logits, label = torch.tensor([[0.0], [2.0]]), torch.tensor([0.5, 0.25])
    share = 1 / (1 + math.exp(-2))
    wanted = (math.log(2) - 0.25 * math.log(share) - 0.75 * math.log(1 - share)) / 2
    assert STS.loss(PairOutput(logits), batch(label)).item() == pytest.approx(wanted, rel=1e-6)
    assert STS.loss_of_logits(logits, label).item() == pytest.approx(wanted, rel=1e-6)


def test_the_loss_of_grades_is_least_at_the_grade():
    label = torch.tensor([0.3])
    logits = torch.linspace(-3, 3, 121)
    losses = [STS.loss_of_logits(logit.view(1, 1), label).item() for logit in logits]
    best = STS.probabilities(logits[int(np.argmin(losses))].view(1, 1)).item()
    assert best == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("task", [NLI, STS], ids=["classes", "grades"])
def test_a_loss_needs_labels(task):
    unlabelled = PairBatch(*batch(torch.tensor([0]))[:2], None)
    with pytest.raises(ValueError, match="a loss needs labels, and this batch has none"):
        task.loss(PairOutput(torch.zeros(1, task.output_size)), unlabelled)


def test_classes_report_what_they_are_steered_by():
    gold, shares = np.array([0, 1, 2, 2]), np.eye(3)[[0, 1, 2, 0]]
    report = NLI.report(gold, shares)
    assert NLI.steers_by == "accuracy"
    assert report["accuracy"] == 0.75
    assert report["n"] == 4


def test_grades_report_what_they_are_steered_by():
    gold = np.linspace(0, 1, 10)
    report = STS.report(gold, gold[:, None] ** 2)
    assert STS.steers_by == "spearman"
    assert report["spearman"] == pytest.approx(1.0)


@pytest.mark.parametrize("task", [NLI, STS, PairGrading(low=-1, high=1)], ids=str)
def test_a_task_comes_back_from_a_config(task):
    assert task_from_dict(task.to_dict()) == task


def test_smoothing_does_not_travel():
    """It belongs to a run; a bundle answers without it."""
    smooth = PairClassification(labels=NLI.labels, smoothing=0.1)
    assert task_from_dict(smooth.to_dict()) == NLI


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"name": "tag"}, "task must be match or grade, got 'tag'"),
        ({}, "task must be match or grade, got None"),
        ({"name": "match"}, "task match lacks 'labels'"),
        ({"name": "grade", "low": 0}, "task grade lacks 'high'"),
        ({"name": "match", "labels": ["a"]}, "labels must be two or more"),
    ],
)
def test_a_config_that_names_no_task_is_refused(config, message):
    with pytest.raises(ValueError, match=message):
        task_from_dict(config)


def vectors_of(first, second):
    return PairOutput(
        torch.zeros(len(first), 2),
        first_vector=torch.tensor(first),
        second_vector=torch.tensor(second),
    )


def test_contrast_by_hand():
    output = vectors_of([[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
    cosines = np.array([[1.0, 0.5**0.5], [0.0, 0.5**0.5]]) / 0.05
    losses = -np.log(np.exp(np.diag(cosines)) / np.exp(cosines).sum(axis=1))
    both = contrast_in_batch(output, torch.tensor([1, 1]))
    assert float(both) == pytest.approx(losses.mean(), abs=1e-5)
    one = contrast_in_batch(output, torch.tensor([0, 1]))
    assert float(one) == pytest.approx(losses[1], abs=1e-5)
    taught = contrast_in_batch(output, torch.tensor([[0.75, 0.25], [0.25, 0.75]]))
    assert float(taught) == pytest.approx(losses @ [0.25, 0.75], abs=1e-5)
    assert float(contrast_in_batch(output, torch.tensor([0, 0]))) == 0


def test_contrast_is_added_to_the_loss():
    output = vectors_of([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
    tokens = Sentences.pack([[1], [1]]).pad(torch.arange(2), 1)
    batch = PairBatch(tokens, tokens, torch.tensor([1, 0]))
    plain = PairClassification(labels=("0", "1"))
    weighed = PairClassification(labels=("0", "1"), contrast=0.5)
    added = float(weighed.loss(output, batch)) - float(plain.loss(output, batch))
    expected = 0.5 * float(contrast_in_batch(output, batch.label))
    assert added == pytest.approx(expected, abs=1e-5)


def test_contrast_needs_vectors_and_two_labels():
    with pytest.raises(ValueError, match="one vector per sentence"):
        contrast_in_batch(PairOutput(torch.zeros(2, 2)), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="two labels"):
        PairClassification(labels=("a", "b", "c"), contrast=1.0)

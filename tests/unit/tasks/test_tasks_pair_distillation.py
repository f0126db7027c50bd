"""What a matcher learns of a teacher's logits, against plain loops."""

import math

import pytest
import torch

from softquery.data import NO_LABEL, PairBatch, PieceBatch, Tokens
from softquery.models import PairOutput
from softquery.tasks import DistillSettings, PairClassification, PairDistillation, PairGrading

NLI = PairClassification(labels=("a", "b", "c"))
GRADE = PairGrading(low=0, high=1)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 3


def batch(taught, label):
    ids = torch.ones(len(label), 1, dtype=torch.long)
    tokens = Tokens(ids, ids.bool())
    return PairBatch(tokens, tokens, label, taught=taught)


def squared_error(found, wanted) -> float:
    """The mean over pairs and logits; of several logits, each less the pair's mean."""
    total, count = 0.0, 0
    for mine, theirs in zip(found.tolist(), wanted.tolist(), strict=True):
        means = [0.0, 0.0] if len(mine) == 1 else [sum(mine) / len(mine), sum(theirs) / len(mine)]
        for one, other in zip(mine, theirs, strict=True):
            total += ((one - means[0]) - (other - means[1])) ** 2
            count += 1
    return total / count


def cross_entropy(row, gold) -> float:
    return math.log(sum(math.exp(each - row[gold]) for each in row))


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_classes_by_squared_error_and_by_labels_where_there_are_some(weight):
    found, wanted = drawn(5, 3), drawn(5, 3, seed=1)
    gold = torch.tensor([2, NO_LABEL, 0, NO_LABEL, NO_LABEL])
    task = PairDistillation(task=NLI, gold_weight=weight)
    labels = [cross_entropy(found[row].tolist(), int(gold[row])) for row in (0, 2)]
    expected = squared_error(found, wanted) + weight * sum(labels) / 5
    assert float(task.loss(PairOutput(found), batch(wanted, gold))) == pytest.approx(expected)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_one_logit_by_squared_error_and_by_grades(weight):
    found, wanted = drawn(4, 1), drawn(4, 1, seed=1)
    gold = torch.tensor([1.0, math.nan, 0.25, math.nan])
    expected = squared_error(found, wanted)
    for row in (0, 2):
        share = 1 / (1 + math.exp(-float(found[row])))
        wished = float(gold[row])
        loss = -wished * math.log(share) - (1 - wished) * math.log(1 - share)
        expected += weight * loss / 4
    task = PairDistillation(task=GRADE, gold_weight=weight)
    assert float(task.loss(PairOutput(found), batch(wanted, gold))) == pytest.approx(expected)


def test_a_constant_on_all_logits_of_a_pair_changes_nothing_but_one_logit_has_its_place():
    gold = torch.full((6,), NO_LABEL)
    task = PairDistillation(task=NLI)
    found, wanted = drawn(6, 3), drawn(6, 3, seed=1)
    plain = task.loss(PairOutput(found), batch(wanted, gold))
    moved = task.loss(PairOutput(found + drawn(6, 1, seed=2)), batch(wanted + 7, gold))
    torch.testing.assert_close(plain, moved)
    one = PairDistillation(task=GRADE)
    found, gold = drawn(6, 1), torch.full((6,), math.nan)
    assert float(one.loss(PairOutput(found + 1), batch(found, gold))) == pytest.approx(1)


def test_without_labels_gradients_are_finite_and_come_from_the_teacher_alone():
    for task, width, none in ((NLI, 3, NO_LABEL), (GRADE, 1, math.nan)):
        found = drawn(4, width).requires_grad_()
        wanted, gold = drawn(4, width, seed=1), torch.tensor([none] * 4)
        PairDistillation(task=task).loss(PairOutput(found), batch(wanted, gold)).backward()
        assert found.grad is not None
        assert found.grad.isfinite().all()
        weightless = drawn(4, width).requires_grad_()
        PairDistillation(task=task, gold_weight=0).loss(
            PairOutput(weightless), batch(wanted, gold)
        ).backward()
        torch.testing.assert_close(found.grad, weightless.grad)


def test_what_the_task_learns_besides_labels_is_learnt_here_too():
    found, wanted = drawn(4, 2), drawn(4, 2, seed=1)
    gold = torch.full((4,), NO_LABEL)
    plain = PairClassification(labels=("0", "1"))
    agreeing = PairClassification(labels=("0", "1"), consistency=2.0)
    first, second = (
        float(PairDistillation(task=task).loss(PairOutput(found), batch(wanted, gold)))
        for task in (plain, agreeing)
    )
    one, other = found.log_softmax(-1).chunk(2)
    both = (one.exp() * (one - other) + other.exp() * (other - one)).sum() / 2
    assert second - first == pytest.approx(2.0 * 0.5 * float(both), rel=1e-5)


def test_rows_of_pieces_are_learnt_likewise():
    found, wanted = drawn(3, 3), drawn(3, 3, seed=1)
    ids = torch.ones(3, 2, dtype=torch.long)
    given = PieceBatch(Tokens(ids, ids.bool()), ids, torch.full((3,), NO_LABEL), wanted)
    loss = PairDistillation(task=NLI).loss(PairOutput(found), given)
    assert float(loss) == pytest.approx(squared_error(found, wanted))


def test_what_lacks_logits_is_refused():
    with pytest.raises(ValueError, match="needs the teacher's logits"):
        PairDistillation(task=NLI).loss(PairOutput(drawn(1, 3)), batch(None, torch.tensor([1])))


@pytest.mark.parametrize(
    ("given", "said"),
    [({"gold_weight": -1.0}, "gold_weight must not be negative"),
     ({"gold_weight": math.nan}, "gold_weight must not be negative"),
     ({"most_tuned": 0}, "most_tuned must be at least 1")],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        DistillSettings(**given)

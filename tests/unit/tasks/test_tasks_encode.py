"""The losses of sentence vectors, against plain loops."""

import math

import pytest
import torch
from torch.nn import functional as F

from softquery.data import TaughtBatch, Tokens
from softquery.models import SentenceOutput
from softquery.tasks import Contrast, SentenceDistillation


def vectors(count: int, size: int = 8, seed: int = 0) -> torch.Tensor:
    made = torch.randn(count, size, generator=torch.Generator().manual_seed(seed))
    return F.normalize(made, dim=-1)


def batch(wanted: torch.Tensor | None, num_sides: int = 1) -> TaughtBatch:
    count = 1 if wanted is None else len(wanted)
    ids = torch.ones(count, 1, dtype=torch.long)
    return TaughtBatch(Tokens(ids, ids.bool()), wanted, num_sides)


def softmax(numbers: list[float]) -> list[float]:
    powers = [math.exp(number - max(numbers)) for number in numbers]
    return [power / sum(powers) for power in powers]


def likeness(found: torch.Tensor, wanted: torch.Tensor, width: int, temperature: float) -> float:
    """The mean divergence between what both see of a text's likeness to all others."""
    total, count = 0.0, len(found)
    for row in range(count):
        others = [other for other in range(count) if other != row]
        part = F.normalize(found[:, :width], dim=-1)
        mine = softmax([float(part[row] @ part[other]) / temperature for other in others])
        theirs = softmax([float(wanted[row] @ wanted[other]) / temperature for other in others])
        pairs = zip(theirs, mine, strict=True)
        total += sum(wished * math.log(wished / given) for wished, given in pairs)
    return total / count


def test_distillation_is_cosine_and_likeness_at_every_width():
    found, wanted = vectors(5), vectors(5, seed=1)
    task = SentenceDistillation(
        output_size=8, prefixes=(3,), cosine_weight=2.0, likeness_weight=0.5, temperature=0.2
    )
    cosine = sum(1 - float(mine @ theirs) for mine, theirs in zip(found, wanted, strict=True)) / 5
    alike = sum(likeness(found, wanted, width, 0.2) for width in (3, 8)) / 2
    loss = task.loss(SentenceOutput(found, None), batch(wanted))
    assert float(loss) == pytest.approx(2.0 * cosine + 0.5 * alike, abs=1e-5)


def test_closeness_is_what_cosines_of_near_texts_differ_by():
    found, wanted, temperature = vectors(5), vectors(5, seed=1), 0.2
    task = SentenceDistillation(
        output_size=8, cosine_weight=0.0, likeness_weight=0.0, closeness_weight=3.0,
        temperature=temperature,
    )  # fmt: skip
    total = 0.0
    for row in range(5):
        others = [other for other in range(5) if other != row]
        seen = [float(wanted[row] @ wanted[other]) for other in others]
        mine = [float(found[row] @ found[other]) for other in others]
        near = softmax([cosine / temperature for cosine in seen])
        total += sum(w * (m - s) ** 2 for w, m, s in zip(near, mine, seen, strict=True))
    loss = task.loss(SentenceOutput(found, None), batch(wanted))
    assert float(loss) == pytest.approx(3.0 * total / 5, abs=1e-5)


def test_the_teachers_own_vectors_lose_nothing():
    wanted = vectors(6)
    task = SentenceDistillation(output_size=8, closeness_weight=1.0)
    assert float(task.loss(SentenceOutput(wanted, None), batch(wanted))) == pytest.approx(
        0, abs=1e-5
    )


FLOOR = 0.2


def contrast(found, wanted, num_sides: int, temperature: float, margin: float) -> float:
    """The same as the loss, one text after the other."""
    count = len(found) // num_sides
    total = 0.0
    for row in range(count):
        partner = count + row
        nearest = max(float(wanted[row] @ wanted[partner]) - margin, FLOOR)
        rest = [other for other in range(count, len(found))
                if other == partner or float(wanted[row] @ wanted[other]) <= nearest]  # fmt: skip
        scores = softmax([float(found[row] @ found[other]) / temperature for other in rest])
        total -= math.log(scores[rest.index(partner)])
    return total / count


@pytest.mark.parametrize("num_sides", [2, 3, 4])
def test_contrast_tells_partners_from_what_the_teacher_sees_clearly_farther(num_sides):
    found, wanted = vectors(4 * num_sides), vectors(4 * num_sides, seed=2)
    task = Contrast(weight=1.0, temperature=0.3, margin=0.1, floor=FLOOR)
    expected = contrast(found, wanted, num_sides, 0.3, 0.1)
    assert float(task.loss(found, wanted, num_sides)) == pytest.approx(expected, abs=1e-5)
    without = contrast(found, wanted, num_sides, 0.3, -9.0)  # a margin that hides nothing
    assert expected != pytest.approx(without, abs=1e-3)  # the teacher hides some here


def test_contrast_counts_in_batches_of_pairs_alone():
    found, wanted = vectors(6), vectors(6, seed=3)
    plain = SentenceDistillation(output_size=8)
    taught = SentenceDistillation(output_size=8, contrast=Contrast(weight=3.0, floor=FLOOR))
    output = SentenceOutput(found, None)
    assert taught.loss(output, batch(wanted)) == plain.loss(output, batch(wanted))
    gained = taught.loss(output, batch(wanted, 2)) - plain.loss(output, batch(wanted, 2))
    assert float(gained) == pytest.approx(3.0 * contrast(found, wanted, 2, 0.05, 0.05), abs=1e-4)


def test_a_loss_without_a_teachers_vectors_is_refused():
    task = SentenceDistillation(output_size=8)
    with pytest.raises(ValueError, match="needs the teacher's vectors"):
        task.loss(SentenceOutput(vectors(1), None), batch(None))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prefixes": (4, 2)}, "prefixes must grow"),
        ({"prefixes": (8,)}, "prefixes must lie between 0 and the width 8"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"likeness_weight": -1.0}, "must not be negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        SentenceDistillation(output_size=8, **settings)

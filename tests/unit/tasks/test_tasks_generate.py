"""Loss and perplexity of writing, by hand."""

import math

import pytest
import torch
from torch.nn import functional as F

from softquery.data import Sentences, TranslationBatch
from softquery.models import GeneratorOutput
from softquery.tasks import Generation, TokenLikelihood


def batch():
    source = Sentences.pack([[2, 4, 3], [2, 3]]).pad(torch.arange(2), 3)
    target = Sentences.pack([[2, 4, 5, 3], [2, 3]]).pad(torch.arange(2), 6)
    return TranslationBatch(source, target)


def output(seed=1):
    torch.manual_seed(seed)
    return GeneratorOutput(torch.randn(2, 5, 7))


REAL = [(0, 0, 4), (0, 1, 5), (0, 2, 3), (1, 0, 3)]
"""Row, place and label of everything that is no padding."""


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_loss_is_the_mean_over_real_tokens(smoothing):
    made, said = batch(), output()
    losses = []
    for row, place, label in REAL:
        log_probabilities = said.logits[row, place].log_softmax(dim=-1)
        goal = torch.full((7,), smoothing / 7)
        goal[label] += 1 - smoothing
        losses.append(-(goal * log_probabilities).sum())
    found = Generation(smoothing=smoothing).loss(said, made)
    torch.testing.assert_close(found, torch.stack(losses).mean())


def test_padding_has_no_gradient():
    said = GeneratorOutput(output().logits.requires_grad_())
    Generation().loss(said, batch()).backward()
    touched = said.logits.grad.abs().sum(dim=-1) > 0
    assert touched.nonzero().tolist() == [[row, place] for row, place, _ in REAL]


def test_likelihood_sums_over_batches():
    total, wanted, right = TokenLikelihood(), 0.0, 0
    for seed in (1, 2):
        said = output(seed)
        total.add(said, batch())
        for row, place, label in REAL:
            wanted += F.log_softmax(said.logits[row, place], dim=-1)[label].item()
            right += int(said.logits[row, place].argmax() == label)
    assert total.log_likelihood == pytest.approx(wanted)
    assert (total.num_tokens, total.num_right, total.num_targets) == (8, right, 4)
    assert total.mean == pytest.approx(wanted / 8)
    assert total.report()["perplexity"] == pytest.approx(math.exp(-wanted / 8))


def test_nothing_measured_is_no_division_by_zero():
    assert TokenLikelihood().report() == {
        "perplexity": 1.0, "token_accuracy": 0.0, "num_tokens": 0, "n": 0
    }  # fmt: skip


def test_a_hopeless_model_has_a_finite_perplexity():
    assert math.isfinite(TokenLikelihood(log_likelihood=-1e9, num_tokens=1).report()["perplexity"])


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_a_smoothing_that_cannot_be_is_refused(smoothing):
    with pytest.raises(ValueError, match=rf"smoothing must be in \[0, 1\), got {smoothing}"):
        Generation(smoothing=smoothing)


def test_it_stands_in_a_config_under_its_name():
    assert Generation().to_dict() == {"name": "generate", "bleu": "13a", "form": "free"}

"""The loss of pretraining, and perplexity."""

import math

import pytest
import torch

from softquery.data import StreamBatch
from softquery.models import LanguageModelOutput
from softquery.tasks import LanguageModel, Likelihood

NONE = torch.zeros(1, 1, dtype=torch.int64)


def batch(forwards, backwards):
    return StreamBatch(
        NONE, NONE, NONE, torch.tensor(forwards), torch.tensor(backwards), torch.tensor([0])
    )


def output(forwards, backwards):
    return LanguageModelOutput(torch.tensor(forwards), torch.tensor(backwards))


def test_the_loss_is_the_mean_over_words_and_directions():
    found = LanguageModel().loss(
        output([[-1.0, 0.0, -2.0]], [[-4.0, -1.0, 0.0]]), batch([[5, 2, 1]], [[5, 3, 2]])
    )
    assert found.item() == pytest.approx((1 + 2 + 4 + 1) / 6)


def test_likelihoods_add_up_over_batches():
    """Ends that are met count, those that are set out from do not."""
    found = Likelihood()
    found.add(output([[-1.0, -9.0]], [[-2.0, -4.0]]), batch([[5, 2]], [[2, 1]]))
    found.add(output([[-3.0, -2.0]], [[-9.0, -9.0]]), batch([[1, 3]], [[3, 3]]))
    report = found.report()
    assert report["perplexity_forwards"] == pytest.approx(math.exp(2))
    assert report["perplexity_backwards"] == pytest.approx(math.exp(3))
    assert report["perplexity"] == pytest.approx(math.exp(2.5))
    assert (report["n"], report["unknown_share"]) == (3, pytest.approx(1 / 3))
    assert found.mean == pytest.approx(-2.5)


def test_what_is_not_finite_is_known():
    found = Likelihood()
    assert found.is_finite
    found.add(output([[math.nan]], [[-1.0]]), batch([[5]], [[5]]))
    assert not found.is_finite


def test_a_hopeless_model_has_a_finite_perplexity():
    assert math.isfinite(Likelihood(forwards=-1e9, num_forwards=1).report()["perplexity_forwards"])


def test_a_bundle_names_the_task():
    assert LanguageModel().to_dict() == {"name": "language-model"}

"""The mix of layers: γ Σ softmax(w) h, its penalty and its dropout."""

import pytest
import torch
from torch.nn import functional as F

from softquery.nn import LayerMix


def layers():
    return torch.randn(3, 2, 4, 6, generator=torch.Generator().manual_seed(1))


def test_it_follows_its_equation():
    mix = LayerMix(3)
    mix.weights.data = torch.tensor([0.3, -1.0, 2.0])
    mix.scale.data = torch.tensor(1.7)
    share = mix.weights.softmax(dim=0)
    wanted = 1.7 * sum(s * layer for s, layer in zip(share, layers(), strict=True))
    torch.testing.assert_close(mix(layers()), wanted)


def test_it_starts_as_the_mean():
    torch.testing.assert_close(LayerMix(3)(layers()), layers().mean(dim=0))


def test_layers_are_normalised_token_by_token():
    mix = LayerMix(3, normalise=True)
    wanted = F.layer_norm(layers(), (6,)).mean(dim=0)
    torch.testing.assert_close(mix(layers()), wanted)
    torch.testing.assert_close(mix(layers()[:, :1]), wanted[:1])


def test_the_penalty_pulls_towards_the_mean():
    mix = LayerMix(2, penalty=0.5)
    mix.weights.data = torch.tensor([3.0, -1.0])
    assert mix.regulariser().item() == pytest.approx(0.5 * 10)
    mix.regulariser().backward()
    assert mix.weights.grad.tolist() == [3.0, -1.0]
    assert LayerMix(2).regulariser().item() == 0


def test_the_scale_is_learned_or_one():
    for learned in (True, False):
        mix = LayerMix(3, learn_scale=learned)
        mix(layers()).sum().backward()
        assert (mix.scale.grad is not None) is learned
        assert mix.weights.grad is not None


def test_dropout_acts_in_training_alone():
    mix = LayerMix(3, dropout=0.5)
    assert (mix(layers()) == 0).any()
    torch.testing.assert_close(mix.eval()(layers()), layers().mean(dim=0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be positive"),
        ({"num_layers": 2, "penalty": -1}, "penalty must not be negative"),
        ({"num_layers": 2, "dropout": 1.0}, r"dropout in \[0, 1\)"),
    ],
)
def test_what_does_not_fit_is_told(settings, message):
    with pytest.raises(ValueError, match=message):
        LayerMix(**settings)


def test_another_number_of_layers_is_told():
    with pytest.raises(ValueError, match="expected 2 layers, got 3"):
        LayerMix(2)(layers())

"""Which layers are asked for, and mixing them without torch."""

import numpy as np
import pytest
import torch

from softquery.errors import ConfigError
from softquery.nn import LayerMix
from softquery.runtime.embed.layer_choice import Mix, check_choice, chosen, parse_layers

LAYERS = np.random.default_rng(1).normal(size=(3, 5, 8)).astype(np.float32)


@pytest.mark.parametrize("normalise", [False, True])
def test_a_mix_is_that_of_torch(normalise):
    theirs = LayerMix(3, normalise=normalise).eval()
    with torch.no_grad():
        theirs.weights.copy_(torch.tensor([0.5, -2.0, 1.0]))
        theirs.scale.fill_(1.7)
        wanted = theirs(torch.from_numpy(LAYERS)[:, None])[0].numpy()
    stored = {f"a.{name}": value.numpy() for name, value in theirs.state_dict().items()}
    ours = Mix.read(stored, "a", normalise=normalise)
    np.testing.assert_allclose(ours.of(LAYERS), wanted, rtol=0, atol=1e-6)
    assert ours.of(LAYERS).dtype == np.float32
    assert sum(ours.shares) == pytest.approx(1)


def test_a_mix_of_more_layers_than_there_are_is_refused():
    with pytest.raises(ValueError, match="^expected 4 layers, got 3$"):
        Mix((0.0,) * 4).of(LAYERS)


def test_a_mix_of_fewer_layers_takes_the_highest():
    np.testing.assert_allclose(Mix((0.0,)).of(LAYERS), LAYERS[2], atol=1e-6)
    np.testing.assert_allclose(Mix((0.0, 0.0)).of(LAYERS), LAYERS[1:].mean(axis=0), atol=1e-6)


def test_every_choice_has_three_axes():
    mix = Mix((0.0, 0.0, 9.0))
    np.testing.assert_array_equal(chosen(LAYERS, "all", mix), LAYERS)
    np.testing.assert_array_equal(chosen(LAYERS, "top", mix), LAYERS[2:])
    np.testing.assert_array_equal(chosen(LAYERS, 1, mix), LAYERS[1:2])
    np.testing.assert_allclose(chosen(LAYERS, "average", mix), LAYERS.mean(axis=0)[None], atol=1e-6)
    np.testing.assert_allclose(chosen(LAYERS, "mix", mix), mix.of(LAYERS)[None])
    assert np.abs(chosen(LAYERS, "mix", mix) - LAYERS[2]).max() < 0.01


def test_what_cannot_be_chosen():
    assert [parse_layers(text) for text in ("all", "mix", "average", "0", "12")] == [
        "all", "mix", "average", 0, 12,
    ]  # fmt: skip
    for text in ("", "-1", "last", "1.0", "²"):
        with pytest.raises(ConfigError, match="^--layers must be one of all, mix, top, average,"):
            parse_layers(text)
    check_choice(2, 3)
    with pytest.raises(ConfigError, match="^the model has layers 0 to 2, got 3$"):
        check_choice(3, 3)
    with pytest.raises(ConfigError, match="^layers must be one of all, mix, .* got 'last'$"):
        check_choice("last", 3)

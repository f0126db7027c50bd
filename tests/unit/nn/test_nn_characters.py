"""Characters to vectors: one matrix product for all widths, equal to a convolution for each."""

import pytest
import torch
from torch.nn import functional as F

from softquery.nn import CharacterCnn, Highway
from softquery.text import spell_tokens

TOKENS = torch.from_numpy(spell_tokens(["a", "bees", "incomprehensible", "\U0001f44d"], 10)).int()


def make(**settings):
    torch.manual_seed(1)
    sizes = {"widths": (1, 3, 4), "filters": (2, 3, 5), "output_size": 6, **settings}
    cnn = CharacterCnn(262, 4, sizes.pop("widths"), sizes.pop("filters"), **sizes)
    cnn.bias.data.normal_()
    return cnn


def by_convolutions(cnn, characters):
    embedded = cnn.table(characters).transpose(1, 2)  # [U, E, C]
    found = [F.conv1d(embedded, kernel).amax(dim=-1) for kernel in cnn.kernels]
    pooled = torch.cat(found, dim=-1) + cnn.bias
    active = F.relu(pooled) if cnn.activation == "relu" else pooled.tanh()
    return cnn.projection(cnn.highways(active))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("num_highways", [0, 2])
def test_equals_a_convolution_for_each_width(activation, num_highways):
    cnn = make(activation=activation, num_highways=num_highways)
    found, wanted = cnn(TOKENS), by_convolutions(cnn, TOKENS)
    torch.testing.assert_close(found, wanted)
    ours = torch.autograd.grad(found.square().sum(), list(cnn.parameters()))
    theirs = torch.autograd.grad(wanted.square().sum(), list(cnn.parameters()))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_tokens_know_nothing_of_each_other():
    cnn = make()
    torch.testing.assert_close(cnn(TOKENS)[2:3], cnn(TOKENS[2:3]))
    torch.testing.assert_close(cnn(TOKENS.flip(0)), cnn(TOKENS).flip(0))


def test_a_width_as_long_as_the_token_is_allowed_and_a_longer_one_told():
    assert make(widths=(10,), filters=(3,))(TOKENS).shape == (4, 6)
    with pytest.raises(ValueError, match=r"10 characters are narrower than \(11,\)"):
        make(widths=(11,), filters=(3,))(TOKENS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"widths": (1, 2), "filters": (3,)}, "must be positive pairs"),
        ({"widths": (), "filters": ()}, "must be positive pairs"),
        ({"widths": (0,), "filters": (3,)}, "must be positive pairs"),
    ],
)
def test_what_does_not_fit_is_told(settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


def test_a_highway_follows_its_equation():
    torch.manual_seed(1)
    highway, vector = Highway(3), torch.randn(2, 3)
    gate = torch.sigmoid(vector @ highway.gate.weight.T + highway.gate.bias)
    changed = F.relu(vector @ highway.change.weight.T + highway.change.bias)
    torch.testing.assert_close(highway(vector), gate * changed + (1 - gate) * vector)


def test_a_fresh_highway_lets_most_pass():
    torch.manual_seed(1)
    vector = torch.randn(100, 8)
    changed = Highway(8)(vector)
    assert F.cosine_similarity(changed, vector).mean() > 0.9

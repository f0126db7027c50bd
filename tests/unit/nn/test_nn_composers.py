"""Composers beyond the contract: windows, padding, dropout, and torch's own convolution."""

import pytest
import torch
from torch.nn import functional as F

from softquery.models.esim import make_composer
from softquery.nn import WindowComposer, with_neighbours

LENGTHS = torch.tensor([5, 2, 1, 0])
MASK = torch.arange(5) < LENGTHS.unsqueeze(1)


def inputs(width=4):
    torch.manual_seed(1)
    return torch.randn(4, 5, width)


@pytest.mark.parametrize("window", [1, 3, 5])
def test_a_window_is_a_convolution_of_torch(window):
    torch.manual_seed(2)
    composer = WindowComposer(4, 6, window=window)
    states = inputs()[:1]
    wanted = states.transpose(1, 2)
    for layer in composer.layers:
        kernel = layer.weight.view(6, window, -1).transpose(1, 2)  # [out, in, window]
        wanted = F.conv1d(wanted, kernel, layer.bias, padding=window // 2).relu()
    found = composer(states, MASK[:1])
    torch.testing.assert_close(found, wanted.transpose(1, 2))


def test_neighbours_stand_in_the_order_of_the_text():
    states = torch.arange(1.0, 5.0).view(1, 4, 1)
    assert with_neighbours(states, 1) is states
    assert with_neighbours(states, 3)[0].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0]]
    assert with_neighbours(states, 5)[0, 0].tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("name", ["lstm", "gru", "feedforward", "convolution"])
def test_what_stands_at_padding_is_never_read(name):
    torch.manual_seed(3)
    composer = make_composer(name, 4, 6)
    states = inputs()
    other = torch.where(MASK.unsqueeze(-1), states, 100.0)
    found = composer(other, MASK)
    torch.testing.assert_close(found, composer(states, MASK))
    assert not found[~MASK].any()
    assert found.shape == (4, 5, composer.output_size)


def test_only_a_convolution_sees_the_neighbours():
    torch.manual_seed(4)
    states, mask = inputs()[:1], MASK[:1]
    for name, reach in (("feedforward", 0), ("convolution", 2)):
        composer = make_composer(name, 4, 12)
        changed = states.clone()
        changed[0, 0] += 1.0
        moved = (composer(states, mask) != composer(changed, mask)).any(dim=-1)[0]
        assert moved.tolist() == [place <= reach for place in range(5)]


def test_dropout_lies_between_the_layers_in_training_alone():
    composer = make_composer("convolution", 4, 12, dropout=0.5)
    calm = composer.eval()(inputs(), MASK)
    assert torch.equal(composer(inputs(), MASK), calm)
    torch.manual_seed(5)
    assert not torch.equal(composer.train()(inputs(), MASK), calm)


def test_a_window_has_a_middle():
    for window in (0, 2):
        with pytest.raises(ValueError, match=f"window must be an odd number, got {window}"):
            WindowComposer(4, 6, window=window)

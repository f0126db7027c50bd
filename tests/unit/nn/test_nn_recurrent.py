"""BiRecurrent beyond its parity with torch: reversal, initialisation, errors."""

import inspect

import pytest
import torch
from torch import nn

from softquery.nn import BiRecurrent, reverse_within


def mask_of(*lengths, width):
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def test_reversal_turns_each_sentence_within_its_own_length():
    words = torch.arange(1.0, 13.0).reshape(3, 4, 1)
    turned = reverse_within(words, mask_of(4, 2, 0, width=4))
    assert turned.squeeze(-1).tolist() == [[4, 3, 2, 1], [6, 5, 7, 8], [9, 10, 11, 12]]


def test_reversal_is_its_own_inverse():
    torch.manual_seed(1)
    inputs, mask = torch.randn(4, 6, 3), mask_of(6, 1, 0, 4, width=6)
    assert torch.equal(reverse_within(reverse_within(inputs, mask), mask), inputs)


def test_states_at_padding_are_zero():
    layer = BiRecurrent(3, 4)
    mask = mask_of(5, 2, 0, width=5)
    states = layer(torch.randn(3, 5, 3), mask)
    assert states.shape == (3, 5, 8)
    assert layer.output_size == 8
    assert not states[~mask].any()
    assert states[mask].all()


def test_what_stands_at_padding_is_never_read():
    torch.manual_seed(2)
    layer, mask = BiRecurrent(3, 4), mask_of(5, 2, width=5)
    inputs = torch.randn(2, 5, 3)
    other = torch.where(mask.unsqueeze(-1), inputs, 100.0)
    torch.testing.assert_close(layer(other, mask), layer(inputs, mask), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_each_gate_starts_orthogonal_in_time(cell):
    layer = BiRecurrent(6, 5, cell=cell)
    for direction in (layer.forwards, layer.backwards):
        for gate in direction.weight_hh_l0.split(5):
            torch.testing.assert_close(gate @ gate.T, torch.eye(5), rtol=0, atol=1e-5)


def test_each_gate_of_the_input_starts_within_xavier_bounds():
    layer = BiRecurrent(6, 5)
    bound = (6 / (6 + 5)) ** 0.5  # of one gate, not of the four stacked ones
    largest = max(gate.abs().max() for gate in layer.forwards.weight_ih_l0.split(5))
    assert 0.8 * bound < largest <= bound


def test_an_lstm_starts_by_remembering():
    forwards = BiRecurrent(3, 4).forwards
    assert (forwards.bias_ih_l0 + forwards.bias_hh_l0).tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8


def test_a_gru_starts_without_biases():
    for name, parameter in BiRecurrent(3, 4, cell="gru").named_parameters():
        assert "bias" not in name or not parameter.any(), name


def test_directions_have_weights_of_their_own():
    layer = BiRecurrent(3, 4)
    assert not torch.equal(layer.forwards.weight_ih_l0, layer.backwards.weight_ih_l0)
    assert isinstance(BiRecurrent(3, 4, cell="gru").backwards, nn.GRU)


def test_an_unknown_cell_is_named():
    # Unwrapped, because while tests run the checker of signatures would complain first.
    start = inspect.unwrap(BiRecurrent.__init__)
    with pytest.raises(ValueError, match=r"cell must be one of \['gru', 'lstm'\], got 'rnn'"):
        start(BiRecurrent.__new__(BiRecurrent), 3, 4, cell="rnn")

"""Recurrence against torch's own layers, whole and step by step; the reader; the bridge."""

import inspect

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from softquery.nn import Bridge, CellState, Recurrence, RecurrentEncoder, reverse_within

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
TORCH = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
every_cell = pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
LENGTHS = (5, 2, 1, 3)


def mask_of(*lengths, width=5):
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def layer_of(cell, *, seed=1):
    torch.manual_seed(seed)
    layer = Recurrence(3, 4, cell=cell)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.7)
    return layer


def twin_of(layer):
    twin = TORCH[layer.kind](3, 4, batch_first=True)
    names = ("input_weight", "recurrent_weight", "input_bias", "recurrent_bias")
    theirs = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    for mine, other in zip(names, theirs, strict=True):
        getattr(twin, other).data = getattr(layer, mine).data
    return twin


@every_cell
def test_whole_sequences_equal_torch(cell):
    layer, inputs = layer_of(cell), torch.randn(2, 6, 3)
    outputs, last = layer(inputs)
    wanted, end = twin_of(layer)(inputs)
    torch.testing.assert_close(outputs, wanted, **CLOSE)
    hidden, carried = end if cell == "lstm" else (end, None)
    torch.testing.assert_close(last.hidden, hidden[0], **CLOSE)
    if cell == "lstm":
        torch.testing.assert_close(last.cell, carried[0], **CLOSE)
    else:
        assert last.cell is None


@every_cell
def test_padded_sequences_end_where_packed_ones_do(cell):
    layer, mask = layer_of(cell), mask_of(*LENGTHS)
    inputs = torch.randn(4, 5, 3)
    outputs, last = layer(inputs, mask)
    packed = pack_padded_sequence(
        inputs, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False
    )
    wanted, end = twin_of(layer)(packed)
    wanted, _ = pad_packed_sequence(wanted, batch_first=True)
    torch.testing.assert_close(outputs[mask], wanted[mask], **CLOSE)
    hidden, carried = end if cell == "lstm" else (end, None)
    torch.testing.assert_close(last.hidden, hidden[0], **CLOSE)
    if cell == "lstm":
        torch.testing.assert_close(last.cell, carried[0], **CLOSE)


@every_cell
def test_gradients_of_the_end_equal_those_of_packed_sequences(cell):
    layer, inputs = layer_of(cell), torch.randn(4, 5, 3)
    twin = twin_of(layer)
    _, last = layer(inputs, mask_of(*LENGTHS))
    sum(part.square().sum() for part in last if part is not None).backward()
    packed = pack_padded_sequence(
        inputs, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False
    )
    _, end = twin(packed)
    sum(part.square().sum() for part in (end if cell == "lstm" else (end,))).backward()
    torch.testing.assert_close(layer.input_weight.grad, twin.weight_ih_l0.grad, **CLOSE)
    torch.testing.assert_close(layer.recurrent_weight.grad, twin.weight_hh_l0.grad, **CLOSE)


@every_cell
def test_steps_equal_the_whole(cell):
    layer, inputs = layer_of(cell), torch.randn(2, 6, 3)
    start = CellState(torch.randn(2, 4), torch.randn(2, 4) if cell == "lstm" else None)
    outputs, last = layer(inputs, None, start)
    state = start
    for place in range(6):
        state = layer.step(layer.share(inputs[:, place]), state)
        torch.testing.assert_close(state.hidden, outputs[:, place], **CLOSE)
    torch.testing.assert_close(state.hidden, last.hidden, **CLOSE)
    if cell == "lstm":
        torch.testing.assert_close(state.cell, last.cell, **CLOSE)


@every_cell
def test_what_is_added_stands_behind_the_input(cell):
    torch.manual_seed(3)
    layer, plain = Recurrence(2, 4, cell=cell, added_size=1), Recurrence(3, 4, cell=cell)
    plain.load_state_dict({
        **{name: value for name, value in layer.state_dict().items() if name != "added_weight"},
        "input_weight": torch.cat([layer.input_weight, layer.added_weight], dim=1),
    })  # fmt: skip
    inputs = torch.randn(2, 6, 3)
    outputs, last = layer(inputs)
    torch.testing.assert_close(outputs, plain(inputs)[0], **CLOSE)
    state = layer.initial_state(2)
    for place in range(6):
        word, added = inputs[:, place, :2], inputs[:, place, 2:]
        state = layer.step(layer.share(word) + layer.share_added(added), state)
    torch.testing.assert_close(state.hidden, last.hidden, **CLOSE)


def test_nothing_can_be_added_where_nothing_is_expected():
    with pytest.raises(ValueError, match="this layer has no second input"):
        Recurrence(3, 4).share_added(torch.randn(2, 1))


@every_cell
def test_a_sequence_without_steps_stays_where_it_was(cell):
    layer = layer_of(cell)
    start = CellState(torch.randn(2, 4), torch.randn(2, 4) if cell == "lstm" else None)
    _, last = layer(torch.randn(2, 5, 3), mask_of(0, 3), start)
    torch.testing.assert_close(last.hidden[0], start.hidden[0])
    if cell == "lstm":
        torch.testing.assert_close(last.cell[0], start.cell[0])


@every_cell
def test_steps_under_autocast_keep_their_sums_wide(cell):
    layer, inputs = layer_of(cell), torch.randn(2, 30, 3)
    wanted, _ = layer(inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half, _ = layer(inputs)
        state = CellState(half[:, 0], half[:, 0] if cell == "lstm" else None).widened()
        assert {part.dtype for part in state if part is not None} == {torch.float32}
        state = layer.initial_state(2)
        for share in layer.share(inputs).unbind(dim=1):
            state = layer.step(share, state)
    assert half.dtype == torch.bfloat16
    assert state.hidden.dtype == torch.float32
    torch.testing.assert_close(state.hidden, wanted[:, -1], rtol=0.1, atol=0.1)


def test_an_lstm_starts_by_remembering_and_gates_start_orthogonal():
    layer = Recurrence(3, 4, cell="lstm")
    assert layer.input_bias.tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    for gate in layer.recurrent_weight.split(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(4), rtol=0, atol=1e-5)


def test_what_holds_padding_still_is_not_stored():
    assert "hold" not in Recurrence(3, 4, cell="lstm").state_dict()


def test_an_unknown_cell_is_named():
    start = inspect.unwrap(Recurrence.__init__)
    with pytest.raises(ValueError, match=r"cell must be one of .*'lstm'\), got 'elman'"):
        start(Recurrence.__new__(Recurrence), 3, 4, cell="elman")


@every_cell
@pytest.mark.parametrize("direction", ["forwards", "backwards", "both"])
def test_the_reader_stacks_layers(cell, direction):
    torch.manual_seed(2)
    reader = RecurrentEncoder(3, 4, num_layers=2, cell=cell, direction=direction)
    mask, inputs = mask_of(*LENGTHS), torch.randn(4, 5, 3)
    read = reader(inputs, mask)
    states = inputs
    for number in range(2):
        ways = []
        if reader.forwards is not None:
            ways.append(reader.forwards[number](states, mask))
        if reader.backwards is not None:
            turned, end = reader.backwards[number](reverse_within(states, mask), mask)
            ways.append((reverse_within(turned, mask), end))
        states = torch.cat([outputs for outputs, _ in ways], dim=-1)
        hidden = torch.cat([end.hidden for _, end in ways], dim=-1)
        torch.testing.assert_close(read.last[number].hidden, hidden)
        assert (read.last[number].cell is not None) == (cell == "lstm")
    torch.testing.assert_close(read.states[mask], states[mask])
    assert not read.states[~mask].any()
    assert read.states.shape[-1] == reader.output_size == (8 if direction == "both" else 4)


def test_the_backward_reader_ends_at_the_first_word():
    torch.manual_seed(2)
    reader = RecurrentEncoder(3, 4, direction="backwards")
    inputs, mask = torch.randn(2, 5, 3), mask_of(5, 2)
    read = reader(inputs, mask)
    torch.testing.assert_close(read.last[0].hidden, read.states[:, 0])


def test_the_readers_dropout_stands_between_layers():
    torch.manual_seed(2)
    inputs, mask = torch.randn(2, 5, 3), mask_of(5, 2)
    single = RecurrentEncoder(3, 4, dropout=0.5)
    torch.testing.assert_close(single(inputs, mask).states, single(inputs, mask).states)
    double = RecurrentEncoder(3, 4, num_layers=2, dropout=0.5)
    assert not torch.equal(double(inputs, mask).states, double(inputs, mask).states)


def test_an_unknown_direction_is_named():
    start = inspect.unwrap(RecurrentEncoder.__init__)
    with pytest.raises(ValueError, match="direction must be one of .*'both'.*, got 'up'"):
        start(RecurrentEncoder.__new__(RecurrentEncoder), 3, 4, direction="up")


@pytest.mark.parametrize("has_cell", [True, False])
def test_the_bridge_brings_every_layer_over(has_cell):
    torch.manual_seed(1)
    bridge = Bridge(6, 4, num_layers=2, has_cell=has_cell)
    last = tuple(
        CellState(torch.randn(3, 6), torch.randn(3, 6) if has_cell else None) for _ in range(2)
    )
    first = bridge(last)
    for number, state in enumerate(first):
        layer = bridge.hidden[number]
        torch.testing.assert_close(state.hidden, torch.tanh(layer(last[number].hidden)))
        if has_cell:
            torch.testing.assert_close(state.cell, bridge.cell[number](last[number].cell))
        else:
            assert state.cell is None

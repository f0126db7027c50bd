"""The LSTM with projection and clips against plain loops, torch's own, and its fast twin."""

import math

import pytest
import torch

from softquery.nn import LstmStack, ProjectedLstm

INPUT, HIDDEN, PROJECTION = 3, 5, 2
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
RAGGED = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)


def make(way="exact", *, cell_clip=0.0, projection_clip=0.0, seed=1):
    torch.manual_seed(seed)
    layer = ProjectedLstm(
        INPUT, HIDDEN, PROJECTION, cell_clip=cell_clip, projection_clip=projection_clip, way=way
    )
    for parameter in layer.parameters():
        parameter.data.normal_(std=0.8)
    return layer


def inputs(count=4, length=4, *, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, length, INPUT, generator=generator)


def start(count=4, *, seed=3):
    generator = torch.Generator().manual_seed(seed)
    sizes = (PROJECTION, HIDDEN)
    return tuple(0.5 * torch.randn(count, size, generator=generator) for size in sizes)


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def limited(value, limit):
    return max(-limit, min(limit, value)) if limit else value


def plain_steps(layer, sequence, hidden, cell):
    """One sequence, number by number (Sak et al. 2014, without peepholes; then the clips)."""
    weights = {name: value.tolist() for name, value in layer.named_parameters()}
    outputs = []
    for vector in sequence:
        gates = [
            sum(w * x for w, x in zip(row, vector, strict=True))
            + sum(w * h for w, h in zip(recurrent, hidden, strict=True))
            + bias
            for row, recurrent, bias in zip(
                weights["input_weight"], weights["recurrent_weight"], weights["bias"], strict=True
            )
        ]
        enter, forget, candidate, leave = (
            gates[at * HIDDEN : (at + 1) * HIDDEN] for at in range(4)
        )
        cell = [
            limited(sigmoid(f) * c + sigmoid(i) * math.tanh(g), layer.cell_clip)
            for i, f, g, c in zip(enter, forget, candidate, cell, strict=True)
        ]
        shown = [sigmoid(o) * math.tanh(c) for o, c in zip(leave, cell, strict=True)]
        hidden = [
            limited(sum(w * m for w, m in zip(row, shown, strict=True)), layer.projection_clip)
            for row in weights["projection"]
        ]
        outputs.append(hidden)
    return outputs, hidden, cell


@pytest.mark.parametrize(("cell_clip", "projection_clip"), [(0, 0), (0.4, 0), (0, 0.2), (0.4, 0.2)])
@pytest.mark.parametrize("mask", [None, RAGGED], ids=["full", "ragged"])
def test_exact_equals_plain_loops(mask, cell_clip, projection_clip):
    layer = make(cell_clip=cell_clip, projection_clip=projection_clip)
    sequences, state = inputs(), start()
    outputs, last = layer(sequences, mask, state)
    for row in range(4):
        length = 4 if mask is None else int(mask[row].sum())
        wanted, hidden, cell = plain_steps(
            layer,
            sequences[row, :length].tolist(),
            state[0][row].tolist(),
            state[1][row].tolist(),
        )
        torch.testing.assert_close(
            outputs[row, :length], torch.tensor(wanted).view(-1, PROJECTION), **CLOSE
        )
        assert not outputs[row, length:].any()
        torch.testing.assert_close(last[0][row], torch.tensor(hidden), **CLOSE)
        torch.testing.assert_close(last[1][row], torch.tensor(cell), **CLOSE)


def test_the_clips_bind():
    sequences, state = inputs(), start()
    plain, _ = make()(sequences, None, state)
    for clips in ({"cell_clip": 0.4}, {"projection_clip": 0.2}):
        clipped, _ = make(**clips)(sequences, None, state)
        assert (clipped - plain).abs().max() > 0.05
    assert make(projection_clip=0.2)(sequences, None, state)[0].abs().max() <= 0.2


def test_both_ways_equal_torchs_own():
    ours, fast = make(), make("fast")
    torchs = torch.nn.LSTM(INPUT, HIDDEN, proj_size=PROJECTION, batch_first=True)
    with torch.no_grad():
        torchs.weight_ih_l0.copy_(ours.input_weight)
        torchs.weight_hh_l0.copy_(ours.recurrent_weight)
        torchs.bias_ih_l0.copy_(ours.bias)
        torchs.bias_hh_l0.zero_()
        torchs.weight_hr_l0.copy_(ours.projection)
    hidden, cell = start()
    wanted, (last_hidden, last_cell) = torchs(inputs(), (hidden[None], cell[None]))
    for layer in (ours, fast):
        outputs, last = layer(inputs(), None, (hidden, cell))
        torch.testing.assert_close(outputs, wanted, **CLOSE)
        torch.testing.assert_close(last[0], last_hidden[0], **CLOSE)
        torch.testing.assert_close(last[1], last_cell[0], **CLOSE)


@pytest.mark.parametrize("mask", [None, RAGGED], ids=["full", "ragged"])
@pytest.mark.parametrize("stateful", [True, False], ids=["stateful", "state-free"])
def test_fast_equals_exact_forwards_and_backwards(mask, stateful):
    results = []
    for way in ("exact", "fast"):
        layer, sequences = make(way), inputs().requires_grad_()
        state = tuple(part.requires_grad_() for part in start()) if stateful else None
        outputs, last = layer(sequences, mask, state)
        loss = outputs.square().sum()
        if stateful:
            loss = loss + last[0].sum() + last[1].square().sum()
        loss.backward()
        gradients = [sequences.grad, *(parameter.grad for parameter in layer.parameters())]
        gradients += [part.grad for part in state] if stateful else []
        results.append([outputs, *(last or ()), *gradients])
        assert (last is None) is not stateful
    for exact, fast in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("way", ["exact", "fast"])
def test_reading_in_parts_is_reading_at_once(way):
    layer = make(way, cell_clip=0.5 if way == "exact" else 0.0)
    sequences, state = inputs(length=6), start()
    whole, last = layer(sequences, None, state)
    first, middle = layer(sequences[:, :2], None, state)
    second, end = layer(sequences[:, 2:], None, middle)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, **CLOSE)
    torch.testing.assert_close(end[1], last[1], **CLOSE)


def test_the_gradient_is_that_of_numbers():
    layer = make(cell_clip=0.5, projection_clip=0.4).double()
    arguments = (inputs(2, 3).double().requires_grad_(), *(s.double() for s in start(2)))
    assert torch.autograd.gradcheck(
        lambda sequences, hidden, cell: layer(sequences, None, (hidden, cell))[0], arguments
    )


def stack(way="exact", *, residual=True, dropout=0.0):
    torch.manual_seed(5)
    layers = [ProjectedLstm(PROJECTION, HIDDEN, PROJECTION, way=way) for _ in range(3)]
    return LstmStack(layers, residual=residual, dropout=dropout)


@pytest.mark.parametrize("residual", [True, False])
def test_a_stack_is_its_layers_one_above_the_other(residual):
    layers, sequences = stack(residual=residual), inputs()[..., :PROJECTION]
    outputs, state = layers(sequences, RAGGED, layers.initial_state(4))
    below = sequences
    for number, layer in enumerate(layers.layers):
        above, (hidden, cell) = layer(below, RAGGED, start_of_zeros())
        below = above + below if residual and number else above
        torch.testing.assert_close(outputs[number], below, **CLOSE)
        # What is carried on is the state before the addition.
        torch.testing.assert_close(state.hidden[number], hidden, **CLOSE)
        torch.testing.assert_close(state.cell[number], cell, **CLOSE)


def start_of_zeros():
    return torch.zeros(4, PROJECTION), torch.zeros(4, HIDDEN)


def test_dropout_falls_on_what_each_layer_reads():
    layers, sequences = stack(dropout=0.5), inputs()[..., :PROJECTION]
    calm, _ = layers.eval()(sequences)
    noisy, _ = layers.train()(sequences)
    assert not torch.allclose(noisy[0], calm[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"projection_size": 5}, r"projection_size \(5\) must be below hidden_size \(5\)"),
        ({"projection_size": 0}, r"projection_size \(0\)"),
    ],
)
def test_what_does_not_fit_is_told(settings, message):
    sizes = {"input_size": 3, "hidden_size": 5, "projection_size": 2, **settings}
    with pytest.raises(ValueError, match=message):
        ProjectedLstm(sizes["input_size"], sizes["hidden_size"], sizes["projection_size"])


@pytest.mark.parametrize("way", ["exact", "fast"])
@pytest.mark.parametrize("mask", [None, RAGGED], ids=["full", "ragged"])
def test_bfloat16_is_near(way, mask):
    layer, sequences = make(way), inputs()
    wanted, _ = layer(sequences, mask, start())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, last = layer(sequences, mask, start())
    torch.testing.assert_close(found.float(), wanted, rtol=0.1, atol=0.1)
    found.float().sum().backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in layer.parameters())


def test_the_fast_way_clips_what_it_carries_on():
    torch.manual_seed(0)
    lstm = ProjectedLstm(3, 6, 2, cell_clip=0.1, projection_clip=0.05, way="fast")
    inputs, start = torch.randn(4, 5, 3), (torch.zeros(4, 2), torch.zeros(4, 6))
    outputs, (hidden, cell) = lstm(inputs, None, start)
    assert cell.abs().max() == 0.1
    assert hidden.abs().max() == 0.05
    assert outputs.abs().max() > 0.05  # within a window nothing is clipped

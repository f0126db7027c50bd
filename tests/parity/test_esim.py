"""ESIM and its BiLSTM against independent twins: the paper's equations in loops, and torch's own.

The loops know no batches, no padding and no masks: one pair, one token, one number after another.
"""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from softquery.data import PairBatch, Sentences
from softquery.models import Esim, EsimConfig
from softquery.nn import BiRecurrent

PAIRS = [
    ([3, 1, 4, 1, 5], [9, 2, 6]),
    ([5], [3, 5, 8, 9, 7, 9, 3]),
    ([2, 7, 1, 8, 2, 8], [1]),
    ([6, 6], [6, 6]),
    ([4], [4]),
]


def sigmoid(number):
    return 1 / (1 + math.exp(-number))


def lstm_cell(x, state, weight, hidden_size):
    """Hochreiter & Schmidhuber's cell with a forget gate; torch's order of gates is i, f, g, o."""
    h, c = state
    gates = weight["weight_ih_l0"] @ x + weight["bias_ih_l0"]
    gates = gates + weight["weight_hh_l0"] @ h + weight["bias_hh_l0"]
    new_h, new_c = np.zeros(hidden_size), np.zeros(hidden_size)
    for unit in range(hidden_size):
        i, f, g, o = (gates[gate * hidden_size + unit] for gate in range(4))
        new_c[unit] = sigmoid(f) * c[unit] + sigmoid(i) * math.tanh(g)
        new_h[unit] = sigmoid(o) * math.tanh(new_c[unit])
    return new_h, new_c


def gru_cell(x, state, weight, hidden_size):
    """Cho et al.'s cell as torch has it: the reset gate acts on the projected state."""
    h, _ = state
    of_input = weight["weight_ih_l0"] @ x + weight["bias_ih_l0"]
    of_state = weight["weight_hh_l0"] @ h + weight["bias_hh_l0"]
    new_h = np.zeros(hidden_size)
    for unit in range(hidden_size):
        reset, update, new = (gate * hidden_size + unit for gate in range(3))
        r = sigmoid(of_input[reset] + of_state[reset])
        z = sigmoid(of_input[update] + of_state[update])
        n = math.tanh(of_input[new] + r * of_state[new])
        new_h[unit] = (1 - z) * n + z * h[unit]
    return new_h, None


CELLS = {"lstm": lstm_cell, "gru": gru_cell}


def read_one_way(sequence, weight, cell, hidden_size):
    state, outputs = (np.zeros(hidden_size), np.zeros(hidden_size)), []
    for x in sequence:
        state = cell(x, state, weight, hidden_size)
        outputs.append(state[0])
    return outputs


def read_both_ways(sequence, weights, prefix, cell, hidden_size):
    """Eqs. 1-2: the state at each token, from the left and from the right."""
    left = read_one_way(sequence, under(weights, f"{prefix}.forwards."), cell, hidden_size)
    right = read_one_way(sequence[::-1], under(weights, f"{prefix}.backwards."), cell, hidden_size)
    return [np.concatenate(both) for both in zip(left, right[::-1], strict=True)]


def under(weights, prefix):
    return {
        name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)
    }


def align(own, other):
    """Eqs. 11-13 for one side."""
    mixed = []
    for a in own:
        scores = [math.exp(sum(x * y for x, y in zip(a, b, strict=True))) for b in other]
        mixed.append(sum(score / sum(scores) * b for score, b in zip(scores, other, strict=True)))
    return mixed


def enhance(a, aligned, parts):
    """Eqs. 14-15 for one token."""
    made = {"own": a, "aligned": aligned, "difference": a - aligned, "product": a * aligned}
    return np.concatenate([made[part] for part in parts])


def pool(states):
    """Eqs. 18-19 for one side."""
    return np.concatenate([sum(states) / len(states), np.max(states, axis=0)])


def window_composer(sequence, weights, window):
    """Two rectified layers, each a sum over the places of a window: one token after another."""
    for number in range(2):
        weight = weights[f"composer.layers.{number}.weight"]
        width, reach, outputs = len(sequence[0]), window // 2, []
        for t in range(len(sequence)):
            total = weights[f"composer.layers.{number}.bias"].copy()
            for place in range(window):
                neighbour = t + place - reach
                if 0 <= neighbour < len(sequence):
                    total += weight[:, place * width : (place + 1) * width] @ sequence[neighbour]
            outputs.append(np.maximum(total, 0))
        sequence = outputs
    return sequence


def compose(local, weights, config):
    """The composer over one side, which ends where the sentence does."""
    name, size = config.composer or config.cell, config.composer_size or config.hidden_size
    if name in ("feedforward", "convolution"):
        return window_composer(local, weights, {"feedforward": 1, "convolution": 3}[name])
    return read_both_ways(local, weights, "composer", CELLS[name], size)


def esim_in_loops(model, first, second):
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    config = model.config
    cell = CELLS[config.cell]
    table = weights["embedder.table.weight"]
    a, b = (
        read_both_ways([table[word] for word in side], weights, "encoder", cell, config.hidden_size)
        for side in (first, second)
    )
    pooled = []
    for own, other in ((a, b), (b, a)):
        local = [
            np.maximum(
                weights["project.0.weight"] @ enhance(token, mixed, config.parts)
                + weights["project.0.bias"],
                0,
            )
            for token, mixed in zip(own, align(own, other), strict=True)
        ]
        pooled.append(pool(compose(local, weights, config)))
    v = np.concatenate(pooled)  # Eq. 20
    hidden = np.tanh(weights["classifier.1.weight"] @ v + weights["classifier.1.bias"])
    return weights["classifier.4.weight"] @ hidden + weights["classifier.4.bias"]


def pair_batch(pairs):
    sides = [Sentences.pack([pair[side] for pair in pairs]) for side in (0, 1)]
    length = max(len(sentence) for pair in pairs for sentence in pair) + 1
    return PairBatch(*(side.pad(torch.arange(len(pairs)), length) for side in sides), None)


def scattered(module):
    """Weights far enough from their start that no term hides, biases and forget gates included."""
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -0.6, 0.6)
    return module


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize(
    "parts",
    [
        ("own", "aligned", "difference", "product"),
        ("own", "aligned"),
        ("difference", "product"),
        ("own",),
    ],
    ids="+".join,
)
def test_esim_equals_the_equations_of_the_paper(cell, parts):
    torch.manual_seed(7)
    config = EsimConfig(
        vocab_size=10, embedding_size=5, hidden_size=4, output_size=3, cell=cell, parts=parts
    )
    model = scattered(Esim(config)).eval()
    with torch.inference_mode():
        logits = model(pair_batch(PAIRS)).logits
    wanted = np.stack([esim_in_loops(model, first, second) for first, second in PAIRS])
    assert np.ptp(wanted, axis=0).min() > 1e-2  # the pairs differ, so that agreement says something
    np.testing.assert_allclose(logits.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("composer", ["lstm", "gru", "feedforward", "convolution"])
def test_every_composer_equals_its_loops(composer):
    torch.manual_seed(12)
    config = EsimConfig(
        vocab_size=10,
        embedding_size=5,
        hidden_size=4,
        projection_size=6,
        composer=composer,
        composer_size=7,
    )
    model = scattered(Esim(config)).eval()
    with torch.inference_mode():
        logits = model(pair_batch(PAIRS)).logits
    wanted = np.stack([esim_in_loops(model, first, second) for first, second in PAIRS])
    assert np.ptp(wanted, axis=0).min() > 1e-2
    np.testing.assert_allclose(logits.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_alignment_weights_equal_the_equations_of_the_paper():
    torch.manual_seed(8)
    model = scattered(Esim(EsimConfig(vocab_size=10, embedding_size=5, hidden_size=4))).eval()
    batch = pair_batch(PAIRS)
    with torch.inference_mode():
        output = model(batch)
        states = model.encode(batch.first).states, model.encode(batch.second).states
    for row, (first, second) in enumerate(PAIRS):
        for i in range(len(first)):
            exps = [math.exp(states[0][row, i] @ states[1][row, j]) for j in range(len(second))]
            found = output.first_to_second[row, i, : len(second)].tolist()
            assert found == pytest.approx([e / sum(exps) for e in exps], rel=1e-4)


def test_padding_token_of_the_table_is_never_read():
    """A table whose row 0 is not zero, as a foreign one may be, answers the same."""
    torch.manual_seed(9)
    model = Esim(EsimConfig(vocab_size=10, embedding_size=5, hidden_size=4)).eval()
    with torch.inference_mode():
        before = model(pair_batch(PAIRS)).logits
        model.embedder.table.weight.data[0] = 5.0
        after = model(pair_batch(PAIRS)).logits
    torch.testing.assert_close(after, before, rtol=1e-6, atol=1e-6)


def torch_twin(ours, cell):
    """Torch's own bidirectional layer with the same weights."""
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}[cell]
    twin = kind(
        ours.forwards.input_size, ours.forwards.hidden_size, batch_first=True, bidirectional=True
    )
    twin.load_state_dict(
        {
            **ours.forwards.state_dict(),
            **{f"{name}_reverse": value for name, value in ours.backwards.state_dict().items()},
        }
    )
    return twin


def ragged_input(lengths, input_size):
    inputs = torch.randn(len(lengths), max(lengths) + 2, input_size)
    return inputs, torch.arange(max(lengths) + 2) < torch.tensor(lengths).unsqueeze(1)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_bi_recurrent_equals_torch_on_packed_sequences(cell):
    torch.manual_seed(10)
    lengths = [6, 1, 4, 2, 6]
    ours = scattered(BiRecurrent(3, 4, cell=cell))
    twin = torch_twin(ours, cell)
    inputs, mask = ragged_input(lengths, 3)
    mine, theirs = inputs.clone().requires_grad_(), inputs.clone().requires_grad_()
    packed = pack_padded_sequence(theirs, lengths, batch_first=True, enforce_sorted=False)
    wanted, _ = pad_packed_sequence(twin(packed)[0], batch_first=True, total_length=8)
    states = ours(mine, mask)
    torch.testing.assert_close(states, wanted, rtol=1e-5, atol=1e-6)

    direction = torch.randn_like(wanted)
    (states * direction).sum().backward()
    (wanted * direction).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-5, atol=1e-6)
    assert not mine.grad[~mask].any()
    gradients = dict(twin.named_parameters())
    for name, parameter in ours.forwards.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name].grad, rtol=1e-5, atol=1e-5)
    for name, parameter in ours.backwards.named_parameters():
        wanted_grad = gradients[f"{name}_reverse"].grad
        torch.testing.assert_close(parameter.grad, wanted_grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_bi_recurrent_of_no_tokens_is_zero_with_zero_gradient(cell):
    layer = scattered(BiRecurrent(3, 4, cell=cell))
    inputs = torch.randn(2, 5, 3, requires_grad=True)
    states = layer(inputs, torch.zeros(2, 5, dtype=torch.bool))
    states.square().sum().backward()
    assert not states.any()
    assert not inputs.grad.any()

"""Both classifiers against the papers' equations written out, a word and a gate at a time."""

import math

import pytest
import torch

from softquery.data import Documents, DocumentShape, encode_ids
from softquery.models import Attentive, AttentiveConfig, Hierarchical, HierarchicalConfig

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
TEXTS = [[[5, 6, 7, 8], [9, 10]], [[3]], [[8, 9, 10], [4], [4, 5, 6, 7, 8, 9]], []]


def lstm(cell, inputs):
    """h_t of one direction; torch's gates are i, f, g, o."""
    hidden = memory = torch.zeros(cell.hidden_size)
    states = []
    for vector in inputs:
        gates = (cell.weight_ih_l0 @ vector + cell.bias_ih_l0
                 + cell.weight_hh_l0 @ hidden + cell.bias_hh_l0)  # fmt: skip
        enter, forget, new, leave = gates.chunk(4)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(leave) * torch.tanh(memory)
        states.append(hidden)
    return states


def gru(cell, inputs):
    """h_t of one direction (Yang et al., Eqs. 1-4, with the reset gate after the product)."""
    hidden = torch.zeros(cell.hidden_size)
    states = []
    for vector in inputs:
        given = (cell.weight_ih_l0 @ vector + cell.bias_ih_l0).chunk(3)
        own = (cell.weight_hh_l0 @ hidden + cell.bias_hh_l0).chunk(3)
        reset, update = (torch.sigmoid(given[at] + own[at]) for at in (0, 1))
        new = torch.tanh(given[2] + reset * own[2])
        hidden = (1 - update) * new + update * hidden
        states.append(hidden)
    return states


def both_ways(encoder, inputs, cell):
    run = {"lstm": lstm, "gru": gru}[cell]
    forwards = run(encoder.forwards, inputs)
    return forwards, run(encoder.backwards, inputs[::-1])[::-1]


def asked(attention, states):
    """The weights and the mixture, one state at a time."""
    if not states:
        return [], torch.zeros(attention.query.shape[1])
    keys = [
        torch.tanh(state if attention.projection is None else
                   attention.projection.weight @ state + attention.projection.bias)
        for state in states
    ]  # fmt: skip
    powers = [torch.exp(sum(q * k for q, k in zip(attention.query[0], key, strict=True)))
              for key in keys]  # fmt: skip
    weights = [power / sum(powers) for power in powers]
    return weights, sum(weight * state for weight, state in zip(weights, states, strict=True))


def attentive_by_hand(model, words):
    """Zhou et al. (2016), Section 3."""
    vectors = [model.embedder.table.weight[word] for word in words]
    forwards, backwards = both_ways(model.encoder, vectors, model.config.cell)
    if model.config.merge == "sum":
        states = [one + other for one, other in zip(forwards, backwards, strict=True)]
    else:
        states = [torch.cat(pair) for pair in zip(forwards, backwards, strict=True)]
    weights, mixed = asked(model.attention, states)  # Eqs. 9-11
    return model.output(torch.tanh(mixed)), weights  # Eq. 12


def hierarchical_by_hand(model, text):
    """Yang et al. (2016), Section 2.2."""
    vectors, words = [], []
    for sentence in text:
        inputs = [model.embedder.table.weight[word] for word in sentence]
        sides = both_ways(model.words.encoder, inputs, model.config.cell)
        states = [torch.cat(pair) for pair in zip(*sides, strict=True)]
        weights, mixed = asked(model.words.attention, states)
        vectors.append(mixed)
        words.append(weights)
    sides = both_ways(model.sentences.encoder, vectors, model.config.cell)
    states = [torch.cat(pair) for pair in zip(*sides, strict=True)]
    shares, mixed = asked(model.sentences.attention, states)
    document = mixed if text else torch.zeros(model.output.in_features)
    return model.output(document), words, shares


def with_biases(model):
    for name, parameter in model.named_parameters():
        if "bias" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.mark.parametrize("merge", ["sum", "concat"])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_attentive(merge, cell):
    torch.manual_seed(1)
    config = AttentiveConfig(vocab_size=12, output_size=3, embedding_size=4, hidden_size=3,
                             merge=merge, cell=cell)  # fmt: skip
    model = with_biases(Attentive(config)).eval()
    flat = [[word for sentence in text for word in sentence] for text in TEXTS]
    output = model(encode_ids(flat, vocab_size=12).batch(torch.arange(4), 12))
    for row, words in enumerate(flat):
        logits, weights = attentive_by_hand(model, words)
        torch.testing.assert_close(output.logits[row], logits, **CLOSE)
        if words:
            found = output.word_weights[row, : len(words)]
            torch.testing.assert_close(found, torch.stack(weights), **CLOSE)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_hierarchical(cell):
    torch.manual_seed(1)
    config = HierarchicalConfig(vocab_size=12, output_size=3, embedding_size=4, hidden_size=3,
                                context_size=5, cell=cell)  # fmt: skip
    model = with_biases(Hierarchical(config)).eval()
    output = model(Documents.pack(TEXTS).batch(torch.arange(4), DocumentShape(4, 8).as_length))
    for row, text in enumerate(TEXTS):
        logits, words, shares = hierarchical_by_hand(model, text)
        torch.testing.assert_close(output.logits[row], logits, **CLOSE)
        for place, weights in enumerate(words):
            found = output.word_weights[row, place, : len(weights)]
            torch.testing.assert_close(found, torch.stack(weights), **CLOSE)
        if text:
            found = output.sentence_weights[row, : len(text)]
            torch.testing.assert_close(found, torch.stack(shares), **CLOSE)


@pytest.mark.parametrize("name", ["attentive", "hierarchical"])
def test_gradients_are_those_of_the_loops(name):
    torch.manual_seed(2)
    if name == "attentive":
        model = with_biases(Attentive(AttentiveConfig(
            vocab_size=12, embedding_size=4, hidden_size=3, embedding_dropout=0, state_dropout=0,
            dropout=0)))  # fmt: skip
        flat = [[word for sentence in text for word in sentence] for text in TEXTS]
        batch = encode_ids(flat, vocab_size=12).batch(torch.arange(4), 12)
        by_hand = [attentive_by_hand(model, words)[0] for words in flat]
    else:
        model = with_biases(Hierarchical(HierarchicalConfig(
            vocab_size=12, embedding_size=4, hidden_size=3, context_size=5)))  # fmt: skip
        batch = Documents.pack(TEXTS).batch(torch.arange(4), DocumentShape(4, 8).as_length)
        by_hand = [hierarchical_by_hand(model, text)[0] for text in TEXTS]
    wanted = torch.autograd.grad(loss(torch.stack(by_hand)), list(model.parameters()))
    found = torch.autograd.grad(loss(model(batch).logits), list(model.parameters()))
    for (key, _), one, other in zip(model.named_parameters(), found, wanted, strict=True):
        torch.testing.assert_close(one, other, msg=key, **CLOSE)


def loss(logits):
    return (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).square().sum()


def test_the_first_weights_are_nearly_even():
    """A learned query that starts small asks everyone alike, so that training decides."""
    torch.manual_seed(1)
    model = Attentive(AttentiveConfig(vocab_size=50)).eval()
    words = torch.randint(4, 50, (1, 20)).tolist()
    output = model(encode_ids(words, vocab_size=50).batch(torch.arange(1), 20))
    entropy = -(output.word_weights * output.word_weights.log()).sum().item()
    assert entropy > 0.95 * math.log(20)

"""The encoder–decoders against their papers' equations, one sentence and one step at a time.

The loops know no batches, no padding, no masks and no hoisting: numpy, one number after another
where the papers index one.
"""

from itertools import product

import numpy as np
import pytest
import torch

from softquery.data import Sentences, TranslationBatch
from softquery.models import AskingConfig, Seq2Seq, Seq2SeqConfig

ROWS = [([2, 5, 6, 7, 8, 3], [2, 9, 10, 3]), ([2, 4, 3], [2, 4, 5, 6, 7, 8, 3]), ([2, 3], [2, 3])]
EXACT = {"rtol": 1e-9, "atol": 1e-10}


def build(**settings):
    torch.manual_seed(4)
    sizes = {
        "embedding_size": 4,
        "hidden_size": 3,
        "source_vocab_size": 12,
        "target_vocab_size": 11,
    }
    model = Seq2Seq(Seq2SeqConfig(**sizes, **settings, dropout=0.0)).double().eval()
    for parameter in model.parameters():  # biases too
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def batch():
    sides = [Sentences.pack([row[side] for row in ROWS]).pad(torch.arange(3), 7) for side in (0, 1)]
    return TranslationBatch(*sides)


def check(model, reference):
    with torch.inference_mode():
        output = model(batch())
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    for row, (source, target) in enumerate(ROWS):
        logits, looks = reference(weights, model.config, source, target[:-1])
        np.testing.assert_allclose(output.logits[row, : len(logits)], logits, **EXACT)
        if looks:
            found = output.attention[row, : len(looks), : len(source)]
            np.testing.assert_allclose(found, looks, **EXACT)
        else:
            assert output.attention is None


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(scores):
    raised = np.exp(np.array(scores) - max(scores))
    return raised / raised.sum()


def cell(weights, prefix, kind, x, state):
    """One step of one layer; torch's order of gates."""
    h, c = state
    of_input = weights[f"{prefix}.input_weight"]
    if f"{prefix}.added_weight" in weights:
        of_input = np.concatenate([of_input, weights[f"{prefix}.added_weight"]], axis=1)
    of_x = of_input @ x + weights[f"{prefix}.input_bias"]
    of_h = weights[f"{prefix}.recurrent_weight"] @ h + weights[f"{prefix}.recurrent_bias"]
    if kind == "rnn":
        return np.tanh(of_x + of_h), None
    if kind == "gru":
        (xr, xz, xn), (hr, hz, hn) = np.split(of_x, 3), np.split(of_h, 3)
        z = sigmoid(xz + hz)
        return (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h, None
    i, f, g, o = np.split(of_x + of_h, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def read_one_way(weights, prefix, kind, vectors):
    state = (np.zeros(3), np.zeros(3))
    states = []
    for x in vectors:
        state = cell(weights, prefix, kind, x, state)
        states.append(state[0])
    return states, state


def read(weights, config, ids):
    """The highest states, and every layer's last (hidden, cell)."""
    vectors, last = [weights["words.source.weight"][i] for i in ids], []
    for layer in range(config.num_layers):
        ways = []
        if config.direction != "backwards":
            ways.append(read_one_way(weights, f"reader.forwards.{layer}", config.cell, vectors))
        if config.direction != "forwards":
            states, end = read_one_way(
                weights, f"reader.backwards.{layer}", config.cell, vectors[::-1]
            )
            ways.append((states[::-1], end))
        vectors = [np.concatenate(both) for both in zip(*(way[0] for way in ways), strict=True)]
        ends = [way[1] for way in ways]
        last.append((
            np.concatenate([hidden for hidden, _ in ends]),
            np.concatenate([c for _, c in ends]) if config.cell == "lstm" else None,
        ))  # fmt: skip
    return vectors, last


def first_states(weights, config, last):
    if config.direction != "both":
        return last
    found = []
    for layer, (hidden, c) in enumerate(last):
        moved = np.tanh(linear(weights, f"bridge.hidden.{layer}", hidden))
        found.append((moved, None if c is None else linear(weights, f"bridge.cell.{layer}", c)))
    return found


def linear(weights, name, x):
    return weights[f"{name}.weight"] @ x + weights.get(f"{name}.bias", 0.0)


def climb(weights, config, x, states):
    new = []
    for layer, state in enumerate(states):
        new.append(cell(weights, f"layers.{layer}", config.cell, x, state))
        x = new[-1][0]
    return new


def score(weights, name, query, key):
    """As the papers have it.

    Luong et al. 2015, Section 3.1; Bahdanau et al. 2015, Appendix A.1.2; Vaswani et al. 2017; Seo
    et al. 2017, Eq. 1.
    """
    at = "asking.score"
    if name == "additive":
        hidden = weights[f"{at}.query_projection.weight"] @ query
        hidden = np.tanh(hidden + weights[f"{at}.key_projection.weight"] @ key)
        return weights[f"{at}.energy.weight"][0] @ hidden
    if name == "concat":
        joined = np.concatenate([query, key])
        hidden = np.tanh(weights[f"{at}.projection.weight"] @ joined)
        return weights[f"{at}.energy.weight"][0] @ hidden
    if name == "general":
        return (weights[f"{at}.query_projection.weight"] @ query) @ key
    if "asking.key_projection.weight" in weights:
        key = weights["asking.key_projection.weight"] @ key
    if name == "trilinear":
        all_three = [weights[f"{at}.{part}_weight"] for part in ("query", "key", "product")]
        return np.concatenate(all_three) @ np.concatenate([query, key, query * key])
    if name == "scaled_dot":
        return query @ key / np.sqrt(len(query))
    if name == "cosine":
        return query @ key / (np.linalg.norm(query) * np.linalg.norm(key))
    return query @ key


def ask(weights, config, query, states):
    scores = [score(weights, config.attention.score, query, key) for key in states]
    shares = softmax(scores)
    return sum(share * state for share, state in zip(shares, states, strict=True)), shares


def maxout(weights, *parts):
    pairs = linear(weights, "readout.pairs", np.concatenate(parts))
    return np.array([max(pairs[2 * i], pairs[2 * i + 1]) for i in range(len(pairs) // 2)])


def predict(weights, state):
    return weights["words.output"] @ state + weights["words.bias"]


def sutskever(weights, config, source, inputs):
    """The source is known by the first state alone (Section 2)."""
    _, last = read(weights, config, source)
    states, logits = first_states(weights, config, last), []
    for y in inputs:
        states = climb(weights, config, weights["words.target.weight"][y], states)
        logits.append(predict(weights, states[-1][0]))
    return logits, []


def cho(weights, config, source, inputs):
    """h_t = f(h_{t-1}, y_{t-1}, c), p = g(h_t, y_{t-1}, c) (Section 2.2, Appendix A.1)."""
    keys, last = read(weights, config, source)
    states, logits = first_states(weights, config, last), []
    whole = {"every_step": last[-1][0], "mean": np.mean(keys, axis=0), "max": np.max(keys, axis=0)}
    c = np.tanh(linear(weights, "summarise", whole[config.context]))
    for token in inputs:
        y = weights["words.target.weight"][token]
        states = climb(weights, config, np.concatenate([y, c]), states)
        logits.append(predict(weights, maxout(weights, states[-1][0], y, c)))
    return logits, []


def bahdanau(weights, config, source, inputs):
    """e_ij = a(s_{i-1}, h_j), c_i = Σ α_ij h_j, s_i = f(s_{i-1}, y_{i-1}, c_i) (Section 3.1)."""
    keys, last = read(weights, config, source)
    states, logits, looks = first_states(weights, config, last), [], []
    for token in inputs:
        y = weights["words.target.weight"][token]
        c, shares = ask(weights, config, states[-1][0], keys)
        states = climb(weights, config, np.concatenate([y, c]), states)
        logits.append(predict(weights, maxout(weights, states[-1][0], y, c)))
        looks.append(shares)
    return logits, looks


def luong(weights, config, source, inputs):
    """h_t, then c_t, then h̃_t = tanh(W [c_t; h_t]), fed to the next step (Eqs. 5-6, 3.3)."""
    keys, last = read(weights, config, source)
    states, logits, looks = first_states(weights, config, last), [], []
    fed = np.zeros(config.hidden_size)
    for token in inputs:
        y = weights["words.target.weight"][token]
        x = np.concatenate([y, fed]) if config.attention.input_feeding else y
        states = climb(weights, config, x, states)
        c, shares = ask(weights, config, states[-1][0], keys)
        fed = np.tanh(linear(weights, "readout", np.concatenate([c, states[-1][0]])))
        logits.append(predict(weights, fed))
        looks.append(shares)
    return logits, looks


shapes = pytest.mark.parametrize(
    ("cell_kind", "direction", "num_layers"),
    [
        ("rnn", "forwards", 1), ("rnn", "both", 2), ("gru", "backwards", 2), ("gru", "both", 1),
        ("lstm", "forwards", 2), ("lstm", "backwards", 1), ("lstm", "both", 2),
    ],
)  # fmt: skip
scores = pytest.mark.parametrize(
    "score_name", ["dot", "scaled_dot", "cosine", "general", "additive", "concat", "trilinear"]
)


@shapes
def test_the_source_as_the_first_state(cell_kind, direction, num_layers):
    model = build(context="first_state", cell=cell_kind, direction=direction, num_layers=num_layers)
    check(model, sutskever)


@shapes
def test_the_source_at_every_step(cell_kind, direction, num_layers):
    model = build(context="every_step", cell=cell_kind, direction=direction, num_layers=num_layers)
    check(model, cho)


@shapes
@pytest.mark.parametrize("context", ["mean", "max"])
def test_the_mean_or_the_maximum_at_every_step(cell_kind, direction, num_layers, context):
    model = build(context=context, cell=cell_kind, direction=direction, num_layers=num_layers)
    check(model, cho)


@shapes
def test_the_previous_state_asks(cell_kind, direction, num_layers):
    check(build(cell=cell_kind, direction=direction, num_layers=num_layers), bahdanau)


@shapes
@pytest.mark.parametrize("input_feeding", [True, False])
def test_the_current_state_asks(cell_kind, direction, num_layers, input_feeding):
    asking = AskingConfig(asker="current", score="general", input_feeding=input_feeding)
    model = build(attention=asking, cell=cell_kind, direction=direction, num_layers=num_layers)
    check(model, luong)


@scores
@pytest.mark.parametrize("direction", ["forwards", "both"])
def test_every_score_with_either_asker(score_name, direction):
    for asker, reference in (("previous", bahdanau), ("current", luong)):
        asking = AskingConfig(asker=asker, score=score_name, hidden_size=5)
        check(build(attention=asking, direction=direction), reference)


def test_the_loop_and_the_single_call_agree_with_each_other():
    """One set of weights, read step by step and at once."""
    plain = ("first_state", "every_step", "mean", "max")
    for context, cell_kind in product(plain, ("rnn", "gru", "lstm")):
        model, rows = build(context=context, cell=cell_kind, num_layers=2), batch()
        with torch.inference_mode():
            source, vectors = model.encode(rows.source), model.words.read_target(rows.inputs)
            decoder = model.decoder
            once, state = decoder.decode(vectors, source), model.initial_state(source)
            shares = decoder.layers.lowest.share(vectors)
            for place, share in enumerate(shares.unbind(dim=1)):
                state, outputs = decoder.step(share, state, source)
                torch.testing.assert_close(
                    outputs.states, once.states[:, place], rtol=1e-10, atol=1e-12
                )

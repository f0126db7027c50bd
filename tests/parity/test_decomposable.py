"""Decomposable attention against the paper's equations in loops.

The loops know no batches, no padding and no masks: one pair, one token after another.
"""

import numpy as np
import pytest
import torch

from small_bundles import exported, random_pairs
from small_inner import make_inner
from softquery.data import PairBatch, Sentences
from softquery.models import Decomposable, DecomposableConfig
from softquery.runtime import load

PAIRS = [
    ([3, 1, 4, 1, 5], [9, 2, 6]),
    ([5], [3, 5, 8, 9, 7, 9, 3]),
    ([2, 7, 1, 8, 2, 8], [1]),
    ([4], [4]),
]


def relu(values):
    return np.maximum(values, 0)


def linear(weights, name, values):
    return weights[f"{name}.weight"] @ values + weights.get(f"{name}.bias", 0)


def network(weights, name, values):
    """Two layers with rectified units."""
    return relu(linear(weights, f"{name}.4", relu(linear(weights, f"{name}.1", values))))


def softmax(scores):
    exponents = np.exp(np.array(scores) - max(scores))
    return exponents / exponents.sum()


def mixed(scores, values):
    return sum(share * value for share, value in zip(softmax(scores), values, strict=True))


def read(weights, ids, max_distance):
    """Section 3.4: projected words, each beside what its own sentence says about it."""
    table = weights["embedder.table.weight"]
    words = [linear(weights, "projection", table[i] / np.linalg.norm(table[i])) for i in ids]
    if not max_distance:
        return words
    asked = [network(weights, "intra.network", word) for word in words]
    bias = weights["intra.distance_bias"]
    made = []
    for i, word in enumerate(words):
        scores = []
        for j in range(len(words)):
            distance = max(-max_distance, min(max_distance, i - j))
            scores.append(asked[i] @ asked[j] + bias[distance + max_distance])
        made.append(np.concatenate([word, mixed(scores, words)]))
    return made


def aggregated(weights, own, other):
    """Eqs. 1-4 in one direction: the sum of G([a; β]), and the weights by which it was aligned."""
    total, aligned = 0, []
    for a in own:
        asked = network(weights, "attend", a)
        scores = [asked @ network(weights, "attend", b) for b in other]
        aligned.append(softmax(scores))
        beta = mixed(scores, other)
        local = linear(weights, "compare_own", a) + linear(weights, "compare_aligned", beta)
        total = total + relu(linear(weights, "compare_hidden.2", relu(local)))
    return total, aligned


def answered(weights, first, second, max_distance):
    one, other = (read(weights, side, max_distance) for side in (first, second))
    v1, to_second = aggregated(weights, one, other)
    v2, _ = aggregated(weights, other, one)
    hidden = relu(linear(weights, "classifier.1", np.concatenate([v1, v2])))
    return linear(weights, "classifier.4", hidden), to_second


@pytest.mark.parametrize("max_distance", [0, 2, 10])
def test_a_batch_equals_the_loops(max_distance):
    torch.manual_seed(3)
    config = DecomposableConfig(
        vocab_size=12, embedding_size=6, hidden_size=5, max_distance=max_distance
    )
    model = Decomposable(config).double().eval()
    if model.intra is not None:
        torch.nn.init.normal_(model.intra.distance_bias)
    weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    sides = [
        Sentences.pack([pair[side] for pair in PAIRS]).pad(torch.arange(len(PAIRS)), 9)
        for side in (0, 1)
    ]
    output = model(PairBatch(*sides, None))
    for row, (first, second) in enumerate(PAIRS):
        logits, to_second = answered(weights, first, second, max_distance)
        np.testing.assert_allclose(output.logits[row].detach().numpy(), logits, atol=1e-10)
        found = output.first_to_second[row, : len(first), : len(second)].detach().numpy()
        np.testing.assert_allclose(found, np.array(to_second), atol=1e-10)


def test_what_was_encoded_alone_is_compared_as_in_a_batch():
    torch.manual_seed(1)
    model = Decomposable(DecomposableConfig(vocab_size=12, embedding_size=6, hidden_size=5)).eval()
    first, second = (
        Sentences.pack([side]).pad(torch.arange(1), len(side)) for side in ([3, 1, 4], [5, 9])
    )
    together = model(PairBatch(first, second, None)).logits
    alone = model.compare(model.encode(first), model.encode(second)).logits
    torch.testing.assert_close(alone, together)


@pytest.mark.parametrize("beside_words", [True, False])
def test_with_elmo_inside_the_graphs_answer_as_torch_does(tmp_path, beside_words):
    elmo = {"places": ("input",), "beside_words": beside_words}
    bundle = make_inner(tmp_path / "plain", "decomposable", elmo=elmo)
    report = exported(bundle, tmp_path / "exported")
    pairs = random_pairs(30, seed=2)
    theirs = load(bundle, backend="torch", device="cpu").logits(pairs)
    ours = load(report.bundle, backend="onnx", threads=1).logits(pairs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    assert np.ptp(theirs, axis=0).max() > 0.01  # or else nothing was compared


def test_elmo_has_no_place_beside_states():
    class Beside:
        output_size, added_size = 4, 2

        def __call__(self, ids, lexicon=None):
            raise AssertionError("never asked")

    with pytest.raises(ValueError, match="ELMo has a place at the input alone"):
        Decomposable(DecomposableConfig(vocab_size=5), Beside())


@pytest.mark.parametrize("setting", [{"max_distance": -1}, {"hidden_size": 0}, {"dropout": 1.0}])
def test_settings_that_cannot_be(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        DecomposableConfig(vocab_size=5, **setting)

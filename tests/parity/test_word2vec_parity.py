"""Three ways to the same word vectors: plain loops, compiled kernels, and tensors."""

from itertools import product

import numpy as np
import pytest
import torch
from word2vec_reference import Reference

from softquery.data import Windows
from softquery.models import Word2Vec, Word2VecConfig
from softquery.tasks import WordPrediction
from softquery.training.word2vec import WordTraining
from softquery.training.word2vec.gpu_step import Bags, Batch, Tables, learn_step
from softquery.training.word2vec.tables import (
    alias_table,
    huffman_tree,
    keep_chances,
    noise_chances,
)
from softquery.training.word2vec.word2vec_engine import Stretch, Subject

pytest.importorskip("numba", reason="the CPU engine needs the extra [train]")

from softquery.training.word2vec.numba_engine import NumbaEngine

NUM_WORDS = 40
WORDS = [f"wort{number}" for number in range(NUM_WORDS)]
CASES = list(
    product(("skipgram", "cbow"), ("negative", "nce", "hierarchical"), (0, 60), (100, 16, 5))
)
cases = pytest.mark.parametrize(
    ("architecture", "objective", "num_buckets", "size"),
    [case for case in CASES if case[3] == 16 or case[:3] == ("skipgram", "negative", 0)],
)


def corpus(length=400, seed=3):
    draw = np.random.default_rng(seed)
    ids = (draw.zipf(1.5, length) % NUM_WORDS).astype(np.int32)
    ids[draw.random(length) < 0.1] = -1
    ids[-1] = -1
    counts = np.bincount(ids[ids >= 0], minlength=NUM_WORDS) + 1
    return ids, np.sort(counts)[::-1].copy()


def subject_of(architecture, objective, num_buckets, size, **training):
    ids, counts = corpus()
    config = Word2VecConfig(
        vocab_size=NUM_WORDS,
        embedding_size=size,
        architecture=architecture,
        objective=objective,
        num_buckets=num_buckets,
    )
    settings = WordTraining(threads=1, seed=5, window=3, subsample=0.05, **training)
    return ids, Subject.of(WORDS, counts, config, settings, len(ids))


def reference_of(subject, state):
    noise = noise_chances(subject.counts, subject.training.noise_power)
    own, other = alias_table(noise)
    tree, rows = huffman_tree(subject.counts), subject.rows
    bias = state.get("bias")
    return Reference(
        input=state["input"].astype(np.float64),
        output=state["output"].astype(np.float64),
        bias=None if bias is None else bias.astype(np.float64),
        rows=[rows.rows[rows.starts[w] : rows.starts[w + 1]].tolist() for w in range(NUM_WORDS)],
        keep=keep_chances(subject.counts, subject.training.subsample).tolist(),
        own=own.tolist(),
        other=other.tolist(),
        noise=noise.tolist(),
        ways=[
            list(
                zip(
                    tree.nodes[tree.starts[w] : tree.starts[w + 1]].tolist(),
                    tree.turns[tree.starts[w] : tree.starts[w + 1]].tolist(),
                    strict=True,
                )
            )
            for w in range(NUM_WORDS)
        ],
        cbow=subject.config.architecture == "cbow",
        objective=subject.config.objective,
        window=subject.training.window,
        num_negatives=subject.training.num_negatives,
    )


def busy_state(subject, seed=1):
    """Tables that have learnt something already, so that every gradient is alive."""
    draw = np.random.default_rng(seed)
    state = subject.first_state()
    return {
        name: (table + draw.normal(0, 0.3, table.shape)).astype(np.float32)
        for name, table in state.items()
    }


@cases
def test_compiled_kernels_do_what_plain_loops_do(architecture, objective, num_buckets, size):
    ids, subject = subject_of(architecture, objective, num_buckets, size)
    state = busy_state(subject)
    engine, slow = NumbaEngine(subject), reference_of(subject, state)
    engine.restore(state)
    for seed in (2**63 + 12345, 7):
        engine.learn([Stretch(ids, (0.05, 0.01), seed)])
        slow.learn(ids.tolist(), (0.05, 0.01), seed)
    found = engine.state()
    np.testing.assert_allclose(found["input"], slow.input, atol=2e-4)
    np.testing.assert_allclose(found["output"], slow.output, atol=2e-4)
    if slow.bias is not None:
        np.testing.assert_allclose(found["bias"], slow.bias, atol=2e-4)
    assert np.abs(found["input"] - state["input"]).max() > 0.01
    assert np.abs(found["output"] - state["output"]).max() > 0.01


def test_the_loss_of_measured_windows_is_that_of_all_on_average():
    ids, subject = subject_of("skipgram", "negative", 0, 16)
    state = busy_state(subject)
    engine, slow = NumbaEngine(subject), reference_of(subject, state)
    engine.restore(state)
    lessons = [engine.learn([Stretch(ids, (0.0, 0.0), seed)]) for seed in range(60)]
    for seed in range(60):
        slow.learn(ids.tolist(), (0.0, 0.0), seed)
    found = sum(each.loss for each in lessons) / sum(each.asked for each in lessons)
    assert found == pytest.approx(slow.loss / slow.asked, rel=0.05)


def batch_of(subject, *, num_windows=7, seed=2):
    """Windows for a step, and the same as the model takes them."""
    draw = torch.Generator().manual_seed(seed)
    context = torch.randint(NUM_WORDS, (num_windows, 4), generator=draw)
    context_mask = torch.rand(num_windows, 4, generator=draw) < 0.7
    context_mask[-1] = False  # a window of one word asks nothing
    num_targets = NUM_WORDS - (subject.config.objective == "hierarchical")
    targets = torch.randint(num_targets, (num_windows, 5), generator=draw)
    target_mask = torch.rand(num_windows, 5, generator=draw) < 0.8
    label = (torch.rand(num_windows, 5, generator=draw) < 0.4).float()
    offset = torch.randn(num_windows, 5, generator=draw)
    offset = offset if subject.config.objective == "nce" else torch.zeros_like(offset)
    return Batch(context, context_mask, targets, target_mask, label, offset)


def windows_of(batch, subject):
    starts, rows = subject.rows.starts, subject.rows.rows
    longest = int(np.diff(starts).max())
    table = np.zeros((NUM_WORDS, longest), dtype=np.int64)
    there = np.arange(longest) < np.diff(starts)[:, None]
    table[there] = rows
    words = batch.context.numpy()
    mask = torch.from_numpy(there[words]) & batch.context_mask[:, :, None]
    return Windows(
        rows=torch.from_numpy(table[words]),
        row_mask=mask,
        targets=batch.targets,
        target_mask=batch.target_mask,
        label=batch.label,
        offset=batch.offset,
    )


def model_of(subject, state):
    model = Word2Vec(subject.config, num_rows=subject.rows.num_rows)
    model.load_state_dict({name: torch.from_numpy(table) for name, table in state.items()})
    return model.double()


@cases
def test_a_step_of_tensors_is_the_gradient_of_the_model(architecture, objective, num_buckets, size):
    _, subject = subject_of(architecture, objective, num_buckets, size)
    state = busy_state(subject)
    if "bias" in state:
        state["bias"] *= np.float32(0.1)
    batch, model = batch_of(subject), model_of(subject, state)
    windows = windows_of(batch, subject)
    windows = Windows(
        windows.rows,
        windows.row_mask,
        windows.targets,
        windows.target_mask,
        windows.label.double(),
        windows.offset.double(),
    )
    output = model(windows)
    assert output.scores.abs().max() < 6  # beyond, the engines stop
    loss = WordPrediction().loss(output, windows)
    loss.backward()
    asked = output.mask.any(dim=-1).sum()
    tables = Tables(
        *(torch.from_numpy(state[name]).double().clone() for name in ("input", "output")),
        torch.from_numpy(state["bias"]).double().clone() if "bias" in state else None,
    )
    with_bias = batch.offset
    if tables.bias is not None:
        with_bias = batch.offset + tables.bias[batch.targets]
    bags = Bags(
        torch.from_numpy(subject.rows.starts), torch.from_numpy(subject.rows.rows.astype(np.int64))
    )
    found, num_asked = learn_step(
        tables,
        Batch(
            batch.context,
            batch.context_mask,
            batch.targets,
            batch.target_mask,
            batch.label.double(),
            with_bias.double(),
        ),
        torch.tensor(0.1, dtype=torch.float64),
        mixed=architecture == "cbow",
        max_pull=1e9,
        bags=bags if num_buckets else None,
    )
    assert num_asked == asked
    assert (found / asked).item() == pytest.approx(loss.item(), rel=1e-6)
    for name, table in (("input", tables.input), ("output", tables.output), ("bias", tables.bias)):
        if table is not None:
            before = torch.from_numpy(state[name]).double()
            gradient = getattr(model, name).grad
            assert gradient.abs().max() > 0
            torch.testing.assert_close(before - table, 0.1 * asked * gradient, atol=1e-7, rtol=1e-5)


def test_the_gradient_in_closed_form():
    """d/dv = Σ (σ(score) - label) u, and d/du = Σ (σ(score) - label) v, written out."""
    config = Word2VecConfig(vocab_size=3, embedding_size=2)
    model = Word2Vec(config)
    asks, answers = (
        torch.tensor([[0.5, -1.0], [0, 0], [0, 0]]),
        torch.tensor([[0.2, 0.4], [1.0, 0.3], [-0.6, 0.8]]),
    )
    model.load_state_dict({"input": asks, "output": answers})
    yes = torch.ones(1, 1, 1, dtype=torch.bool)
    windows = Windows(
        rows=torch.zeros(1, 1, 1, dtype=torch.int64),
        row_mask=yes,
        targets=torch.tensor([[1, 2]]),
        target_mask=torch.ones(1, 2, dtype=torch.bool),
        label=torch.tensor([[1.0, 0.0]]),
        offset=torch.zeros(1, 2),
    )
    WordPrediction().loss(model(windows), windows).backward()
    error = torch.sigmoid(asks[0] @ answers[1:].T) - torch.tensor([1.0, 0.0])
    torch.testing.assert_close(model.input.grad[0], error @ answers[1:])
    torch.testing.assert_close(model.output.grad[1:], error[:, None] * asks[0])


def test_rows_that_are_met_too_often_are_held_back():
    """Eight times, but two steps of half a learning rate are all that a pull of one allows."""
    tables = Tables(torch.full((2, 1), 0.5), torch.full((2, 1), 0.5), None)
    batch = Batch(
        context=torch.zeros(8, 1, dtype=torch.int64),
        context_mask=torch.ones(8, 1, dtype=torch.bool),
        targets=torch.ones(8, 1, dtype=torch.int64),
        target_mask=torch.ones(8, 1, dtype=torch.bool),
        label=torch.ones(8, 1),
        offset=None,
    )
    learn_step(tables, batch, torch.tensor(0.5), mixed=False, max_pull=1.0, bags=None)
    one = 0.5 * float(1 - torch.sigmoid(torch.tensor(0.25)))
    assert float(tables.input[0, 0]) == pytest.approx(0.5 + one, rel=1e-5)
    assert float(tables.output[1, 0]) == pytest.approx(0.5 + one, rel=1e-5)
    assert float(tables.input[1, 0]) == 0.5

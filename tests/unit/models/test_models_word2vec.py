"""word2vec as a torch module: shapes, gradients, storage, and masks that are obeyed."""

import pytest
import torch

from softquery.data import Windows
from softquery.models import Word2Vec, Word2VecConfig
from softquery.models.word2vec import eager_mean
from softquery.tasks import WordPrediction

ARCHITECTURES = ("skipgram", "cbow")
OBJECTIVES = ("negative", "nce", "hierarchical")
every = [
    pytest.mark.parametrize("architecture", ARCHITECTURES),
    pytest.mark.parametrize("objective", OBJECTIVES),
]


def build(architecture, objective="negative", seed=1):
    torch.manual_seed(seed)
    config = Word2VecConfig(
        vocab_size=6, embedding_size=4, architecture=architecture, objective=objective
    )
    model = Word2Vec(config, num_rows=9)
    torch.nn.init.normal_(model.output, std=0.5)
    return model


def windows(num_windows=8, extra_pad=0, seed=0):
    draw = torch.Generator().manual_seed(seed)
    rows = torch.randint(9, (num_windows, 3, 2), generator=draw)
    rows[:3] = torch.arange(18).reshape(3, 3, 2) % 9
    targets = torch.cat([torch.arange(5).repeat(num_windows, 1)], dim=1)
    mask = torch.ones(num_windows, 3, 2, dtype=torch.bool)
    mask[-1, 1:] = False
    if extra_pad:
        rows = torch.nn.functional.pad(rows, (0, extra_pad, 0, extra_pad), value=5)
        mask = torch.nn.functional.pad(mask, (0, extra_pad, 0, extra_pad), value=False)
        targets = torch.nn.functional.pad(targets, (0, extra_pad), value=3)
    there = torch.arange(targets.shape[1]) < 5
    return Windows(
        rows=rows,
        row_mask=mask,
        targets=targets,
        target_mask=there.expand_as(targets),
        label=(torch.arange(targets.shape[1]) == 2).float().expand_as(targets),
        offset=torch.zeros(targets.shape),
    )


def both(function):
    for mark in every:
        function = mark(function)
    return function


@both
def test_shapes(architecture, objective):
    output = build(architecture, objective)(windows())
    asking = 3 if architecture == "skipgram" else 1
    assert output.scores.shape == output.mask.shape == (8, asking, 5)


@both
def test_every_parameter_gets_a_gradient(architecture, objective):
    model, batch = build(architecture, objective), windows()
    WordPrediction().loss(model(batch), batch).backward()
    for name, parameter in model.named_parameters():
        gradient = parameter.grad.reshape(len(parameter), -1)
        used = 5 if name in ("output", "bias") else 9
        assert (gradient.abs().sum(dim=1) > 0).sum() == used, name


@both
def test_a_state_dict_brings_the_weights_back(architecture, objective):
    model, other = build(architecture, objective), build(architecture, objective, seed=2)
    assert not torch.equal(model(windows()).scores, other(windows()).scores)
    other.load_state_dict(model.state_dict())
    assert torch.equal(model(windows()).scores, other(windows()).scores)


@both
def test_padding_changes_nothing(architecture, objective):
    model = build(architecture, objective)
    losses = [
        WordPrediction().loss(model(batch), batch).item()
        for batch in (windows(), windows(extra_pad=4))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@both
def test_it_learns_four_windows_by_heart(architecture, objective):
    model, batch = build(architecture, objective), windows(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(150):
        loss = WordPrediction().loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


def test_a_window_without_words_asks_nothing():
    batch = windows(3)
    batch.row_mask[:] = False
    for architecture in ARCHITECTURES:
        model = build(architecture)
        loss = WordPrediction().loss(model(batch), batch)
        assert loss.item() == 0
        loss.backward()
        assert torch.isfinite(model.input.grad).all()


def test_each_part_of_a_mean_moves_as_far_as_the_mean():
    vectors = torch.tensor([[[2.0], [4.0], [9.0]]], requires_grad=True)
    mean = eager_mean(vectors, torch.tensor([[True, True, False]]))
    assert mean.tolist() == [[3.0]]
    mean.sum().backward()
    assert vectors.grad.flatten().tolist() == [1.0, 1.0, 0.0]


def test_inner_nodes_are_one_fewer_than_words():
    model = Word2Vec(Word2VecConfig(vocab_size=6, embedding_size=4, objective="hierarchical"))
    assert model.output.shape == (5, 4)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"embedding_size": 0}, "embedding_size must be from 1 to 4,096, got 0"),
        ({"num_buckets": -1}, "vocab_size and num_buckets must not be negative"),
        ({"min_ngram": 4, "max_ngram": 3}, "1 <= min_ngram <= max_ngram <= 32, got 4 and 3"),
    ],
)
def test_sizes_that_make_no_sense(setting, message):
    with pytest.raises(ValueError, match=message):
        Word2VecConfig(**setting)

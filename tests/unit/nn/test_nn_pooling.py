"""Pools, learned queries and mixes read real tokens alone, by their formulas."""

import pytest
import torch
from torch.nn import functional as F

from softquery.nn import LayerMix, LearnedQueries, LearnedQuery, max_pool, mean_pool


@pytest.fixture(params=["mean", "max", "attentive"])
def pool(request):
    torch.manual_seed(1)
    query = LearnedQuery(4, 3)
    pools = {"mean": mean_pool, "max": max_pool, "attentive": lambda *given: query(*given).mixed}
    return pools[request.param]


def mask_of(*lengths, width):
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def test_padding_does_not_count(pool):
    states, mask = torch.randn(3, 5, 4), mask_of(5, 3, 1, width=5)
    other = torch.where(mask.unsqueeze(-1), states, 50.0)
    torch.testing.assert_close(pool(other, mask), pool(states, mask))


def test_each_sentence_is_pooled_alone(pool):
    states, mask = torch.randn(3, 5, 4), mask_of(5, 3, 1, width=5)
    alone = [
        pool(states[[row], :length], mask[[row], :length]) for row, length in enumerate((5, 3, 1))
    ]
    torch.testing.assert_close(pool(states, mask), torch.cat(alone))


def test_no_tokens_pool_to_zeros_with_zero_gradient(pool):
    states = torch.randn(2, 3, 4, requires_grad=True)
    pooled = pool(states, mask_of(0, 3, width=3))
    (pooled * torch.randn(2, 4)).sum().backward()
    assert pooled[0].tolist() == [0.0] * 4
    assert not states.grad[0].any()
    assert states.grad[1].any()


def test_one_token_pools_to_itself(pool):
    states = torch.randn(2, 3, 4)
    torch.testing.assert_close(pool(states, mask_of(1, 1, width=3)), states[:, 0])


def test_equal_tokens_pool_to_themselves(pool):
    states = torch.randn(2, 1, 4).expand(2, 6, 4)
    torch.testing.assert_close(pool(states, mask_of(6, 4, width=6)), states[:, 0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_pools_keep_the_dtype(dtype):
    states, mask = torch.randn(2, 3, 4, dtype=dtype), mask_of(0, 3, width=3)
    for pooled in (mean_pool(states, mask), max_pool(states, mask)):
        assert pooled.dtype == dtype
        assert pooled.isfinite().all()


def test_mean_and_max_by_hand():
    states = torch.tensor([[[1.0, -5.0], [3.0, -1.0], [99.0, 99.0]]])
    mask = mask_of(2, width=3)
    assert mean_pool(states, mask).tolist() == [[2.0, -3.0]]
    assert max_pool(states, mask).tolist() == [[3.0, -1.0]]


def test_signatures_are_checked_while_tests_run():
    """The hook of `conftest.py` is on: a mask of the wrong shape does not pass."""
    pytest.importorskip("beartype")
    with pytest.raises(Exception, match="mask"):
        mean_pool(torch.zeros(2, 3, 4), torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(Exception, match="mask"):
        mean_pool(torch.zeros(2, 3, 4), torch.ones(2, 3))


@pytest.fixture
def states():
    torch.manual_seed(1)
    return torch.randn(3, 5, 4)


MASK = torch.tensor([[True] * 5, [True, True, False, False, False], [False] * 5])


@pytest.mark.parametrize("query_size", [None, 6])
def test_weights_are_shares_of_what_is_there(query_size, states):
    asked = LearnedQuery(4, query_size)(states, MASK)
    assert asked.mixed.shape == (3, 4)
    assert asked.weights.shape == (3, 5)
    torch.testing.assert_close(asked.weights.sum(dim=1), torch.tensor([1.0, 1.0, 0.0]))
    assert not asked.weights[~MASK].any()
    assert not asked.mixed[2].any()
    wanted = torch.einsum("bt,btd->bd", asked.weights, states)
    torch.testing.assert_close(asked.mixed, wanted)


def test_the_state_that_resembles_the_query_has_most_weight():
    model = LearnedQuery(2)
    model.query.data = torch.tensor([[4.0, 0.0]])
    asked = model(torch.tensor([[[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]]]), torch.ones(1, 3) > 0)
    assert asked.weights[0].argmax() == 0
    logits = 4 * torch.tanh(torch.tensor([2.0, -2.0, 0.0]))
    torch.testing.assert_close(asked.weights[0], logits.softmax(dim=0))


def test_padding_never_reaches_the_answer(states):
    model, spoilt = LearnedQuery(4, 6), states.clone()
    spoilt[~MASK] = 1e4
    for one, other in zip(model(states, MASK), model(spoilt, MASK), strict=True):
        torch.testing.assert_close(one, other)


def test_without_a_projection_there_is_nothing_but_the_query():
    assert [name for name, _ in LearnedQuery(4).named_parameters()] == ["query"]
    names = {name for name, _ in LearnedQuery(4, 6).named_parameters()}
    assert names == {"query", "projection.weight", "projection.bias"}


def layers():
    return torch.randn(3, 2, 4, 6, generator=torch.Generator().manual_seed(1))


def test_it_follows_its_equation():
    mix = LayerMix(3)
    mix.weights.data = torch.tensor([0.3, -1.0, 2.0])
    mix.scale.data = torch.tensor(1.7)
    share = mix.weights.softmax(dim=0)
    wanted = 1.7 * sum(s * layer for s, layer in zip(share, layers(), strict=True))
    torch.testing.assert_close(mix(layers()), wanted)


def test_it_starts_as_the_mean():
    torch.testing.assert_close(LayerMix(3)(layers()), layers().mean(dim=0))


def test_layers_are_normalised_token_by_token():
    mix = LayerMix(3, normalise=True)
    wanted = F.layer_norm(layers(), (6,)).mean(dim=0)
    torch.testing.assert_close(mix(layers()), wanted)
    torch.testing.assert_close(mix(layers()[:, :1]), wanted[:1])


def test_the_penalty_pulls_towards_the_mean():
    mix = LayerMix(2, penalty=0.5)
    mix.weights.data = torch.tensor([3.0, -1.0])
    assert mix.regulariser().item() == pytest.approx(0.5 * 10)
    mix.regulariser().backward()
    assert mix.weights.grad.tolist() == [3.0, -1.0]
    assert LayerMix(2).regulariser().item() == 0


def test_the_scale_is_learned_or_one():
    for learned in (True, False):
        mix = LayerMix(3, learn_scale=learned)
        mix(layers()).sum().backward()
        assert (mix.scale.grad is not None) is learned
        assert mix.weights.grad is not None


def test_dropout_acts_in_training_alone():
    mix = LayerMix(3, dropout=0.5)
    assert (mix(layers()) == 0).any()
    torch.testing.assert_close(mix.eval()(layers()), layers().mean(dim=0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be positive"),
        ({"num_layers": 2, "penalty": -1}, "penalty must not be negative"),
        ({"num_layers": 2, "dropout": 1.0}, r"dropout in \[0, 1\)"),
    ],
)
def test_what_does_not_fit_is_told(settings, message):
    with pytest.raises(ValueError, match=message):
        LayerMix(**settings)


def test_another_number_of_layers_is_told():
    with pytest.raises(ValueError, match="expected 2 layers, got 3"):
        LayerMix(2)(layers())


@pytest.mark.parametrize("num_queries", [1, 2, 4])
def test_each_of_several_queries_asks_and_mixes_its_own_part(num_queries):
    states, size = torch.randn(3, 5, 8), 8 // num_queries
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool()
    together = LearnedQueries(8, num_queries)
    mixed, weights = together(states, mask)
    for number, query in enumerate(together.query):
        alone = LearnedQuery(size)
        alone.query.data = query[None].detach()
        part = slice(number * size, (number + 1) * size)
        torch.testing.assert_close(mixed[:, part], alone(states[..., part], mask).mixed)
    torch.testing.assert_close(weights.sum(dim=1), torch.tensor([1.0, 1.0, 0.0]))


def test_queries_that_cannot_share_the_states_are_refused():
    with pytest.raises(ValueError, match="3 queries cannot share states of width 8 evenly"):
        LearnedQueries(8, 3)

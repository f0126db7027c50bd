"""One learned vector asks all states."""

import pytest
import torch

from softquery.nn import LearnedQuery


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

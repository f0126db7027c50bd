import pytest
import torch

from softquery.attention import (
    attend,
    dot,
    hard_attend,
    hard_weights,
    padding_mask,
    straight_through,
    tempered,
)


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)


def test_soft_attention_tends_to_hard_attention():
    query, key, value = inputs()
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None]
    hard = hard_attend(query, key, value, score=dot, mask=mask)
    distances = []
    for temperature in (1.0, 0.1, 0.001):
        soft = attend(query, key, value, score=tempered(dot, temperature), mask=mask)
        distances.append((soft.weights - hard.weights).abs().max().item())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-6


def test_high_temperature_forgets_the_query():
    query, key, value = inputs()
    weights = attend(query, key, value, score=tempered(dot, 1e6)).weights
    torch.testing.assert_close(weights, torch.full((2, 3, 5), 0.2), atol=1e-5, rtol=0)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_temperature_must_be_positive(temperature):
    with pytest.raises(ValueError, match=f"temperature must be above 0.*got {temperature}"):
        tempered(dot, temperature)


def test_ties_go_to_the_first():
    logits = torch.tensor([[2.0, 7.0, 7.0, 7.0], [1.0, 1.0, 1.0, 1.0]])
    assert hard_weights(logits).argmax(-1).tolist() == [1, 0]
    mask = torch.tensor([[True, False, True, True]])
    assert hard_weights(logits, mask).argmax(-1).tolist() == [2, 0]


@pytest.mark.parametrize("ask", [hard_attend, straight_through])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients(ask, dtype):
    query, key, value = (tensor.to(dtype).requires_grad_() for tensor in inputs())
    mask = padding_mask(torch.tensor([5, 0]), 5)[:, None]
    mixed, weights = ask(query, key, value, mask=mask)
    mixed.square().sum().backward()
    assert mixed[1].eq(0).all()
    assert weights[1].eq(0).all()
    assert value.grad[1].eq(0).all()
    for tensor in (query, key, value):
        assert tensor.grad is None or tensor.grad.isfinite().all()


@pytest.mark.parametrize("ask", [hard_attend, straight_through])
def test_no_keys_give_zeros(ask):
    mixed, weights = ask(torch.randn(2, 3, 4), torch.randn(2, 0, 4), torch.randn(2, 0, 6))
    assert mixed.equal(torch.zeros(2, 3, 6))
    assert weights.shape == (2, 3, 0)


def test_straight_through_answers_exactly_as_hard():
    query, key, value = inputs()
    hard, through = hard_attend(query, key, value), straight_through(query, key, value)
    assert through.weights.equal(hard.weights)
    assert through.mixed.equal(hard.mixed)


def test_straight_through_learns_as_soft():
    query, key, value = (tensor.requires_grad_() for tensor in inputs())
    cotangent = torch.randn(2, 3, 6)
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None]
    through = straight_through(query, key, value, mask=mask).mixed
    soft = attend(query, key, value, mask=mask).mixed
    found = torch.autograd.grad(through, (query, key), cotangent)
    expected = torch.autograd.grad(soft, (query, key), cotangent)
    torch.testing.assert_close(found, expected)
    assert found[0].ne(0).any()


def test_hard_attention_teaches_the_values_alone():
    query, key, value = (tensor.requires_grad_() for tensor in inputs())
    mixed, weights = hard_attend(query, key, value)
    (to_value,) = torch.autograd.grad(mixed.sum(), value)
    assert not weights.requires_grad
    torch.testing.assert_close(to_value, weights.sum(-2).unsqueeze(-1).expand(2, 5, 6))

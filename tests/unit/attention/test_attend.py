import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from softquery.attention import attend, dot, masked_softmax, padding_mask, weighted_values

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_that_sees_nothing_is_zero_with_zero_gradient(dtype):
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 4, dtype=dtype, requires_grad=True)
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    mask[0, 1] = False
    weights = masked_softmax(logits, mask)
    (weights * torch.randn_like(weights)).sum().backward()
    assert weights[0, 1].eq(0).all()
    assert logits.grad[0, 1].eq(0).all()
    assert logits.grad.isfinite().all()
    assert logits.grad[1].ne(0).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("garbage", [float("inf"), -float("inf"), float("nan"), 6e4])
def test_masked_logits_reach_neither_weights_nor_gradient(dtype, garbage):
    clean = torch.tensor([[0.5, -1.0, 0.0]], dtype=dtype)
    mask = torch.tensor([[True, True, False]])
    dirty = clean.masked_fill(~mask, garbage).requires_grad_()
    weights = masked_softmax(dirty, mask)
    weights[0, 0].backward()
    assert weights[0, 2] == 0
    assert weights.detach().equal(masked_softmax(clean, mask))
    assert dirty.grad[0, 2] == 0
    assert dirty.grad.isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_very_low_real_logits_still_take_all_the_weight(dtype):
    low = torch.finfo(dtype).min / 2
    weights = masked_softmax(torch.tensor([[low, 0.0]], dtype=dtype), torch.tensor([[True, False]]))
    assert weights.tolist() == [[1.0, 0.0]]


def test_masked_softmax_has_right_gradients_beside_rows_that_see_nothing():
    mask = torch.tensor([[True, False, True], [False, False, False]])
    logits = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda logits: masked_softmax(logits, mask), (logits,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_no_step_on_the_way_is_nan(dtype):
    logits = torch.randn(1, 2, 3, dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    with torch.autograd.detect_anomaly(check_nan=True):  # raises at the first NaN gradient
        masked_softmax(logits, mask).square().sum().backward()
    assert logits.grad.ne(0).any()


def test_second_gradients_are_finite():
    logits = torch.randn(1, 2, 3, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    first = torch.autograd.grad(
        masked_softmax(logits, mask)[..., 0].sum(), logits, create_graph=True
    )
    (second,) = torch.autograd.grad(first[0].square().sum(), logits)
    assert second.isfinite().all()
    assert second.ne(0).any()


@pytest.mark.parametrize("mask_shape", [(3, 4), (1, 4), (2, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1)])
def test_masks_broadcast(mask_shape):
    torch.manual_seed(1)
    logits = torch.randn(2, 3, 4)
    mask = torch.rand(mask_shape) < 0.5
    assert masked_softmax(logits, mask).equal(masked_softmax(logits, mask.expand(2, 3, 4)))


@given(
    batch=st.lists(st.integers(1, 3), max_size=2),
    num_queries=st.integers(1, 3),
    num_keys=st.integers(0, 5),
    seed=st.integers(0, 999),
)
@settings(max_examples=40, deadline=None)
def test_every_row_sums_to_one_or_to_nothing(batch, num_queries, num_keys, seed):
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch, num_queries, num_keys)
    mask = torch.rand(shape, generator=generator) < 0.4
    weights = masked_softmax(torch.randn(shape, generator=generator) * 30, mask)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())
    assert weights[~mask].eq(0).all()
    assert weights.ge(0).all()


def test_no_keys_give_zeros():
    query = torch.randn(2, 3, 4, requires_grad=True)
    mixed, weights = attend(query, torch.randn(2, 0, 4), torch.randn(2, 0, 5))
    mixed.sum().backward()
    assert mixed.equal(torch.zeros(2, 3, 5))
    assert weights.shape == (2, 3, 0)
    assert query.grad.eq(0).all()


def test_padding_changes_nothing():
    torch.manual_seed(2)
    query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None]
    padded_key = torch.cat([key, 100 * torch.randn(2, 7, 4)], dim=1)
    padded_value = torch.cat([value, 100 * torch.randn(2, 7, 6)], dim=1)
    padded_mask = padding_mask(torch.tensor([5, 2]), 12)[:, None]
    plain = attend(query, key, value, mask=mask)
    padded = attend(query, padded_key, padded_value, mask=padded_mask)
    torch.testing.assert_close(plain.mixed, padded.mixed)
    torch.testing.assert_close(plain.weights, padded.weights[..., :5])


def test_the_order_of_keys_does_not_matter():
    torch.manual_seed(3)
    query, key, value = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 6)
    order = torch.randperm(5)
    shuffled = attend(query, key[order], value[order]).mixed
    torch.testing.assert_close(shuffled, attend(query, key, value).mixed)


def test_a_key_equal_to_a_long_query_answers_alone():
    words = 40 * torch.eye(3)
    values = torch.tensor([[1.0], [2.0], [3.0]])
    torch.testing.assert_close(attend(words, words, values, score=dot).mixed, values)


def test_dropout_drops_weights_and_raises_the_others():
    torch.manual_seed(4)
    query, key, value = torch.randn(8, 4), torch.randn(50, 4), torch.randn(50, 2)
    plain = attend(query, key, value)
    mixed, weights = attend(query, key, value, dropout=0.4)
    kept = weights != 0
    assert 0.5 < kept.float().mean() < 0.7
    torch.testing.assert_close(weights, plain.weights * kept / 0.6)
    torch.testing.assert_close(mixed, weights @ value)


def test_without_dropout_nothing_is_random():
    query, key, value = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    assert attend(query, key, value).mixed.equal(attend(query, key, value).mixed)


def test_weighted_values_add_up_to_the_answer_and_hide_what_is_masked():
    torch.manual_seed(0)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    value = torch.randn(2, 5, 6, requires_grad=True)
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    mask[0, :, 3:], mask[1, 2] = False, False
    mixed, weights = attend(query, key, value, mask=mask)
    each = weighted_values(weights, value)
    assert each.shape == (2, 3, 5, 6)
    assert torch.allclose(each.sum(dim=-2), mixed, atol=1e-6)
    assert each[0, :, 3:].eq(0).all()
    assert each[1, 2].eq(0).all()
    each[0, 0].sum().backward()
    assert value.grad[0, 3:].eq(0).all()

import pytest
import torch

from softquery.attention import attend, causal_mask, fused_attend, padding_mask

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LENGTHS = [(4, 4), (2, 5), (1, 5), (5, 2), (1, 1), (3, 0), (0, 3)]


def inputs(query_length: int, key_length: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(query_length + 10 * key_length)
    return (
        torch.randn(2, 3, query_length, 8),
        torch.randn(2, 3, key_length, 8),
        torch.randn(2, 3, key_length, 8),
    )


@pytest.mark.parametrize(("query_length", "key_length"), LENGTHS)
def test_causal_means_the_causal_mask(query_length, key_length):
    query, key, value = inputs(query_length, key_length)
    mask = causal_mask(query_length, key_length)
    expected = attend(query, key, value, mask=mask).mixed
    torch.testing.assert_close(fused_attend(query, key, value, causal=True), expected)
    torch.testing.assert_close(fused_attend(query, key, value, mask=mask), expected)


@pytest.mark.parametrize(("query_length", "key_length"), LENGTHS)
def test_causal_joins_a_mask(query_length, key_length):
    query, key, value = inputs(query_length, key_length)
    padding = padding_mask(torch.tensor([key_length, key_length // 2]), key_length)[:, None, None]
    expected = attend(query, key, value, mask=padding & causal_mask(query_length, key_length)).mixed
    torch.testing.assert_close(fused_attend(query, key, value, mask=padding, causal=True), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_query_that_sees_nothing_gets_zeros_and_zero_gradient(dtype, device):
    query, key, value = (tensor.to(device, dtype).requires_grad_() for tensor in inputs(3, 4))
    mask = torch.ones(2, 1, 3, 4, dtype=torch.bool, device=device)
    mask[0, :, 1] = False
    mixed = fused_attend(query, key, value, mask=mask)
    mixed.square().sum().backward()
    assert mixed[0, :, 1].eq(0).all()
    assert query.grad[0, :, 1].eq(0).all()
    for tensor in (query, key, value):
        assert tensor.grad.isfinite().all()
        assert tensor.grad.ne(0).any()


def test_a_sentence_that_sees_nothing_leaves_no_trace_in_keys_and_values():
    query, key, value = (tensor.requires_grad_() for tensor in inputs(3, 4))
    mask = padding_mask(torch.tensor([4, 0]), 4)[:, None, None]
    fused_attend(query, key, value, mask=mask).sum().backward()
    for tensor in (query, key, value):
        assert tensor.grad[1].eq(0).all()


def test_dropout_drops_and_raises_and_keeps_masked_keys_out():
    torch.manual_seed(0)
    query, key = torch.randn(40, 8), torch.randn(30, 8)
    mask = padding_mask(torch.tensor(20), 30)[None]
    plain = attend(query, key, torch.eye(30), mask=mask).weights
    # With the identity as values, what comes back are the weights themselves.
    dropped = fused_attend(query, key, torch.eye(30), mask=mask, dropout=0.25)
    kept = dropped != 0
    assert 0.65 < kept[:, :20].float().mean() < 0.85
    assert not kept[:, 20:].any()
    torch.testing.assert_close(dropped, plain * kept / 0.75)

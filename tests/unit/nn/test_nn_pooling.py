"""Pools read real tokens alone; a sentence without any pools to zeros."""

import pytest
import torch

from softquery.nn import LearnedQuery, max_pool, mean_pool


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

"""Sequences end to end: each attends to itself, as it would alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.attention import MultiHead, Packing, attend, causal_mask, packed_attend

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def random_parts(num_tokens, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(num_tokens, 2, 4, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("causal", [False, True])
@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_every_sequence_is_answered_as_if_alone(causal, lengths):
    parts = random_parts(sum(lengths))
    found = packed_attend(*parts, Packing.of(lengths), causal=causal)
    wanted = []
    for query, key, value in zip(*(part.split(lengths) for part in parts), strict=True):
        mask = causal_mask(len(query), len(query)) if causal else None
        answer = attend(*(x.transpose(0, 1) for x in (query, key, value)), mask=mask)
        wanted.append(answer.mixed.transpose(0, 1))
    torch.testing.assert_close(found, torch.cat(wanted), **CLOSE)


def test_gradients_reach_all_and_no_other_sequence():
    parts = random_parts(7)
    packed_attend(*parts, Packing.of([3, 4]))[:3].square().sum().backward()
    for part in parts:
        assert part.grad[:3].abs().sum() > 0
        assert not part.grad[3:].any()


def test_a_longest_that_is_too_long_changes_nothing():
    parts = random_parts(7)
    plain = packed_attend(*parts, Packing.of([3, 4]))
    loose = packed_attend(*parts, Packing.of([3, 4])._replace(longest=40))
    torch.testing.assert_close(plain, loose, **CLOSE)


def test_where_sequences_lie():
    packing = Packing.of([2, 0, 3, 0])
    assert packing.starts.dtype == torch.int32
    assert packing.longest == 3
    assert packing.lengths().tolist() == [2, 0, 3, 0]
    assert packing.rows(5).tolist() == [0, 0, 2, 2, 2]
    assert packing.positions(5).tolist() == [0, 1, 0, 1, 2]
    assert packing.without_empty().starts.tolist() == [0, 2, 5]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_heads_over_packed_rows_are_heads_over_rows(bias, causal):
    torch.manual_seed(1)
    heads = MultiHead(8, 2, bias=bias)
    states, lengths = torch.randn(9, 8, requires_grad=True), [4, 5]
    found = heads.mix_packed(states, Packing.of(lengths), causal=causal)
    wanted = torch.cat([
        heads.mix(part, heads.remember(part, part), causal=causal) for part in states.split(lengths)
    ])  # fmt: skip
    torch.testing.assert_close(found, wanted, **CLOSE)
    gradients = [torch.autograd.grad(x.square().sum(), [states, *heads.parameters()])
                 for x in (found, wanted)]  # fmt: skip
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_dropout_is_the_callers():
    parts, packing = random_parts(7), Packing.of([3, 4])
    torch.manual_seed(0)
    noisy = packed_attend(*parts, packing, dropout=0.5)
    assert not torch.allclose(noisy, packed_attend(*parts, packing))
    heads = MultiHead(8, 2, dropout=0.5)
    states = torch.randn(7, 8)
    calm = heads.eval().mix_packed(states, packing)
    assert torch.equal(calm, heads.mix_packed(states, packing))
    assert not torch.equal(calm, heads.train().mix_packed(states, packing))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernel is for GPUs")
@pytest.mark.parametrize("causal", [True, False])
def test_the_kernel_gives_the_same(causal):
    torch.manual_seed(0)
    lengths = [5, 0, 64, 17, 0, 42]
    parts = [torch.randn(128, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
             for _ in range(3)]  # fmt: skip
    packing = Packing.of(lengths, device="cuda")
    fast = packed_attend(*parts, packing, causal=causal)
    plain = [part.detach().float().requires_grad_() for part in parts]
    slow = packed_attend(*plain, packing, causal=causal)
    torch.testing.assert_close(fast.float(), slow, rtol=0.02, atol=0.02)
    fast.float().square().sum().backward()
    slow.square().sum().backward()
    for one, other in zip(parts, plain, strict=True):
        torch.testing.assert_close(one.grad.float(), other.grad, rtol=0.05, atol=0.05)

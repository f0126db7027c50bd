"""The fast paths against the oracle in plain loops: every score, every mask, values and gradients.

Shapes: 2 sentences, 3 queries, 4 keys; queries are 4 wide, keys 4 or 3, values 2.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from softquery.attention import (
    Additive,
    Attended,
    Bilinear,
    Concat,
    MultiHead,
    Score,
    Trilinear,
    attend,
    causal_mask,
    cosine,
    dot,
    fused_attend,
    hard_attend,
    padding_mask,
    reference,
    scaled_dot,
    straight_through,
    window_mask,
)

NUM_SENTENCES, NUM_QUERIES, NUM_KEYS = 2, 3, 4
QUERY_SIZE, VALUE_SIZE = 4, 2


@dataclass(frozen=True)
class ScoreCase:
    name: str
    key_size: int
    build: Callable[[], Score]
    oracle: Callable[[Score], reference.PairScore]

    def __str__(self) -> str:
        return self.name


SCORES = [
    ScoreCase("dot", QUERY_SIZE, lambda: dot, lambda _: reference.dot),
    ScoreCase("scaled_dot", QUERY_SIZE, lambda: scaled_dot, lambda _: reference.scaled_dot),
    ScoreCase("cosine", QUERY_SIZE, lambda: cosine, lambda _: reference.cosine),
    ScoreCase("bilinear", 3, lambda: Bilinear(QUERY_SIZE, 3), reference.bilinear),
    ScoreCase("additive", 3, lambda: Additive(QUERY_SIZE, 3, 5), reference.additive),
    ScoreCase("concat", 3, lambda: Concat(QUERY_SIZE, 3, 5), reference.concat),
    ScoreCase("trilinear", QUERY_SIZE, lambda: Trilinear(QUERY_SIZE), reference.trilinear),
]


def padding(*lengths: int) -> Tensor:
    return padding_mask(torch.tensor(lengths), NUM_KEYS)[:, None]


def one_blind_query() -> Tensor:
    mask = torch.ones(NUM_SENTENCES, NUM_QUERIES, NUM_KEYS, dtype=torch.bool)
    mask[1, 2] = False
    return mask


MASKS: dict[str, Tensor | None] = {
    "none": None,
    "padding": padding(4, 2),
    "causal": causal_mask(NUM_QUERIES, NUM_KEYS),
    "window": window_mask(NUM_QUERIES, NUM_KEYS, radius=1),
    "padding and causal": padding(4, 2) & causal_mask(NUM_QUERIES, NUM_KEYS),
    "window and causal": window_mask(NUM_QUERIES, NUM_KEYS, radius=1)
    & causal_mask(NUM_QUERIES, NUM_KEYS),
    "a blind sentence": padding(4, 0) & causal_mask(NUM_QUERIES, NUM_KEYS),
    "a blind query": one_blind_query(),
    "broadcast over keys": torch.tensor([[[True], [False], [True]]]),
}

every_score = pytest.mark.parametrize("case", SCORES, ids=str)
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def inputs(key_size: int = QUERY_SIZE, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    torch.manual_seed(7)
    shapes = [
        (NUM_SENTENCES, NUM_QUERIES, QUERY_SIZE),
        (NUM_SENTENCES, NUM_KEYS, key_size),
        (NUM_SENTENCES, NUM_KEYS, VALUE_SIZE),
    ]
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def parameters_of(score: Score) -> list[Tensor]:
    return list(score.parameters()) if isinstance(score, nn.Module) else []


def gradients(outputs: Sequence[Tensor], sources: Sequence[Tensor]) -> list[Tensor]:
    """Of a random mix of all outputs, the same mix for equal shapes; zeros where nothing flows."""
    generator = torch.Generator().manual_seed(11)
    total = sum((source.sum() * 0.0 for source in sources), start=torch.zeros(()))
    for output in outputs:
        cotangent = torch.randn(output.shape, generator=generator)
        total = total + (output.float() * cotangent).sum()
    found = torch.autograd.grad(total, sources, retain_graph=True)
    return [gradient.float() for gradient in found]


def assert_same(
    fast: Sequence[Tensor],
    fast_sources: Sequence[Tensor],
    slow: Sequence[Tensor],
    slow_sources: Sequence[Tensor],
    tolerance: float,
) -> None:
    close = {"atol": tolerance, "rtol": tolerance}
    for found, expected in zip(fast, slow, strict=True):
        torch.testing.assert_close(found.float(), expected.float(), **close)
    found_gradients = gradients(fast, fast_sources)
    expected_gradients = gradients(slow, slow_sources)
    for found, expected in zip(found_gradients, expected_gradients, strict=True):
        assert found.isfinite().all()
        torch.testing.assert_close(found, expected, **close)


@every_score
@every_mask
def test_eval_in_float32(case, mask):
    query, key, value = inputs(case.key_size)
    score = case.build()
    sources = [query, key, value, *parameters_of(score)]
    fast = attend(query, key, value, score=score, mask=mask)
    slow = reference.attend(query, key, value, score=case.oracle(score), mask=mask)
    assert_same(fast, sources, slow, sources, tolerance=1e-5)


@every_score
@every_mask
def test_train_in_float32(case, mask):
    query, key, value = inputs(case.key_size)
    score = case.build()
    sources = [query, key, value, *parameters_of(score)]
    fast = attend(query, key, value, score=score, mask=mask, dropout=0.4)
    whole = reference.attend(query, key, value, score=case.oracle(score), mask=mask)
    # The oracle drops what the fast path has dropped; the others must have grown by 1 / 0.6, so
    # that a dropout which did nothing would fail here too.
    weights = whole.weights * (fast.weights != 0) / 0.6
    slow = Attended(weights @ value, weights)
    assert_same(fast, sources, slow, sources, tolerance=1e-5)


@every_score
@every_mask
def test_bfloat16_against_the_oracle_in_float32(case, mask):
    query, key, value = inputs(case.key_size, torch.bfloat16)
    score = case.build()
    if isinstance(score, nn.Module):
        score = score.bfloat16()
    fast = attend(query, key, value, score=score, mask=mask)
    # The same rounded numbers, computed on in full precision: what differs is the arithmetic alone.
    full = [tensor.detach().float().requires_grad_() for tensor in (query, key, value)]
    full_score = copy.deepcopy(score).float() if isinstance(score, nn.Module) else score
    slow = reference.attend(*full, score=case.oracle(full_score), mask=mask)
    assert fast.mixed.dtype == fast.weights.dtype == torch.bfloat16
    assert fast.weights[slow.weights == 0].eq(0).all()
    fast_sources = [query, key, value, *parameters_of(score)]
    slow_sources = [*full, *parameters_of(full_score)]
    assert_same(fast, fast_sources, slow, slow_sources, tolerance=0.04)


@every_mask
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.04)], ids=str
)
def test_fused(mask, dtype, tolerance):
    fast_sources = inputs(dtype=dtype)
    slow_sources = [tensor.detach().float().requires_grad_() for tensor in fast_sources]
    fast = fused_attend(*fast_sources, mask=mask)
    slow = reference.attend(*slow_sources, mask=mask).mixed
    assert_same([fast], fast_sources, [slow], slow_sources, tolerance)


@every_mask
def test_fused_and_causal(mask):
    sources = inputs()
    triangle = causal_mask(NUM_QUERIES, NUM_KEYS)
    fast = fused_attend(*sources, mask=mask, causal=True)
    slow = reference.attend(*sources, mask=triangle if mask is None else mask & triangle).mixed
    assert_same([fast], sources, [slow], sources, tolerance=1e-5)


def biases() -> dict[str, Tensor]:
    torch.manual_seed(5)
    full = (NUM_SENTENCES, NUM_QUERIES, NUM_KEYS)
    shapes = {"own": full, "shared": (1, *full[1:]), "by key": (1, 1, NUM_KEYS)}
    return {name: torch.randn(shape) for name, shape in shapes.items()}


every_bias = pytest.mark.parametrize("shift", biases().values(), ids=biases().keys())


@every_mask
@every_bias
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_bias_of_the_logits(mask, shift, causal):
    shift = shift.clone().requires_grad_()
    sources = [*inputs(), shift]
    triangle = causal_mask(NUM_QUERIES, NUM_KEYS)
    seen = mask if not causal else triangle if mask is None else mask & triangle
    slow = reference.attend(*sources[:3], bias=shift, mask=seen)
    fast = attend(*sources[:3], bias=shift, mask=seen)
    assert_same(fast, sources, slow, sources, tolerance=1e-5)
    fused = fused_attend(*sources[:3], bias=shift, mask=mask, causal=causal)
    assert_same([fused], sources, [slow.mixed], sources, tolerance=1e-5)


@every_mask
def test_bias_in_float32_beside_bfloat16(mask):
    shift = biases()["own"]
    sources = inputs(dtype=torch.bfloat16)
    full = [tensor.detach().float().requires_grad_() for tensor in sources]
    slow = reference.attend(*full, bias=shift, mask=mask)
    fast = attend(*sources, bias=shift, mask=mask)
    assert fast.mixed.dtype == torch.bfloat16
    assert_same(fast, sources, slow, full, tolerance=0.04)
    fused = fused_attend(*sources, bias=shift, mask=mask)
    assert_same([fused], sources, [slow.mixed], full, tolerance=0.04)


@every_mask
@pytest.mark.parametrize("num_shifts", [1, 2], ids=["one for all heads", "one for each head"])
def test_bias_of_every_head(mask, num_shifts):
    query, key, value = inputs(key_size=3)
    shift = torch.randn(1, num_shifts, NUM_QUERIES, NUM_KEYS).requires_grad_()
    layer = MultiHead(QUERY_SIZE, 2, key_size=3, value_size=VALUE_SIZE).eval()
    sources = [query, key, value, shift, *layer.parameters()]
    slow = reference.multi_head(layer, query, key, value, bias=shift, mask=mask)
    memory = layer.remember(key, value)
    fast = layer.attend(query, memory, bias=shift, mask=mask)
    assert_same(fast, sources, slow, sources, tolerance=1e-5)
    mixed = layer.mix(query, memory, bias=shift, mask=mask)
    assert_same([mixed], sources, [slow.mixed], sources, tolerance=1e-5)


@every_score
@every_mask
def test_hard(case, mask):
    query, key, value = inputs(case.key_size)
    score = case.build()
    fast = hard_attend(query, key, value, score=score, mask=mask)
    slow = reference.attend(
        query, key, value, score=case.oracle(score), mask=mask, weigh=reference.hardmax
    )
    assert fast.weights.equal(slow.weights)
    assert_same([fast.mixed], [value], [slow.mixed], [value], tolerance=1e-6)


@every_score
@every_mask
def test_straight_through(case, mask):
    query, key, value = inputs(case.key_size)
    score = case.build()
    fast = straight_through(query, key, value, score=score, mask=mask)
    oracle = case.oracle(score)
    hard = reference.attend(
        query, key, value, score=oracle, mask=mask, weigh=reference.hardmax
    ).weights
    soft = reference.attend(query, key, value, score=oracle, mask=mask).weights
    weights = hard + soft - soft.detach()
    slow = Attended(weights @ value, weights)
    sources = [query, key, value, *parameters_of(score)]
    assert_same(fast, sources, slow, sources, tolerance=1e-5)


@every_mask
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_multi_head(mask, bias):
    query, key, value = inputs(key_size=3)
    layer = MultiHead(QUERY_SIZE, 2, key_size=3, value_size=VALUE_SIZE, bias=bias).eval()
    sources = [query, key, value, *layer.parameters()]
    slow = reference.multi_head(layer, query, key, value, mask=mask)
    fast = layer(query, key, value, mask=mask)
    assert_same(fast, sources, slow, sources, tolerance=1e-5)
    mixed = layer.mix(query, layer.remember(key, value), mask=mask)
    assert_same([mixed], sources, [slow.mixed], sources, tolerance=1e-5)


@pytest.mark.parametrize("lengths", [(4, 4), (4, 2)], ids=["whole", "padded"])
def test_multi_head_step_by_step_through_the_cache(lengths):
    torch.manual_seed(7)
    words = torch.randn(NUM_SENTENCES, NUM_KEYS, QUERY_SIZE, requires_grad=True)
    layer = MultiHead(QUERY_SIZE, 2).eval()
    sources = [words, *layer.parameters()]
    mask = padding(*lengths) & causal_mask(NUM_KEYS, NUM_KEYS)
    slow = reference.multi_head(layer, words, words, words, mask=mask).mixed
    past, steps = None, []
    for time, word in enumerate(words.split(1, dim=1)):
        past = layer.remember(word, word, past=past)
        steps.append(layer.mix(word, past, mask=padding(*lengths)[..., : time + 1]))
    assert_same([torch.cat(steps, dim=1)], sources, [slow], sources, tolerance=1e-5)


@given(
    batch=st.lists(st.integers(1, 2), max_size=2),
    num_queries=st.integers(0, 3),
    num_keys=st.integers(0, 4),
    widths=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 999),
)
@settings(max_examples=50, deadline=None)
def test_any_shape(batch, num_queries, num_keys, widths, seed):
    torch.manual_seed(seed)
    width, value_size = widths
    query, key = torch.randn(*batch, num_queries, width), torch.randn(*batch, num_keys, width)
    value = torch.randn(*batch, num_keys, value_size)
    mask = torch.rand(*batch, num_queries, num_keys) < 0.6
    sources = [tensor.requires_grad_() for tensor in (query, key, value)]
    slow = reference.attend(*sources, mask=mask)
    assert_same(attend(*sources, mask=mask), sources, slow, sources, tolerance=1e-5)
    fused = fused_attend(*sources, mask=mask)
    assert_same([fused], sources, [slow.mixed], sources, tolerance=1e-5)


def test_the_oracle_by_hand():
    """Who judges is judged: two keys whose logits differ by ln 3 share the weight 1 : 3."""
    query = torch.tensor([[1.0]])
    key = torch.tensor([[0.0], [math.log(3.0)]])
    value = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    mixed, weights = reference.attend(query, key, value, score=reference.dot)
    torch.testing.assert_close(weights, torch.tensor([[0.25, 0.75]]))
    torch.testing.assert_close(mixed, torch.tensor([[1.0, 6.0]]))

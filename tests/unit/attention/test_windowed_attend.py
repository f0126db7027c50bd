"""Self-attention in a window: chunk by chunk the same as all pairs under a mask."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.attention import (
    MultiHead,
    Packing,
    Window,
    fused_attend,
    near_mask,
    packed_attend,
    windowed,
    windowed_attend,
)

EXACT = {"rtol": 1e-9, "atol": 1e-10}


def random_parts(*sizes, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(*sizes, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def in_plain_loops(query, key, value, window, real):
    """What each query of one sequence mixes, one key after the other."""
    rows = []
    for place in range(len(query)):
        seen = [
            other
            for other in range(len(key))
            if real[other]
            and (abs(place - other) <= window.radius or min(place, other) < window.num_global)
        ]
        raised = [
            math.exp(float(query[place] @ key[other]) / math.sqrt(len(query[place])))
            for other in seen
        ]
        mixed = [
            share / sum(raised) * value[other] for share, other in zip(raised, seen, strict=True)
        ]
        rows.append(sum(mixed, torch.zeros_like(value[0])))
    return torch.stack(rows)


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(1, 24),
    radius=st.integers(1, 5),
    num_global=st.integers(0, 2),
    data=st.data(),
)
def test_it_is_what_plain_loops_say(length, radius, num_global, data):
    real = torch.tensor(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    parts = [part.detach() for part in random_parts(length, 4)]
    window = Window(radius, num_global)
    found = windowed_attend(*parts, window, mask=real)
    torch.testing.assert_close(found, in_plain_loops(*parts, window, real), **EXACT)


@pytest.mark.parametrize("num_global", [0, 1])
@pytest.mark.parametrize("length", [5, 23, 24])
def test_gradients_are_those_of_the_mask(length, num_global):
    window = Window(3, num_global)
    mask = torch.arange(length) < torch.tensor([[length], [length - 2]])
    parts = random_parts(2, 2, length, 4)
    found = windowed_attend(*parts, window, mask=mask.unsqueeze(1))
    seen = near_mask(length, window) & mask[:, None, None]
    wanted = fused_attend(*parts, mask=seen)
    torch.testing.assert_close(found, wanted, **EXACT)
    for one, other in zip(
        torch.autograd.grad(found.square().sum(), parts),
        torch.autograd.grad(wanted.square().sum(), parts),
        strict=True,
    ):
        torch.testing.assert_close(one, other, **EXACT)


def test_pairs_grow_with_the_length_and_not_with_its_square(monkeypatch):
    pairs = []

    def counted(query, key, value, **settings):
        rows = query.shape[:-2].numel()
        pairs.append(rows * query.shape[-2] * key.shape[-2])
        return fused_attend(query, key, value, **settings)

    monkeypatch.setattr(windowed, "fused_attend", counted)
    totals = []
    for length in (64, 128, 256):
        pairs.clear()
        windowed_attend(*random_parts(length, 4), Window(8, num_global=1))
        totals.append(sum(pairs))
    assert totals == [length * (3 * 8 + 1) + length for length in (64, 128, 256)]


def test_sequences_end_to_end_are_answered_as_if_alone():
    lengths, window = [23, 2, 0, 9], Window(2, num_global=1)
    parts = random_parts(sum(lengths), 2, 4)
    found = packed_attend(*parts, Packing.of(lengths), window=window)
    alone = [
        windowed_attend(*(each.transpose(0, 1) for each in each_part), window).transpose(0, 1)
        for each_part in zip(*(part.split(lengths) for part in parts), strict=True)
        if len(each_part[0])
    ]
    torch.testing.assert_close(found, torch.cat(alone), **EXACT)


def test_heads_ask_their_window():
    torch.manual_seed(1)
    heads, states = MultiHead(8, 2).eval(), torch.randn(2, 20, 8)
    real = torch.arange(20) < torch.tensor([[20], [15]])
    window, memory = Window(2, num_global=1), heads.remember(states, states)
    found = heads.mix_near(states, memory, window, mask=real)
    seen = near_mask(20, window) & real.unsqueeze(1)
    torch.testing.assert_close(found, heads.mix(states, memory, mask=seen))


@pytest.mark.parametrize("settings", [(0,), (-1,), (2, -1)])
def test_a_window_that_is_none_is_refused(settings):
    with pytest.raises(ValueError, match="radius must be at least 1"):
        Window(*settings)

"""Every row once, in an order that seed and epoch determine, with little padding."""

import pytest
import torch

from softquery.data import bucketed, budgeted, in_order, round_up


def lengths_of(count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(count, generator=generator).square() * 38).long() + 2


def planned(lengths, **changes):
    settings = {"batch_size": 16, "seed": 1, "epoch": 0, "pad_multiple": 1, **changes}
    return bucketed(lengths, **settings)


def rows_of(slots):
    return [slot.rows.tolist() for slot in slots]


def waste(slots, lengths):
    """Share of the places of all batches that hold padding."""
    return 1 - int(lengths.sum()) / sum(len(slot.rows) * slot.length for slot in slots)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000])
def test_every_row_comes_once(count):
    slots = planned(lengths_of(count), pool=3)
    assert sorted(row for rows in rows_of(slots) for row in rows) == list(range(count))
    assert all(1 <= len(slot.rows) <= 16 for slot in slots)


def test_only_the_end_of_the_pools_makes_a_small_batch():
    slots = planned(lengths_of(1000), pool=3)
    assert sorted(len(slot.rows) for slot in slots) == [8, *[16] * 62]


def test_a_batch_is_as_long_as_its_longest_row_rounded_up():
    lengths = lengths_of(200)
    for slot in planned(lengths, pad_multiple=8):
        assert slot.length == round_up(int(lengths[slot.rows].max()), 8)


def test_seed_and_epoch_determine_the_batches():
    lengths = lengths_of(500)
    assert rows_of(planned(lengths, epoch=3)) == rows_of(planned(lengths, epoch=3))
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert rows_of(planned(lengths, epoch=3)) == rows_of(planned(lengths, epoch=3))
    assert torch.equal(torch.get_rng_state(), before)


def test_epochs_and_seeds_differ():
    lengths = lengths_of(500)
    plans = [
        rows_of(planned(lengths, seed=seed, epoch=epoch)) for seed in (1, 2) for epoch in (0, 1)
    ]
    for place, plan in enumerate(plans):
        assert plan not in plans[:place]
    together = {frozenset(rows) for rows in plans[0]} & {frozenset(rows) for rows in plans[1]}
    assert len(together) < 3  # not only the order of batches changes, but who meets whom


def test_long_and_short_batches_come_mixed():
    """Lengths fall within a pool; the batches must not arrive in that order."""
    lengths = [slot.length for slot in planned(lengths_of(800))]
    assert lengths != sorted(lengths)
    assert lengths != sorted(lengths, reverse=True)


def test_padding_is_little():
    lengths = lengths_of(5000)
    sorted_pools, no_pools = planned(lengths), planned(lengths, pool=1)
    assert waste(sorted_pools, lengths) < 0.05
    assert waste(no_pools, lengths) > 0.4
    assert waste(planned(lengths, pad_multiple=8), lengths) < 0.25


def test_in_order_is_longest_first_and_whole():
    lengths = lengths_of(100)
    slots = list(in_order(lengths, batch_size=16, pad_multiple=1))
    rows = [row for batch in rows_of(slots) for row in batch]
    assert sorted(rows) == list(range(100))
    assert lengths[rows].tolist() == sorted(lengths.tolist(), reverse=True)
    assert [slot.length for slot in slots] == sorted((s.length for s in slots), reverse=True)


def test_no_rows_make_no_batches():
    nothing = torch.empty(0, dtype=torch.int64)
    assert planned(nothing) == []
    assert list(in_order(nothing, batch_size=4)) == []


def test_sentences_without_tokens_are_padded_to_one_place():
    slot = next(in_order(torch.tensor([0, 0]), batch_size=4, pad_multiple=1))
    assert slot.length == 1


@pytest.mark.parametrize(
    ("length", "multiple", "wanted"), [(0, 1, 1), (1, 1, 1), (7, 8, 8), (8, 8, 8), (9, 8, 16)]
)
def test_rounding_up(length, multiple, wanted):
    assert round_up(length, multiple) == wanted


def budget_of(lengths, **changes):
    return budgeted(lengths, **{"num_tokens": 256, "seed": 1, "epoch": 0, **changes})


@pytest.mark.parametrize("count", [0, 1, 31, 1000])
def test_a_budget_takes_every_row_once(count):
    slots = budget_of(lengths_of(count))
    assert sorted(row for rows in rows_of(slots) for row in rows) == list(range(count))


def test_a_budget_is_kept_and_used():
    lengths = lengths_of(1000)
    slots = budget_of(lengths)
    sizes = {slot.length: 256 // slot.length for slot in slots}
    small = [slot for slot in slots if len(slot.rows) != sizes[slot.length]]
    assert len(small) <= 1
    for slot in slots:
        assert len(slot.rows) * slot.length <= 256
        assert int(lengths[slot.rows].max()) <= slot.length
        assert slot.length % 8 == 0


def test_a_budget_has_as_many_shapes_as_padded_lengths():
    lengths = lengths_of(1000)
    padded = {round_up(int(length), 8) for length in lengths}
    for epoch in range(3):
        shapes = {(len(slot.rows), slot.length) for slot in budget_of(lengths, epoch=epoch)}
        assert len(shapes) <= len(padded) + 1


def test_a_row_beyond_the_budget_is_a_batch():
    slots = budget_of(torch.tensor([300, 5, 5]))
    assert sorted((len(slot.rows), slot.length) for slot in slots) in (
        [(1, 304), (2, 8)],
        [(1, 304), (1, 304), (1, 304)],
        [(1, 304), (2, 304)],
    )
    assert any(slot.rows.tolist() == [0] for slot in slots) or len(slots) == 3


def test_budgets_are_determined_by_seed_and_epoch():
    lengths = lengths_of(500)
    plans = [rows_of(budget_of(lengths, seed=seed, epoch=epoch)) for seed, epoch in
             ((1, 0), (1, 0), (1, 1), (2, 0))]  # fmt: skip
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]
    assert plans[0] != plans[3]


def test_a_budget_pads_little():
    lengths = lengths_of(1000)
    assert waste(budget_of(lengths, pad_multiple=4, num_tokens=512), lengths) < 0.2


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(ValueError, match="num_tokens must be positive, got 0"):
        budget_of(lengths_of(3), num_tokens=0)

"""Batches with hidden words: laid out exactly, hidden as asked, the same for the same salt."""

import numpy as np
import pytest
import torch

from random_documents import DOCUMENTS, PIECES, PIPELINE
from softquery.data import NONE, MaskedText, Masking, bin_rows, bin_slots
from softquery.data.document_text import FOLLOWS, SECOND_SIZE, SECOND_START, SIZE, START

PAD, CLS, SEP, MASK = 0, 2, 3, 4
CONTINUED = [PIECES.index("##x"), PIECES.index("##y")]
SHOWN = Masking(as_mask=0.0, as_random=0.0)
"""Foretell, but hide nothing: what was laid out can be read off."""


def described(length, *, pairs, salt=7):
    draw = np.random.default_rng(2)
    found = DOCUMENTS.pairs(length - 3, draw) if pairs else DOCUMENTS.excerpts(length - 2)
    return bin_rows(found, length, salt=salt, draw=draw), found


def batch_of(masking, *, length=24, pairs=True, salt=7):
    rows, _ = described(length, pairs=pairs, salt=salt)
    return MaskedText.of(DOCUMENTS.ids, PIPELINE, masking).batch(rows, length)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("length", [16, 24, 100])
def test_bins_hold_the_excerpts_between_their_marks(pairs, length):
    rows, found = described(length, pairs=pairs)
    batch = MaskedText.of(DOCUMENTS.ids, PIPELINE, SHOWN).batch(rows, length)
    text = DOCUMENTS.ids.tolist()
    wanted = []
    for row in found.tolist():
        first = text[row[START] : row[START] + row[SIZE]]
        second = text[row[SECOND_START] : row[SECOND_START] + row[SECOND_SIZE]]
        ids = [CLS, *first, SEP, *([*second, SEP] if second else [])]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1 if second else 0)
        wanted.append((ids, segments, row[FOLLOWS] if second else NONE))
    tokens, starts = batch.tokens, batch.tokens.packing.starts.tolist()
    assert len(tokens.ids) == rows.shape[0] * length == starts[-1]
    assert tokens.packing.longest == length
    got = []
    for place, (start, end) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        assert tokens.positions[start:end].tolist() == list(range(end - start))
        ids, follows = tokens.ids[start:end].tolist(), int(batch.follows[place])
        if not ids or set(ids) == {PAD}:
            assert follows == NONE
            continue
        got.append((ids, tokens.segments[start:end].tolist(), follows))
        assert int(batch.firsts[place]) == start
    assert sorted(got) == sorted(wanted)


@pytest.mark.parametrize("unit", ["pieces", "words"])
def test_hidden_words_are_so_many_and_replaced_in_these_shares(unit):
    plain = batch_of(SHOWN).tokens.ids
    batch = batch_of(Masking(unit=unit))
    counts = batch.targets != NONE
    num_text = int((plain >= 5).sum())
    slack = 0 if unit == "pieces" else 30  # of a word that would be cut, nothing is taken
    assert 0 <= round(0.15 * num_text) - int(counts.sum()) <= slack
    places, targets = batch.places[counts], batch.targets[counts]
    assert len(set(batch.places.tolist())) == len(batch.places)
    assert torch.equal(plain[places], targets)
    assert (targets >= 5).all()
    changed = plain != batch.tokens.ids
    assert set(changed.nonzero().flatten().tolist()) <= set(places.tolist())
    shown = batch.tokens.ids[places]
    share = lambda which: float(which.double().mean())  # noqa: E731
    assert share(shown == MASK) == pytest.approx(0.8, abs=0.05)
    others = (shown != MASK) & (shown != targets)
    assert share(others) == pytest.approx(0.1, abs=0.04)
    assert (shown[shown != MASK] >= 5).all()  # never another reserved token


def test_all_pieces_of_a_word_are_hidden_or_none():
    plain = batch_of(SHOWN).tokens
    batch = batch_of(Masking(unit="words"))
    chosen = set(batch.places[batch.targets != NONE].tolist())
    goes_on = torch.isin(plain.ids, torch.tensor(CONTINUED))
    opens = (plain.positions <= 1) | (plain.segments.diff(prepend=plain.segments[:1]) != 0)
    broken = [
        place
        for place in (goes_on & ~opens).nonzero().flatten().tolist()
        if (place in chosen) != (place - 1 in chosen)
    ]
    assert broken == []
    alone = batch_of(Masking(unit="pieces"))
    assert chosen != set(alone.places[alone.targets != NONE].tolist())


def test_what_is_hidden_follows_from_the_salt_and_the_place_alone():
    first, again, other = (batch_of(Masking(), salt=salt) for salt in (7, 7, 8))
    assert torch.equal(first.tokens.ids, again.tokens.ids)
    assert not torch.equal(first.tokens.ids, other.tokens.ids)
    rows, _ = described(24, pairs=True)
    text = MaskedText.of(DOCUMENTS.ids, PIPELINE, Masking())
    whole, part = text.batch(rows, 24), text.batch(rows[:20], 24)
    shown = whole.tokens.ids[: 20 * 24] == part.tokens.ids
    assert shown.double().mean() > 0.95  # but for those at the edge of the share


def test_a_text_on_another_device_makes_the_same_batch():
    """As a mapped text is asked from a GPU; here both are the CPU."""
    rows, _ = described(24, pairs=True)
    one = MaskedText.of(DOCUMENTS.ids, PIPELINE, Masking()).batch(rows, 24)
    two = MaskedText.of(DOCUMENTS.ids.clone(), PIPELINE, Masking()).batch(rows.clone(), 24)
    assert torch.equal(one.tokens.ids, two.tokens.ids)


def test_batches_are_equally_large_and_leave_out_a_rest():
    rows, _ = described(24, pairs=True)
    slots = bin_slots(rows, 24, 32)
    assert {len(slot.rows) for slot in slots} == {32}
    assert len(slots) == len(rows) // 32
    assert [len(slot.rows) for slot in bin_slots(rows[:10], 24, 32)] == [10]
    assert bin_slots(rows[:0], 24, 32) == []


def test_a_tiny_text_still_hides_a_word():
    text = MaskedText.of(torch.tensor([5, 6, 7]), PIPELINE, Masking())
    found = np.array([[0, 3, 0, 0, -1]])
    batch = text.batch(bin_rows(found, 8, salt=1, draw=np.random.default_rng(0)), 8)
    assert (batch.targets != NONE).sum() == 1
    assert batch.follows.tolist() == [NONE] * 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0.0}, "share must be between 0 and 1, got 0.0"),
        ({"as_mask": 0.95}, r"as_mask \(0.95\) and as_random \(0.1\) must be shares of 1"),
        ({"as_random": -0.1}, "must be shares of 1"),
    ],
)
def test_masking_refuses_what_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        Masking(**settings)


@pytest.mark.parametrize("pairs", [True, False])
def test_with_nothing_hidden_every_next_piece_is_asked_for(pairs):
    batch = batch_of(None, pairs=pairs)
    ids, targets = batch.tokens.ids, batch.targets
    assert torch.equal(ids, batch_of(SHOWN, pairs=pairs).tokens.ids)
    assert torch.equal(batch.places, torch.arange(len(ids) - 1))
    follows = ids[1:]
    is_text = follows >= 5  # neither a mark nor padding
    assert torch.equal(targets[is_text], follows[is_text])
    assert (targets[~is_text] == NONE).all()
    begins = batch.tokens.packing.starts[1:-1].long()
    begins = begins[(begins > 0) & (begins < len(ids))]
    assert (targets[begins - 1] == NONE).all()  # another excerpt's first mark is not predicted

"""From rows of a file to batches of pairs, and what is held back of them."""

import pytest
import torch

from softquery.data import Pairs, Sentences, encode_pairs, first_sentence, split_rows
from softquery.errors import InputError
from softquery.files import Row
from softquery.tasks import PairClassification, PairGrading
from softquery.text import TextConfig, build_pipeline, unspell

TASK = PairClassification(labels=("no", "yes"))


def row(first, second, label="no", number=2):
    values = {"sentence1": first, "sentence2": second, "label": label}
    return Row(values, number, "pairs.tsv")


def pipeline(**settings):
    return build_pipeline(["a man eats", "someone sleeps"], TextConfig(**settings))


def test_rows_become_ids_and_class_numbers():
    made, rows = pipeline(), [row("A man eats", "someone"), row("sleeps", "", "yes")]
    pairs = encode_pairs(rows, made, parse_label=TASK.parse_label)
    assert len(pairs) == 2
    assert pairs.label.tolist() == [0, 1]
    assert pairs.label.dtype == torch.int64
    assert pairs.lengths().tolist() == [3, 1]
    batch = pairs.batch(torch.tensor([1, 0]), 3)
    assert batch.size == 2
    assert batch.first.ids.tolist() == [
        [made.token_id("sleeps"), 0, 0],
        [made.token_id(word) for word in ("a", "man", "eats")],
    ]
    assert batch.second.mask.sum(dim=1).tolist() == [0, 1]
    assert batch.label.tolist() == [1, 0]


def test_grades_become_floats():
    rows = [row("a", "man", "5"), row("a", "man", "1.25")]
    pairs = encode_pairs(rows, pipeline(), parse_label=PairGrading(low=0, high=5).parse_label)
    assert pairs.label.dtype == torch.float32
    assert pairs.label.tolist() == [1.0, 0.25]


def test_a_wrong_label_is_named_by_file_and_row():
    rows = [row("a", "man"), row("a", "man", "maybe", number=3)]
    with pytest.raises(InputError, match=r"pairs\.tsv, row 3: label 'maybe' is not one of no, yes"):
        encode_pairs(rows, pipeline(), parse_label=TASK.parse_label)


def test_cut_sentences_are_counted():
    rows = [row("a man eats", "a man"), row("a man eats", "someone sleeps a man")]
    pairs = encode_pairs(rows, pipeline(max_tokens=2), parse_label=TASK.parse_label)
    assert pairs.num_cut == 3
    assert pairs.lengths().tolist() == [2, 2]
    assert encode_pairs(rows, pipeline(), parse_label=TASK.parse_label).num_cut == 0


def test_many_rows_are_encoded_in_chunks(monkeypatch):
    monkeypatch.setattr("softquery.data.pairs.CHUNK", 4)
    rows = [row("a man" if place % 3 else "eats", "someone", "yes") for place in range(10)]
    pairs = encode_pairs(iter(rows), pipeline(), parse_label=TASK.parse_label)
    assert pairs.first.lengths.tolist() == [2 if place % 3 else 1 for place in range(10)]


def test_no_rows_make_no_pairs():
    pairs = encode_pairs([], pipeline(), parse_label=TASK.parse_label)
    assert len(pairs) == 0
    assert pairs.lengths().tolist() == []


def test_a_move_keeps_everything():
    pairs = Pairs(Sentences.pack([[1]]), Sentences.pack([[2, 3]]), torch.tensor([1]), 5)
    moved = pairs.to("cpu")
    assert (len(moved), moved.num_cut, moved.label.tolist()) == (1, 5, [1])
    assert moved.batch(torch.tensor([0]), 2).second.ids.tolist() == [[2, 3]]


def premises(count, hypotheses=3):
    """Rows whose pairs of one premise do not stand side by side."""
    return [
        row(f"premise {place}", f"hypothesis {turn}", number=turn * count + place)
        for turn in range(hypotheses)
        for place in range(count)
    ]


def firsts(rows):
    return {each.values["sentence1"] for each in rows}


def test_pairs_of_one_premise_stay_together():
    kept, held = split_rows(premises(100), key=first_sentence, share=0.1, seed=1)
    assert len(firsts(held)) == 10
    assert (len(kept), len(held)) == (270, 30)
    assert not firsts(kept) & firsts(held)


def test_the_order_of_the_file_is_kept():
    rows = premises(50)
    kept, held = split_rows(rows, key=first_sentence, share=0.3, seed=1)
    for part in (kept, held):
        numbers = [each.number for each in part]
        assert numbers == sorted(numbers)
    assert sorted([*kept, *held], key=lambda each: each.number) == rows


def test_a_seed_determines_who_is_held_back():
    rows = premises(100)
    assert split_rows(rows, key=first_sentence, share=0.1, seed=1) == split_rows(
        rows, key=first_sentence, share=0.1, seed=1
    )
    assert firsts(split_rows(rows, key=first_sentence, share=0.1, seed=1)[1]) != firsts(
        split_rows(rows, key=first_sentence, share=0.1, seed=2)[1]
    )


@pytest.mark.parametrize(("count", "wanted"), [(0, 0), (1, 0), (9, 0), (11, 1), (19, 1), (20, 1)])
def test_few_rows_hold_back_few_or_none(count, wanted):
    rows = premises(count, hypotheses=1)
    kept, held = split_rows(rows, key=first_sentence, share=0.05, seed=1)
    assert (len(kept), len(held)) == (count - wanted, wanted)


def taught(probabilities, label="no", number=2):
    made = row("a man", "eats", label, number)
    return Row({**made.values, "probabilities": probabilities}, made.number, made.source)


def test_a_teachers_probabilities_stand_for_the_label_where_there_are_some():
    rows = [taught('{"yes": 0.75, "no": 0.25}'), taught(" ", "yes"), row("a", "man")]
    pairs = encode_pairs(
        rows,
        pipeline(),
        parse_label=TASK.parse_label,
        parse_distribution=TASK.parse_distribution,
    )
    assert pairs.label.tolist() == [[0.25, 0.75], [0.0, 1.0], [1.0, 0.0]]
    assert pairs.batch(torch.tensor([1]), 2).label.tolist() == [[0.0, 1.0]]
    unread = encode_pairs(rows, pipeline(), parse_label=TASK.parse_label)
    assert unread.label.tolist() == [0, 1, 0]


def test_wrong_probabilities_are_named_by_file_and_row():
    rows = [taught('{"yes": 1}'), taught('{"maybe": 1}', number=3)]
    with pytest.raises(InputError, match=r"pairs\.tsv, row 3: label 'maybe' is not one of no, yes"):
        encode_pairs(
            rows,
            pipeline(),
            parse_label=TASK.parse_label,
            parse_distribution=TASK.parse_distribution,
        )


def test_chosen_pairs_of_a_batch_change_sides():
    pairs = Pairs(
        Sentences.pack([[5, 6], [7]]), Sentences.pack([[8], [9, 10]]), torch.tensor([0, 1])
    )
    batch = pairs.batch(torch.tensor([0, 1]), 2)
    swapped = batch.swapped(torch.tensor([False, True]))
    assert swapped.first.ids.tolist() == [[5, 6], [9, 10]]
    assert swapped.second.ids.tolist() == [[8, 0], [7, 0]]
    assert swapped.second.mask.tolist() == [[True, False], [True, False]]
    assert swapped.label.tolist() == [0, 1]


@pytest.mark.parametrize("boundaries", [False, True])
def test_words_that_are_spelt_are_never_unknown(boundaries):
    made = pipeline(boundaries=boundaries, max_tokens=5)
    rows = [row("A man zebra eats", "a zebra"), row("someone gnu", "a man eats a man eats", "yes")]
    closed = encode_pairs(rows, made, parse_label=TASK.parse_label)
    pairs = encode_pairs(rows, made, parse_label=TASK.parse_label, max_characters=9)
    assert closed.lexicon is None
    assert closed.num_cut == pairs.num_cut > 0
    every = torch.arange(len(rows))
    known, batch = closed.batch(every, 6), pairs.batch(every, 6)
    for side in ("first", "second"):
        ours, theirs = getattr(batch, side), getattr(known, side)
        assert torch.equal(ours.mask, theirs.mask)
        assert torch.equal(batch.lexicon.words[ours.ids], theirs.ids)  # as the table has them
    spelt = {unspell(symbols) for symbols in batch.lexicon.characters[4:].tolist()}
    assert spelt >= {"zebra", "gnu", "man"}
    both = [batch.first.ids[0], batch.first.ids[1]]
    assert both[0][2 + boundaries] != both[1][1 + boundaries]  # "zebra" and "gnu"
    turned = batch.swapped(torch.tensor([True, False]))
    assert turned.lexicon is batch.lexicon
    assert torch.equal(turned.first.ids[0], batch.second.ids[0])
    assert pairs.to("cpu").lexicon.words.tolist() == pairs.lexicon.words.tolist()

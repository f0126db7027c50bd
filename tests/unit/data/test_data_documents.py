"""Documents as tensors, and batches of documents of like shape."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.data import Documents, DocumentShape, document_slots, encode_ids, encode_labels
from softquery.data.documents import padded_count
from softquery.errors import InputError
from softquery.files import Row

few = settings(max_examples=50, deadline=None)
sentences = st.lists(st.integers(4, 99), min_size=1, max_size=9)
documents = st.lists(st.lists(sentences, max_size=7), max_size=12)


def drawn(count, seed=1):
    generator = torch.Generator().manual_seed(seed)

    def number(most):
        return int(torch.randint(1, most, (), generator=generator))

    return [[[5] * number(40) for _ in range(number(30))] for _ in range(count)]


def slots_of(packed, **changes):
    limits = {"batch_size": 16, "num_tokens": 4096, "seed": 1, **changes}
    return document_slots(packed.shapes(16), **limits)


@few
@given(documents)
def test_every_word_is_where_it_was(found):
    packed = Documents.pack(found)
    assert len(packed) == len(found)
    for row, document in enumerate(found):
        batch = packed.batch(torch.tensor([row]), DocumentShape(8, 10).as_length)
        assert batch.ids.shape == (1, 8, 10)
        words = [[int(word) for word in sentence[mask]] for sentence, mask in
                 zip(batch.ids[0], batch.mask[0], strict=True)]  # fmt: skip
        assert words == [*document, *[[]] * (8 - len(document))]
        assert batch.sentence_mask.sum() == len(document)
        assert not batch.ids[~batch.mask].any()


def test_shapes_are_told_as_one_number():
    for shape in (DocumentShape(1, 1), DocumentShape(64, 48), DocumentShape(1000, 65_535)):
        assert DocumentShape.of_length(shape.as_length) == shape
    assert DocumentShape(3, 4).num_tokens == 12


def test_counts_are_rounded_up_to_few_numbers():
    found = {padded_count(count) for count in range(1, 65)}
    assert sorted(found) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    assert all(count <= padded_count(count) < 1.5 * count + 1 for count in range(1, 300))


@pytest.mark.parametrize("count", [0, 1, 7, 200])
def test_every_document_comes_once(count):
    packed = Documents.pack(drawn(count))
    for seed in (None, 1):
        slots = slots_of(packed, seed=seed)
        assert sorted(row for slot in slots for row in slot.rows.tolist()) == list(range(count))


def test_batches_hold_no_more_than_they_may_and_fit_their_documents():
    packed = Documents.pack(drawn(300))
    for slot in slots_of(packed):
        shape = DocumentShape.of_length(slot.length)
        assert len(slot.rows) <= 16
        assert len(slot.rows) * shape.num_tokens <= 4096 or len(slot.rows) == 1
        wanted = packed.shapes(16)[slot.rows].amax(dim=0)
        assert (wanted <= torch.tensor(shape)).all()
        assert packed.batch(slot.rows, slot.length).mask.sum() == sum(
            int(packed.sentences.lengths[start : start + size].sum())
            for start, size in zip(packed.starts[slot.rows], packed.counts[slot.rows], strict=True)
        )


def test_epochs_have_other_batches_of_the_same_shapes():
    packed = Documents.pack(drawn(300))
    epochs = [slots_of(packed, epoch=epoch) for epoch in (0, 0, 1)]
    rows = [[slot.rows.tolist() for slot in slots] for slots in epochs]
    assert rows[0] == rows[1] != rows[2]
    shapes = [sorted((len(slot.rows), slot.length) for slot in slots) for slots in epochs]
    assert shapes[0] == shapes[2]
    assert len(set(shapes[0])) < 40  # each is recorded once


def test_a_document_larger_than_the_budget_is_a_batch():
    packed = Documents.pack([[[5] * 40] * 30, [[5]]])
    slots = slots_of(packed, num_tokens=64)
    assert sorted(len(slot.rows) for slot in slots) == [1, 1]


def test_documents_of_nothing():
    packed = Documents.pack([[], []])
    batch = packed.batch(torch.tensor([1, 0]), DocumentShape(2, 3).as_length)
    assert batch.ids.shape == (2, 2, 3)
    assert not batch.mask.any()
    assert packed.shapes(16).tolist() == [[1, 16], [1, 16]]


def test_labels_come_along_to_another_device_too():
    packed = Documents.pack([[[4]], [[5]]])
    labelled = Documents(packed.sentences, packed.starts, packed.counts, torch.tensor([2, 1]), 1)
    assert labelled.to("cpu").batch(
        torch.tensor([1]), DocumentShape(1, 1).as_length
    ).label.tolist() == [1]
    assert labelled.to("cpu").num_cut == 1
    assert packed.batch(torch.tensor([1]), DocumentShape(1, 1).as_length).label is None


def test_ids_of_a_vocabulary_are_their_own_lexicon():
    batch = encode_ids([[4, 5], []], vocab_size=7).batch(torch.arange(2), 3)
    assert torch.equal(batch.lexicon.words[batch.tokens.ids], batch.tokens.ids)
    assert batch.tokens.mask.tolist() == [[True, True, False], [False] * 3]


def rows(*values):
    return [Row(each, number, "rows.tsv") for number, each in enumerate(values, 2)]


def parse(text):
    if text not in "ab":
        raise ValueError(f"label {text!r} is not one of a, b")
    return "ab".index(text)


def test_labels_are_classes_or_distributions():
    plain = rows({"label": "b"}, {"label": "a", "probabilities": "0.3"})
    assert encode_labels(plain, parse_label=parse).tolist() == [1, 0]
    soft = encode_labels(
        plain, parse_label=parse, parse_distribution=lambda text: [1 - float(text), float(text)]
    )
    torch.testing.assert_close(soft, torch.tensor([[0.0, 1.0], [0.7, 0.3]]))
    with pytest.raises(InputError, match="rows.tsv, row 3: label 'c' is not one of a, b"):
        encode_labels(rows({"label": "a"}, {"label": "c"}), parse_label=parse)

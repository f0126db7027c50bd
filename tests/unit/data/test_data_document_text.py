"""Documents: numbered, cut into excerpts, paired, on the disk and back."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.data import DocumentText, is_document_corpus, read_documents, write_documents
from softquery.data.document_corpus import document_fingerprint
from softquery.data.document_text import FOLLOWS, NO_PAIR, SECOND_SIZE, SECOND_START, SIZE, START
from softquery.errors import BundleError, InputError
from softquery.files import DocumentLine
from softquery.text import TextConfig, build_pipeline

TEXT = [
    DocumentLine("= Cats =", True),
    DocumentLine("A cat sat. (It sat!) So said the dog.", False),
    DocumentLine("The dog ran? Yes. The end.", False),
    DocumentLine("Birds fly. 鸟会飞。真的！", True),
    DocumentLine("\u200b", True),
    DocumentLine("And more", False),
]
CONFIG = TextConfig(unit="bert", boundaries=True, max_tokens=64)


def documents(sizes, sentences=()):
    starts = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))]).astype(np.int64)
    return DocumentText(
        torch.arange(int(starts[-1]), dtype=torch.int32),
        starts,
        np.array(sorted({*starts[:-1].tolist(), *sentences}), dtype=np.int64),
    )


def covered(excerpts):
    """Every place that the excerpts read, both parts."""
    spans = [(row[START], row[SIZE]) for row in excerpts.tolist()]
    spans += [(row[SECOND_START], row[SECOND_SIZE]) for row in excerpts.tolist()]
    return sorted(place for start, size in spans for place in range(start, start + size))


many_sizes = st.lists(st.integers(min_value=0, max_value=40), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(many_sizes, st.integers(min_value=2, max_value=12))
def test_excerpts_are_stretches_of_one_document(sizes, size):
    found = documents(sizes)
    excerpts = found.excerpts(size)
    assert set(excerpts[:, FOLLOWS].tolist()) <= {NO_PAIR}
    for start, length in excerpts[:, :2].tolist():
        assert 2 <= length <= size
        document = np.searchsorted(found.starts, start, side="right") - 1
        assert start + length <= found.starts[document + 1]
    left_out = sum(1 for each in sizes if each % size == 1)
    assert len(covered(excerpts)) == sum(sizes) - left_out
    assert len(set(covered(excerpts))) == len(covered(excerpts))


@settings(max_examples=60, deadline=None)
@given(many_sizes, st.integers(min_value=2, max_value=12), st.integers(0, 99))
def test_pairs_are_excerpts_in_two_parts(sizes, size, seed):
    found = documents(sizes, sentences=range(0, sum(sizes), 4))
    plain = found.excerpts(size)
    pairs = found.pairs(size, np.random.default_rng(seed))
    assert pairs[:, START].tolist() == plain[:, START].tolist()
    assert (pairs[:, SIZE] + pairs[:, SECOND_SIZE]).tolist() == plain[:, SIZE].tolist()
    assert (pairs[:, [SIZE, SECOND_SIZE]] >= 1).all()
    joined = pairs[:, START] + pairs[:, SIZE] == pairs[:, SECOND_START]
    assert joined.tolist() == (pairs[:, FOLLOWS] == 1).tolist()
    for start, length in pairs[:, [SECOND_START, SECOND_SIZE]].tolist():
        document = np.searchsorted(found.starts, start, side="right") - 1
        assert start + length <= found.starts[document + 1]


def test_much_text_is_read_once():
    found = documents([500] * 400, sentences=range(0, 200_000, 17))
    pairs = found.pairs(61, np.random.default_rng(3))
    places = covered(pairs)
    assert len(places) == len(covered(found.excerpts(61)))
    assert len(set(places)) > 0.999 * len(places)


def test_little_text_still_has_pairs_that_do_not_belong_together():
    found = documents([40] * 30)
    shares = [(found.pairs(37, np.random.default_rng(seed))[:, FOLLOWS] == 1).mean()
              for seed in range(20)]  # fmt: skip
    assert 0.4 < np.mean(shares) < 0.65
    alone = documents([9]).pairs(9, np.random.default_rng(0))
    assert alone[:, FOLLOWS].tolist() == [1]


def test_half_of_the_pairs_do_not_belong_together_and_no_length_tells():
    found = documents([500] * 400, sentences=range(0, 200_000, 17))
    pairs = found.pairs(61, np.random.default_rng(3))
    follows = pairs[:, FOLLOWS] == 1
    assert 0.45 < follows.mean() < 0.56
    for column in (SIZE, SECOND_SIZE):
        means = [pairs[which, column].mean() for which in (follows, ~follows)]
        assert means[0] == pytest.approx(means[1], rel=0.06)
    document = np.searchsorted(found.starts, pairs[:, [START, SECOND_START]], side="right")
    assert (document[~follows, 0] != document[~follows, 1]).mean() > 0.95


def test_a_pair_is_cut_where_a_sentence_begins():
    found = documents([60], sentences=[3, 7, 22, 41])
    pairs = found.pairs(30, np.random.default_rng(0))
    assert (pairs[0, START] + pairs[0, SIZE]) in (3, 7, 22)
    assert pairs[1, START] + pairs[1, SIZE] == 41
    found = documents([60])
    assert 0 < found.pairs(30, np.random.default_rng(0))[0, SIZE] < 30


def test_parts_of_the_text():
    found = documents([10, 20, 30])
    train, tune = found.parted(0.1)
    assert (train.starts.tolist(), tune.starts.tolist()) == ([0, 10, 30, 54], [54, 60])
    parts = [train.part(number, 3) for number in range(3)]
    assert [part.starts.tolist() for part in parts] == [[0, 10, 18], [18, 30, 36], [36, 54]]
    assert sum(part.num_pieces for part in parts) == train.num_pieces


def test_no_text_gives_no_excerpts():
    empty = documents([0])
    assert empty.excerpts(5).shape == empty.pairs(5, np.random.default_rng(0)).shape == (0, 5)


@pytest.fixture
def pipeline():
    return build_pipeline([line.text for line in TEXT], CONFIG, vocab_size=120)


@pytest.fixture
def corpus(pipeline, tmp_path):
    write_documents(tmp_path / "corpus", pipeline, {"train": lambda: TEXT, "valid": lambda: TEXT})
    return tmp_path / "corpus"


def test_numbered_documents_are_the_text(corpus, pipeline):
    found = read_documents(corpus)
    train = found.documents("train")
    bare = [pipeline.encode_ids([line.text])[0][1:-1] for line in TEXT]
    assert train.ids.tolist() == [piece for line in bare for piece in line]
    lengths = [len(line) for line in bare]
    assert train.starts.tolist() == [0, sum(lengths[:3]), sum(lengths[:4]), sum(lengths)]
    assert found.totals == {"train": sum(lengths), "valid": sum(lengths)}
    assert found.pipeline.vocabulary() == pipeline.vocabulary()
    assert pipeline.encode_ids(["cat"])[0][0] == pipeline.token_id("[CLS]")  # left as it was


def test_sentences_begin_after_their_ends_and_closing_signs(corpus, pipeline):
    train = read_documents(corpus).documents("train")
    entries = pipeline.vocabulary()
    words = [entries[number] for number in train.ids.tolist()]
    starts = train.sentences.tolist()
    sentences = [words[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]
    said = ["".join(piece.removeprefix("##") for piece in sentence) for sentence in sentences]
    assert said == [
        "=cats=", "acatsat.", "(itsat!)", "sosaidthedog.", "thedogran?", "yes.", "theend.",
        "birdsfly.", "鸟会飞。", "真的！", "andmore",
    ]  # fmt: skip


def test_chunks_make_no_difference(pipeline, tmp_path, monkeypatch):
    for size in (1, 2, 5):
        monkeypatch.setattr("softquery.data.document_corpus.CHUNK", size)
        write_documents(tmp_path / str(size), pipeline, {"train": lambda: TEXT})
    found = [read_documents(tmp_path / str(size)).documents("train") for size in (1, 2, 5)]
    for other in found[1:]:
        assert torch.equal(found[0].ids, other.ids)
        assert found[0].starts.tolist() == other.starts.tolist()
        assert found[0].sentences.tolist() == other.sentences.tolist()


def test_a_text_without_words_is_told(pipeline, tmp_path):
    with pytest.raises(InputError, match="^text: there is no word in the text for train$"):
        write_documents(
            tmp_path / "corpus",
            pipeline,
            {"train": lambda: [DocumentLine("\u200b", True)]},
            source="text",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_corpus_is_told(corpus):
    assert is_document_corpus(corpus)
    mark = document_fingerprint(corpus)
    (corpus / "train.ids").write_bytes(b"1234")
    with pytest.raises(BundleError, match=r"is damaged \(train.ids is cut short\); remove it"):
        read_documents(corpus)
    (corpus / "documents.json").write_text(json.dumps({"totals": {}, "text": {"unit": "wrods"}}))
    assert document_fingerprint(corpus) != mark
    with pytest.raises(BundleError, match=r"is damaged \(.*unit must be one of"):
        read_documents(corpus)

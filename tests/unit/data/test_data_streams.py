"""Text as streams: numbers on the disk, windows in both directions, targets."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from softquery.data import Streams, StreamSlots, read_corpus, write_corpus
from softquery.errors import BundleError, InputError
from softquery.nn import CharacterCnn
from softquery.text import TextConfig, spell_vocabulary

TRAIN = ["the cat sat on the mat", "", "the dog", "a cat and the dog sat"]
VALID = ["the cat ran", "nobody ran"]
CONFIG = TextConfig(lowercase=False)
BOS, EOS = 2, 3


def write(folder, train=TRAIN, valid=VALID, **settings):
    write_corpus(
        folder / "corpus", train=lambda: train, valid=lambda: valid, config=CONFIG, **settings
    )
    return read_corpus(folder / "corpus")


def lines_of(corpus, split, way):
    streams = corpus.streams(split, vocab_size=9, num_streams=1)
    return " ".join(corpus.types[number] for number in getattr(streams, way).tolist())


def test_words_are_numbered_by_frequency(tmp_path):
    corpus = write(tmp_path)
    assert corpus.types[:8] == ["<pad>", "<unk>", "<bos>", "<eos>", "the", "cat", "dog", "sat"]
    assert corpus.counts[:8].tolist() == [0, 0, 3, 3, 4, 2, 2, 2]
    assert corpus.types[-2:] == ["ran", "nobody"]  # of valid alone
    assert corpus.counts[-2:].tolist() == [0, 0]
    assert corpus.known(size=None, min_count=2) == 8
    assert corpus.known(size=6, min_count=2) == 6
    assert corpus.known(size=None, min_count=1) == len(corpus.types) - 2


def test_lines_lie_end_to_end_and_turned_round(tmp_path):
    corpus = write(tmp_path)
    assert lines_of(corpus, "train", "forwards") == (
        "<bos> the cat sat on the mat <eos> <bos> the dog <eos> <bos> a cat and the dog sat <eos>"
    )
    assert lines_of(corpus, "train", "backwards") == (
        "<eos> mat the on sat cat the <bos> <eos> dog the <bos> <eos> sat dog the and cat a <bos>"
    )
    assert lines_of(corpus, "valid", "forwards") == (
        "<bos> the cat ran <eos> <bos> nobody ran <eos>"
    )


def test_a_given_vocabulary_keeps_its_numbers(tmp_path):
    known = ["<pad>", "<unk>", "<bos>", "<eos>", "zebra", "cat"]
    corpus = write(tmp_path, known=known)
    assert corpus.types[:7] == [*known, "the"]
    assert corpus.counts[4:6].tolist() == [0, 2]


def test_spelling_goes_along(tmp_path):
    corpus = write(tmp_path, max_characters=9)
    characters = corpus.streams("train", vocab_size=9, num_streams=1).characters
    assert np.array_equal(characters.numpy(), spell_vocabulary(corpus.types, 9))


def test_long_lines_are_not_cut(tmp_path):
    corpus = write(tmp_path, train=["word " * 5000])
    assert len(corpus.streams("train", vocab_size=5, num_streams=1).forwards) == 5002


def test_chunks_change_nothing(tmp_path, monkeypatch):
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    whole = write(tmp_path / "whole")
    monkeypatch.setattr("softquery.data.corpus.CHUNK", 1)
    cut = write(tmp_path / "cut")
    assert lines_of(whole, "train", "backwards") == lines_of(cut, "train", "backwards")
    assert whole.counts.tolist() == cut.counts.tolist()


@pytest.mark.parametrize(
    ("train", "valid", "split"),
    [([], VALID, "train"), (["", " \u200b"], VALID, "train"), (TRAIN, [], "valid")],
)
def test_no_words_are_told_and_leave_nothing(tmp_path, train, valid, split):
    with pytest.raises(InputError, match=f"^texts: there is no word in the text for {split}$"):
        write(tmp_path, train, valid, source="texts")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_corpus_is_told(tmp_path):
    write(tmp_path)
    path = tmp_path / "corpus" / "train.forwards.ids"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(BundleError, match="corpus: is damaged .*train.forwards.ids is cut short"):
        read_corpus(tmp_path / "corpus")


def numbers(count=26, *, num_streams=3, vocab_size=20):
    """Lines of four: 2 x y 3; types from 4 on."""
    lines = [[BOS, 4 + 2 * n, 5 + 2 * n, EOS] for n in range(-(-count // 4))]
    ahead = torch.tensor([word for line in lines for word in line][:count], dtype=torch.int32)
    back = torch.tensor([w for line in lines for w in line[::-1]][:count], dtype=torch.int32)
    characters = torch.arange(100, dtype=torch.int16).view(50, 2)
    return Streams(ahead, back, characters, vocab_size, num_streams)


def test_streams_are_equal_parts_read_side_by_side():
    streams = numbers()
    assert (streams.stream_length, streams.num_steps(3), streams.num_steps(8)) == (8, 2, 0)
    slot = streams.slot(2, 3)
    assert slot.rows.tolist() == [2, 10, 18]
    batch = streams.batch(slot.rows, slot.length)
    assert batch.streams.tolist() == [0, 1, 2]
    for row, begin in enumerate(slot.rows):
        for way, ids in ((batch.forwards, streams.forwards), (batch.backwards, streams.backwards)):
            wanted = streams.characters[ids[begin : begin + 3].long()]
            assert torch.equal(batch.characters[way[row]], wanted)


def test_each_type_stands_once_and_the_rest_is_filled_up():
    batch = numbers().batch(torch.tensor([0, 8]), 7)
    assert len(batch.characters) % 8 == 0
    used = torch.cat([batch.forwards, batch.backwards]).unique()
    spelt = batch.characters[used]
    assert len(spelt.unique(dim=0)) == len(spelt)


def test_targets_are_the_next_words():
    streams = numbers(vocab_size=9)
    batch = streams.batch(torch.tensor([0, 8]), 5)
    # 2 4 5 3 2 6 7 3 | 2 8 9 3 2 10 11 3: 9 and on are unknown.
    assert batch.forward_targets.tolist() == [[4, 5, 3, 2, 6], [8, 1, 3, 2, 1]]
    assert batch.backward_targets.tolist() == [[5, 4, 2, 3, 7], [1, 8, 2, 3, 1]]


def test_windows_follow_each_other_without_a_gap():
    streams = numbers(count=26)
    slots = StreamSlots(streams, 0, streams.num_steps(3), 3)
    batches = [streams.batch(slot.rows, slot.length) for slot in slots]
    assert len(batches) == len(slots) == 2
    read = torch.cat([b.characters[b.forwards][..., 0] // 2 for b in batches], dim=1)
    assert torch.equal(read, streams.forwards[:24].view(3, 8)[:, :6].to(read.dtype))
    assert torch.equal(slots[-1].rows, slots[1].rows)
    assert [slot.rows.tolist() for slot in slots[:1]] == [[0, 8, 16]]
    with pytest.raises(IndexError, match="there are 2 windows, got 2"):
        slots[2]


def test_a_part_is_cut_into_other_streams():
    part = numbers(count=26).part(8, 18, num_streams=2)
    assert part.stream_length == 5
    assert part.forwards.tolist() == numbers().forwards[8:18].tolist()


def test_the_corpus_is_mapped_and_not_read(tmp_path):
    """What is mapped changes with the file."""
    corpus = write(tmp_path)
    streams = corpus.streams("train", vocab_size=9, num_streams=1)
    with open(tmp_path / "corpus" / "train.forwards.ids", "r+b") as file:
        file.write(np.array([9], dtype="<i4").tobytes())
    assert streams.forwards[0] == 9


def spelt_numbers() -> Streams:
    """The same lines, with types of one to forty letters."""
    words = ["<pad>", "<unk>", "<bos>", "<eos>", *("x" * (1 + n % 40) for n in range(46))]
    return replace(numbers(), characters=torch.from_numpy(spell_vocabulary(words)))


def test_short_types_are_told_by_fewer_characters():
    plain = spelt_numbers()
    cropped = plain.cropped(widest=7, multiple=4)
    rows = torch.tensor([0, 8, 16])
    whole, batch = plain.batch(rows, 7), cropped.batch(rows, 7)
    assert whole.crops == ()
    counts, lengths = zip(*batch.crops, strict=True)
    assert lengths == (16, 24, 50)
    assert sum(counts) == len(batch.characters)
    assert all(count % 4 == 0 for count in counts)
    for way in ("forwards", "backwards"):
        here, there = getattr(batch, way), getattr(whole, way)
        assert torch.equal(batch.characters[here], whole.characters[there])
    for part, length in zip(torch.split(batch.characters, counts), lengths, strict=True):
        if length < 50:  # the widest filter must find a place with filling alone
            assert (part[:, length - 7 :] == 261).all()


def test_cropping_changes_no_vector():
    torch.manual_seed(0)
    cnn = CharacterCnn(262, 4, (1, 3, 7), (3, 3, 4), 6)
    batch = spelt_numbers().cropped(widest=7).batch(torch.tensor([0, 8, 16]), 7)
    parts = torch.split(batch.characters, [count for count, _ in batch.crops])
    found = torch.cat([cnn(p[:, :n].int()) for p, (_, n) in zip(parts, batch.crops, strict=True)])
    torch.testing.assert_close(found, cnn(batch.characters.int()))

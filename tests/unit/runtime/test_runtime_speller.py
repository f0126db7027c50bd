"""A lexicon for every call; what a biLM reads in a word of the vocabulary is read once."""

import torch

from elmo_cases import ElmoCase
from softquery.nn import ElmoSettings, WordEmbedding
from softquery.runtime.inner.torch import BLOCK, Speller
from softquery.text import TextConfig, pipeline_from_words

WORDS = ["cat", "sat", *(f"w{number}" for number in range(150))]
PIPELINE = pipeline_from_words(WORDS, TextConfig())
CPU = torch.device("cpu")


def make(tuning="frozen"):
    bilm = ElmoCase(softmax={"kind": "none"}).build().eval()
    characters = torch.zeros(0, 9, dtype=torch.int16)
    settings = ElmoSettings(places=("input",), tuning=tuning, dropout=0.0)
    embedder = settings.embedder(
        bilm, characters, word_size=5, ends="added", num_words=PIPELINE.vocab_size
    )
    return embedder.eval(), Speller(embedder, PIPELINE, 9, CPU)


def counted(embedder, monkeypatch):
    """How many words each call of the reader was given."""
    counts, plain = [], embedder.bilm.read_tokens

    def read(characters):
        counts.append(len(characters))
        return plain(characters)

    monkeypatch.setattr(embedder.bilm, "read_tokens", read)
    return counts


def test_known_words_are_read_once_and_others_with_their_call(monkeypatch):
    embedder, made = make()
    counts = counted(embedder, monkeypatch)
    first = made.lexicon(["cat", "zebra"])
    assert counts == [1, 4 + BLOCK]
    again = made.lexicon(["w3", "gnu", "zebra", "cat", "Cat"])
    made.lexicon(["cat"])
    assert counts == [1, 4 + BLOCK, 3]
    close = {"rtol": 0, "atol": 1e-6}
    torch.testing.assert_close(again.vectors[7], first.vectors[4], **close)
    torch.testing.assert_close(again.vectors, embedder.read(again).vectors, **close)
    assert again.words.tolist() == [0, 1, 2, 3, PIPELINE.token_id("w3"), 1, 1, 4, 4]
    assert not torch.allclose(again.vectors[8], again.vectors[7])  # a letter makes a difference


def test_what_was_asked_before_changes_no_bit():
    asked = [*WORDS, "zebra", "gnu"]
    whole = make()[1].lexicon(asked)
    _, other = make()
    for start in (120, 3, 0):
        other.lexicon(asked[start : start + 70 : 3])
    assert torch.equal(other.lexicon(asked).vectors, whole.vectors)
    turned = other.lexicon([*WORDS[::-1]])
    assert torch.equal(turned.vectors[4:].flip(0), whole.vectors[4:-2])


def test_a_word_that_is_spelt_like_a_reserved_one_is_a_word():
    _, made = make()
    found = made.lexicon(["<bos>"])
    assert not torch.allclose(found.vectors[4], found.vectors[2])
    assert found.words[4] == 1


def test_a_tuned_bilm_is_asked_beforehand_as_well():
    embedder, made = make("tuned")
    ids = torch.tensor([[4, 5]])
    found = made.lexicon(["cat", "zebra"])
    with torch.no_grad():
        torch.testing.assert_close(
            embedder(ids, found), embedder(ids, found._replace(vectors=None))
        )


def test_no_text_at_all():
    assert make()[1].lexicon([]).vectors.shape == (4, 4)


def test_without_a_bilm_nothing_is_read():
    plain = Speller(WordEmbedding(6, 5), PIPELINE, 9, CPU)
    assert plain.lexicon(["cat"]).vectors is None

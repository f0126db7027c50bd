"""Tokens as symbols: the published numbering, and laws that hold for any token."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.text import (
    MAX_CHARACTERS,
    NUM_CHARACTERS,
    TextConfig,
    build_pipeline,
    spell,
    spell_sentences,
    spell_tokens,
    spell_vocabulary,
    unspell,
    visible_form,
)

BEGIN, END, FILLER = 259, 260, 261
anything = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=70)
few = settings(max_examples=200, deadline=None)


def test_the_published_numbering():
    assert spell("cat") == [BEGIN, 100, 98, 117, END, *[FILLER] * 45]
    assert spell("") == [BEGIN, END, *[FILLER] * 48]
    assert spell("\u00e9")[:4] == [BEGIN, 0xC3 + 1, 0xA9 + 1, END]
    assert (MAX_CHARACTERS, NUM_CHARACTERS) == (50, 262)


def test_the_ends_of_a_sentence_and_padding():
    spelt = spell_vocabulary(["<pad>", "<unk>", "<bos>", "<eos>", "a"])
    assert spelt.dtype == np.int16
    assert not spelt[0].any()
    assert spelt[2][:4].tolist() == [BEGIN, 257, END, FILLER]
    assert spelt[3][:4].tolist() == [BEGIN, 258, END, FILLER]
    assert unspell(spelt[1]) == "<unk>"
    assert unspell(spelt[4]) == "a"


@pytest.mark.parametrize(
    "token", ["x" * 10_000, "\U0001f44d" * 500, "漢" * 17, "mixed漢字\U0001f44dκόσμε" * 9]
)
def test_a_long_token_loses_its_end(token):
    spelt = spell(token)
    assert len(spelt) == MAX_CHARACTERS
    assert (spelt[0], spelt[-1]) == (BEGIN, END)
    assert [symbol - 1 for symbol in spelt[1:-1]] == list(token.encode()[:48])


@few
@given(anything, st.integers(min_value=3, max_value=60))
def test_any_token_is_spelt_within_bounds(token, length):
    spelt = spell(token, length)
    content = token.encode()[: length - 2]
    assert len(spelt) == length
    assert all(1 <= symbol < NUM_CHARACTERS for symbol in spelt)
    assert spelt[0] == BEGIN
    assert spelt[len(content) + 1] == END
    assert spelt[len(content) + 2 :] == [FILLER] * (length - len(content) - 2)


@few
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=12))
def test_a_short_token_comes_back(token):
    assert unspell(spell(token)) == token


@few
@given(st.lists(st.text(max_size=8), unique=True, max_size=6))
def test_different_short_tokens_are_spelt_differently(tokens):
    sound = {token for token in tokens if token.encode("utf-8", "ignore").decode() == token}
    assert len({tuple(spell(token)) for token in sound}) == len(sound)


@few
@given(st.lists(st.lists(anything, max_size=4), min_size=1, max_size=4))
def test_sentences_stand_between_their_ends(sentences):
    characters, mask = spell_sentences(sentences)
    assert characters.shape == (len(sentences), max(map(len, sentences)) + 2, MAX_CHARACTERS)
    assert mask.sum(axis=1).tolist() == [len(sentence) + 2 for sentence in sentences]
    assert (characters.any(axis=2) == mask).all()
    for row, sentence in enumerate(sentences):
        assert characters[row, 0, 1] == 257
        assert characters[row, len(sentence) + 1, 1] == 258
        inner = characters[row, 1:-1][mask[row, 2:]]
        assert np.array_equal(inner, spell_tokens(sentence))


def test_no_sentences_are_an_empty_batch():
    characters, mask = spell_sentences([])
    assert (characters.shape, mask.shape) == ((0, 2, 50), (0, 2))


def test_a_token_too_narrow_for_a_byte_is_refused():
    with pytest.raises(ValueError, match="needs 3 symbols or more .* got 2"):
        spell_tokens(["a"], 2)


@pytest.mark.parametrize("unit", ["words", "characters", "jieba"])
def test_words_are_what_is_encoded(unit):
    if unit == "jieba":
        pytest.importorskip("jieba")
    texts = ["Don't panic: it's 3,000.50 in the U.S.!", "我爱北京天安门", "", "  \u200b "]
    for boundaries in (False, True):
        config = TextConfig(unit=unit, lowercase=False, boundaries=boundaries)
        pipeline = build_pipeline(texts, config)
        inner = slice(1, -1) if boundaries else slice(None)
        assert pipeline.words(texts) == [entry.tokens[inner] for entry in pipeline.encode(texts)]


def test_words_keep_what_the_vocabulary_lacks():
    pipeline = build_pipeline(["a"], TextConfig(boundaries=True, max_tokens=5))
    assert pipeline.words(["a strange new world indeed"]) == [["a", "strange", "new"]]
    assert pipeline.encode(["a strange"])[0].tokens == ["<bos>", "a", "<unk>", "<eos>"]


@pytest.mark.parametrize("unit", ["words", "characters", "jieba"])
def test_written_words_are_looked_up_as_what_is_encoded(unit):
    if unit == "jieba":
        pytest.importorskip("jieba")
    texts = ["Don’t PANIC: it's 3,000.50 in the U.S.!", "我愛北京 Café", "", "  \u200b "]
    pipeline = build_pipeline(texts[:1], TextConfig(unit=unit, simplify=True))
    words, cuts = pipeline.written_words_with_cuts(texts)
    assert "".join(words[0]) == texts[0].replace(" ", "")
    assert not any(cuts)
    assert [pipeline.look_up(each) for each in words] == pipeline.encode_ids(texts)


@few
@given(st.text(max_size=12))
def test_written_words_are_those_that_a_cased_pipeline_reads(text):
    """So that a table in lower case takes nothing from who reads their characters."""
    config = TextConfig(unicode_form="NFC")
    pipeline = build_pipeline([text], config)
    (words,) = pipeline.written_words([text])
    assert pipeline.look_up(words) == pipeline.encode_ids([text])[0]
    cased = build_pipeline([text], replace(config, lowercase=False))
    assert [visible_form(word, config) for word in words] == cased.words([text])[0]


def test_written_words_keep_the_limit_and_leave_room_for_boundaries():
    pipeline = build_pipeline(["a"], TextConfig(boundaries=True, max_tokens=5))
    found = pipeline.written_words_with_cuts(["A strange New world indeed", "A"])
    assert found == ([["A", "strange", "New"], ["A"]], [2, 0])


def test_pieces_are_no_words():
    pipeline = build_pipeline(["a b"], TextConfig(unit="bpe"))
    for cut in (pipeline.words, pipeline.written_words_with_cuts):
        with pytest.raises(ValueError, match="'bpe' cuts pieces, not words"):
            cut(["a"])

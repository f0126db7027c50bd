"""A table of words that is asked by spelling, against a plain dictionary."""

import random

import numpy as np
import pytest
import torch

from softquery.nn import WordLookup
from softquery.text import UNK_ID, reserved_tokens, spell_tokens, spell_vocabulary
from softquery.text.spelling_keys import joined_keys, multipliers, sorted_keys, spelling_keys

LETTERS = "abcdefghijklmnopqrstuvwxyzé漢"
LENGTH = 50


def random_words(count, seed):
    """Different words of 1 to 40 letters."""
    draw = random.Random(seed)
    found = {"".join(draw.choices(LETTERS, k=draw.randint(1, 15))) for _ in range(count)}
    return sorted(found | {"x" * length for length in range(1, 41)})


def lookup_of(words, length=LENGTH):
    entries = [*reserved_tokens("words"), *words]
    made = WordLookup(len(entries), 4)
    made.spell(torch.from_numpy(spell_vocabulary(entries, length)))
    return made, {word: place for place, word in enumerate(entries)}


def test_every_word_has_its_own_row_and_others_that_of_unk():
    known, others = random_words(3000, 1), random_words(3000, 2)
    made, places = lookup_of(known)
    found = made.ids(torch.from_numpy(spell_tokens(others + known, LENGTH)))
    wanted = [places.get(word, UNK_ID) for word in others + known]
    assert found.tolist() == wanted
    assert UNK_ID in wanted[: len(others)]


def test_filling_may_be_left_out():
    made, places = lookup_of(["cat", "dog"])
    symbols = torch.from_numpy(spell_tokens(["dog", "cow"], LENGTH))
    assert made.ids(symbols[:, :5]).tolist() == [places["dog"], UNK_ID]


def test_the_ends_of_a_sentence_and_padding_are_found():
    made, _ = lookup_of(["cat"])
    symbols = spell_vocabulary([*reserved_tokens("words"), "cat"], LENGTH)
    assert made.ids(torch.from_numpy(symbols))[[0, 2, 3, 4]].tolist() == [0, 2, 3, 4]
    assert not made(torch.from_numpy(symbols))[0].any()


def test_of_words_that_are_cut_alike_the_first_is_found():
    made, places = lookup_of(["abcdefgh", "abcdefgx"], length=6)
    symbols = torch.from_numpy(spell_tokens(["abcdefgx", "abcd"], 6))
    assert made.ids(symbols).tolist() == [places["abcdefgh"]] * 2


def test_a_table_that_was_never_spelled_knows_no_word():
    symbols = torch.from_numpy(spell_tokens(["cat"], LENGTH))
    assert WordLookup(9, 4).ids(symbols).tolist() == [UNK_ID]


def test_numbers_survive_a_bundles_float32():
    symbols = spell_tokens(random_words(3000, 3), LENGTH)
    parts, rows = sorted_keys(symbols)
    keys = joined_keys(parts.astype(np.float32))
    assert (np.diff(keys) > 0).all()
    assert (keys == spelling_keys(symbols)[rows]).all()


def test_a_spelling_of_too_many_characters_is_refused():
    with pytest.raises(ValueError, match="may have 1000 characters, got 1001"):
        multipliers(1001)

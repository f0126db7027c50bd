"""The form of a couplet: signs, repeats and tones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.text import OPPOSITE, first_places, is_han, is_sign, last_word, tone_of
from softquery.text.couplets import tone_table

characters = st.text(st.sampled_from("春花秋月山水，。！a1 "), max_size=12)


@settings(max_examples=60, deadline=None)
@given(characters)
def test_a_place_repeats_the_first_of_its_kind(line):
    first = first_places(line)
    for place, before in enumerate(first):
        assert before <= place
        assert line[before] == line[place]
        if is_sign(line[place]):
            assert before == place
        else:
            assert before == line.index(line[place])


@pytest.mark.parametrize("character", "春风平明人来")
def test_level_tones(character):
    assert tone_of(character) == "level"


@pytest.mark.parametrize("character", "月水地去好大")
def test_oblique_tones(character):
    assert tone_of(character) == "oblique"


def test_the_table_is_large_and_holds_characters_alone():
    table = tone_table()
    assert len(table) > 20_000
    assert all(map(is_han, list(table)[:2000]))
    assert set(table.values()) == set(OPPOSITE)


def test_a_line_of_signs_has_no_last_word():
    assert last_word("，。") is None
    assert last_word("") is None
    assert last_word("春，") == 0

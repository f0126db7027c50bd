"""One spelling for one text."""

import unicodedata

import pytest

from softquery.text import TextConfig, normalise
from softquery.text.segmentation import repaired, simplification_table, simplified


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("a\u3000\u00a0\t\r\nb", "a b"),
        ("  both ends  ", "both ends"),
        ("pass\u200bword", "password"),
        ("\ufeffstart", "start"),
        ("nul\x00bell\x07", "nulbell"),
        ("next\x85line", "next line"),
        ("don’t ‘x’ “y” „z‟", 'don\'t \'x\' "y" "z"'),
        ("e\u0301", "é"),
        ("ﬁne…", "fine..."),
        ("", ""),
        (" \t\u3000", ""),
    ],
)
def test_spelling(text, expected):
    assert normalise(text, TextConfig()) == expected


def test_case_may_be_kept():
    assert normalise("Café", TextConfig(lowercase=False)) == "Café"


def test_accents_may_be_stripped():
    config = TextConfig(strip_accents=True)
    assert normalise("Café crème, Ǻngström", config) == "cafe creme, angstrom"


def test_composition_alone_keeps_full_width():
    config = TextConfig(unicode_form="NFC")
    assert normalise("Ａe\u0301", config) == "ａé"


def test_lone_surrogates_become_replacement_characters():
    assert normalise("a\ud83d b", TextConfig()) == "a\ufffd b"
    assert repaired("\udc00\ud800") == "\ufffd\ufffd"


def test_traditional_becomes_simplified_only_where_asked():
    assert normalise("電腦", TextConfig()) == "電腦"
    assert normalise("電腦", TextConfig(simplify=True)) == "电脑"


def test_simplification_reaches_characters_encoded_twice():
    radical_cart, compatibility_cart = "\u2f9e", "\uf902"
    assert simplified(radical_cart + compatibility_cart) == "车车"


def test_simplification_table_is_one_to_one_and_changes_something():
    table = simplification_table()
    assert len(table) > 4000
    assert all(len(simple) == 1 and ord(simple) != code for code, simple in table.items())
    assert table[ord("漢")] == "汉"
    assert not any(unicodedata.category(chr(code)).startswith("C") for code in table)


def test_simplification_table_is_read_once():
    assert simplification_table() is simplification_table()

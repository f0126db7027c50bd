"""Analogies and graded pairs are read in the forms in which they are passed around."""

import pytest

from softquery.errors import InputError
from softquery.files.word_tests import (
    AnalogyQuestion,
    GradedWords,
    read_graded_words,
    read_questions,
)


def save(folder, text):
    path = folder / "test.txt"
    path.write_bytes(text.encode())
    return path


def test_questions_stand_in_sections(tmp_path):
    path = save(
        tmp_path, ": capitals\nAthens Greece Oslo Norway\n\n: family of words\r\na b c d\r\n"
    )
    first, second = read_questions(path)
    assert (first.name, second.name) == ("capitals", "family of words")
    assert first.questions == [AnalogyQuestion("Athens", "Greece", "Oslo", "Norway")]
    assert second.questions == [AnalogyQuestion("a", "b", "c", "d")]


def test_questions_without_a_section_are_read_too(tmp_path):
    (section,) = read_questions(save(tmp_path, "a b c d\n:\ne f g h\n: empty\n"))[:1]
    assert (section.name, len(section.questions)) == ("unnamed", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (": x\na b c\n", "test.txt, row 2: expected four words, or a colon and a name, found 3"),
        ("a b c d e\n", "test.txt, row 1: expected four words, or a colon and a name, found 5"),
        (": x\n\n", "test.txt: holds no questions"),
        ("", "test.txt: holds no questions"),
    ],
)
def test_questions_of_another_form_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_questions(save(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "love\tsex\t6.77\ntiger\tcat\t7\n",
        "# The collection\n# Word 1\tWord 2\tHuman (mean)\nlove\tsex\t6.77\r\ntiger\tcat\t7\r\n",
        "Word 1\tWord 2\tHuman\nlove\tsex\t6.77\n\ntiger\tcat\t7",
    ],
)
def test_graded_pairs(tmp_path, text):
    pairs = read_graded_words(save(tmp_path, text))
    assert pairs == [GradedWords("love", "sex", 6.77), GradedWords("tiger", "cat", 7.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\tb\t1\na b 2\n",
            'row 2: expected two words and a number, separated by tabs, found "a b',
        ),
        ("a\tb\t1\na\tb\tmuch\n", "row 2: expected two words and a number"),
        ("a\tb\t1\na\t\t2\n", "row 2: expected two words and a number"),
        ("a\tb\t1\na\tb\tnan\n", "row 2: expected two words and a number"),
        ("# nothing\n", "holds no pairs"),
        ("only\ta\theader\n", "holds no pairs"),
    ],
)
def test_pairs_of_another_form_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_graded_words(save(tmp_path, text))

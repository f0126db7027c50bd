"""Word vectors come back in every form, and damage is named by its row."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.files import VectorTable, read_vectors, write_vectors

FORMS = {"glove": "a.txt", "word2vec": "a.vec", "word2vec-binary": "a.bin"}


def save(folder, name, contents):
    path = folder / name
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return path


def floats():
    return st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def word_vectors(draw):
    size = draw(st.integers(2, 6))
    letters = st.characters(codec="utf-8", exclude_characters="\0\n\r ")
    word = st.text(letters, min_size=1, max_size=8)
    # A mark of the byte order at the start of a file is not part of the first word.
    words = draw(st.lists(word.filter(lambda w: w[0] != "\ufeff"), min_size=1, unique=True))
    row = st.lists(floats(), min_size=size, max_size=size)
    rows = draw(st.lists(row, min_size=len(words), max_size=len(words)))
    return VectorTable(words, np.array(rows, dtype=np.float32).reshape(len(words), size))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
@settings(max_examples=25, deadline=None)
@given(vectors=word_vectors())
def test_round_trip(tmp_path_factory, form, packed, vectors):
    path = tmp_path_factory.mktemp("vectors") / (FORMS[form] + packed)
    write_vectors(path, vectors, form=form)
    read = read_vectors(path)
    assert read.words == vectors.words
    np.testing.assert_array_equal(read.matrix, vectors.matrix)
    assert read.matrix.dtype == np.float32


@pytest.mark.parametrize("form", FORMS)
def test_large_file_round_trip_with_keep(tmp_path, form):
    generator = np.random.default_rng(0)
    words = [f"wort{n}ü" for n in range(5000)]
    vectors = VectorTable(words, generator.normal(size=(5000, 50)).astype(np.float32))
    path = tmp_path / FORMS[form]
    write_vectors(path, vectors, form=form)
    assert read_vectors(path).words == words
    kept = read_vectors(path, keep=["wort4999ü", "unknown", "wort7ü"])
    assert kept.words == ["wort7ü", "wort4999ü"]
    np.testing.assert_array_equal(kept.matrix, vectors.matrix[[7, 4999]])
    none = read_vectors(path, keep=[])
    assert (none.words, none.matrix.shape) == ([], (0, 50))


def test_words_with_spaces_are_split_from_the_right(tmp_path):
    path = save(tmp_path, "a.txt", ". . . 0.1 0.2\nthe 0.3 0.4\nat name@domain.com 1 2\n1 2 5 6\n")
    read = read_vectors(path)
    assert read.words == [". . .", "the", "at name@domain.com", "1 2"]
    np.testing.assert_array_equal(read.matrix[3], [5, 6])
    assert read_vectors(path, keep=["at name@domain.com"]).words == ["at name@domain.com"]


def test_unicode_spaces_belong_to_words(tmp_path):
    path = save(tmp_path, "a.txt", "a\u00a0b 1 2\n\u3000 3 4\n\u2028 5 6\n\x85 7 8\n")
    assert read_vectors(path).words == ["a\u00a0b", "\u3000", "\u2028", "\x85"]


def test_first_of_equal_words_counts(tmp_path):
    path = save(tmp_path, "a.txt", "a 1 2\nb 3 4\na 5 6\n")
    read = read_vectors(path)
    assert read.words == ["a", "b"]
    np.testing.assert_array_equal(read.matrix, [[1, 2], [3, 4]])


def test_rows_of_the_original_tool_end_in_a_space(tmp_path):
    path = save(tmp_path, "a.txt", "2 3\n</s> 1 2 3 \nthe 4 5 6 \n")
    assert read_vectors(path).words == ["</s>", "the"]


def packed(*rows, end=b"\n"):
    parts = [word + b" " + struct.pack(f"<{len(v)}f", *v) + end for word, v in rows]
    return f"{len(rows)} {len(rows[0][1])}\n".encode() + b"".join(parts)


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("name", ["a.bin", "a.model", "a.bin.gz"])
def test_binary_rows_with_and_without_line_ends(tmp_path, end, name):
    contents = packed(("é".encode(), (1, 2)), (b"the", (0, -0.5)), end=end)
    path = save(tmp_path, name, gzip.compress(contents) if name.endswith("gz") else contents)
    read = read_vectors(path)
    assert read.words == ["é", "the"]
    np.testing.assert_array_equal(read.matrix, [[1, 2], [0, -0.5]])


def test_words_cut_inside_a_character_are_passed_over_in_binary(tmp_path):
    path = save(tmp_path, "a.bin", packed(("é".encode()[:1], (1, 2)), (b"the", (3, 4))))
    assert read_vectors(path).words == ["the"]


GOOD = "".join(f"w{n} 0.1 0.2 0.3\n" for n in range(20))


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (GOOD + "bad 1 2\n", r"row 21: expected 3 numbers after a word, found 2"),
        ("bad 1 2\n" + GOOD, r"row 1: expected 3 numbers after a word, found 2"),
        (GOOD + "bad 1 x 3\n", r'row 21: expected 3 numbers after "bad", found 1 \(could not'),
        (GOOD + "bad 1 nan 3\n", r'row 21: the vector of "bad" holds a number that is not finite'),
        (GOOD + "bad 1 1e99 3\n", r"row 21: .* not finite"),
        (GOOD + "\n" + GOOD, "row 21: expected 3 numbers after a word, found 0"),
        (GOOD.encode() + "größe 1 2 3\n".encode("latin-1"), "row 21: not valid UTF-8"),
        (GOOD + "b\0d 1 2 3\n", "row 21: holds a NUL byte"),
        ("3 2\na 1 2\nb 1 2\n", r"row 3: the header promises 3 words, found 2 \(truncated\?\)"),
        ("1 2\na 1 2\nb 1 2\n", r"row 3: the header promises 1 words, found more"),
        ("2 2\na 1 2\nb 1\n", r"row 3: expected 2 numbers after a word, found 1"),
        ("5 0\na\n", r"row 1: the header's width is 0"),
        ("5 999999999\na\n", r"row 1: the header's width is 999,999,999"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("just some prose here\n", r"row 1: expected word vectors: a word and its numbers"),
        ('{"a": 1}\n', "expected word vectors"),
    ],
    ids=range(17),
)
def test_damaged_text_is_named(tmp_path, contents, reason):
    with pytest.raises(InputError, match=reason) as caught:
        read_vectors(save(tmp_path, "a.txt", contents))
    assert "\n" not in str(caught.value)


def test_damaged_binary_is_named(tmp_path):
    whole = packed(*((f"w{n}".encode(), (n, 0.5)) for n in range(20)))
    for contents, reason in [
        (whole[:-6], "row 20: the file breaks off here; its header promises 20 words"),
        (whole[:60], r"row \d: the file breaks off here"),
        (whole + b"more", "row 21: the header promises 20 words, found more"),
        (b"9 2\n" + b"\0x" * 5000, "row 1: no word found where one should be"),
        (packed((b"a", (float("nan"), 1))), r'row 1: the vector of "a" holds a number'),
    ]:
        with pytest.raises(InputError, match=reason):
            read_vectors(save(tmp_path, "a.bin", contents))


def test_truncated_archive_of_vectors_is_named(tmp_path):
    contents = gzip.compress(GOOD.encode() * 5000)
    path = save(tmp_path, "a.txt.gz", contents[: len(contents) // 2])
    with pytest.raises(InputError, match=r"row \d+: the compressed file breaks off here"):
        read_vectors(path)
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        read_vectors(tmp_path / "none.txt")


def test_a_header_that_promises_too_much_costs_no_memory(tmp_path):
    path = save(tmp_path, "a.txt", "999999999999 300\na " + "1 " * 300 + "\n")
    with pytest.raises(InputError, match="the header promises 999,999,999,999 words, found 1"):
        read_vectors(path)


def test_words_that_a_form_cannot_hold_are_refused_and_nothing_is_left(tmp_path):
    matrix = np.ones((2, 2), dtype=np.float32)
    for word, form in [
        ("a\nb", "glove"),
        ("a b", "word2vec-binary"),
        ("", "word2vec"),
        ("a\0", "glove"),
        (" ", "glove"),
    ]:
        with pytest.raises(InputError, match=r"row 2: this form cannot hold the word"):
            write_vectors(tmp_path / "a.txt", VectorTable(["fine", word], matrix), form=form)
    with pytest.raises(InputError, match=r"row 2: the word '\\ud800' is not valid text"):
        write_vectors(tmp_path / "a.txt", VectorTable(["fine", "\ud800"], matrix), form="glove")
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_checked(tmp_path):
    with pytest.raises(ValueError, match=r"matrix must be \[1, width\] for 1 words, got \[2, 3\]"):
        VectorTable(["a"], np.ones((2, 3), dtype=np.float32))
    vectors = VectorTable(["a"], np.ones((1, 3), dtype=np.float32))
    assert vectors.size == 3
    with pytest.raises(ValueError, match="form must be glove, word2vec or word2vec-binary"):
        write_vectors(tmp_path / "a", vectors, form="fasttext")

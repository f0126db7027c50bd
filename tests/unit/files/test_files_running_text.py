"""Running text comes in blocks, whatever its lines are like, and its faults are named."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import InputError
from softquery.files import LONGEST_LINE, find_shards, running_text
from softquery.files.text_lines import text_blocks


def lines(path):
    return [line for block in running_text(path) for line in block.lines]


def outcome(read):
    """What is read, or what is said."""
    try:
        return read()
    except InputError as error:
        return str(error)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80), st.booleans())
def test_short_lines_are_those_of_other_readers(tmp_path_factory, text, packed):
    path = tmp_path_factory.mktemp("text") / ("a.txt.gz" if packed else "a.txt")
    content = text.encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert outcome(lambda: lines(path)) == outcome(
        lambda: [line for block in text_blocks(path) for line in block.lines]
    )


def test_an_endless_line_is_cut_at_blanks(tmp_path):
    words = [f"wort{number}ü" for number in range(400_000)]
    path = tmp_path / "a.txt"
    path.write_text(" ".join(words), encoding="utf-8")
    assert path.stat().st_size > 3 * LONGEST_LINE
    pieces = lines(path)
    assert len(pieces) > 2
    assert max(map(len, pieces)) <= 2 * LONGEST_LINE
    assert [word for piece in pieces for word in piece.split()] == words


def test_an_endless_word_is_cut_between_characters(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("ü" * LONGEST_LINE, encoding="utf-8")
    pieces = lines(path)
    assert len(pieces) > 1
    assert "".join(pieces) == "ü" * LONGEST_LINE


def test_rows_are_counted_across_blocks(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"line\n" * 200_000 + b"caf\xe9\n")
    found = [fault for block in running_text(path) for fault in block.faults.values()]
    assert [str(fault) for fault in found] == [
        f"{path}, row 200001: not valid UTF-8 (byte 0xe9 at column 4); save the file as UTF-8"
    ]


def test_a_file_that_ends_inside_a_character_says_so(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("eins\nzwei 中".encode()[:-1])
    (fault,) = [fault for block in running_text(path) for fault in block.faults.values()]
    assert str(fault).startswith(f"{path}, row 2: not valid UTF-8 (byte 0xe4 at column 6)")


def test_a_byte_order_mark_goes(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\ntwo".encode())
    assert lines(path) == ["one", "two"]
    path.write_text("one".encode("utf-16").decode("latin-1"), encoding="latin-1")
    with pytest.raises(InputError, match="row 1: is UTF-16 text"):
        lines(path)


def test_a_file_is_its_own_corpus(tmp_path):
    path = tmp_path / "any.name"
    path.write_text("text")
    assert find_shards(path) == [path]


def test_a_folder_gives_its_text_files_in_order(tmp_path):
    for name in ("b.txt.xz", "a.txt", "c.TXT", "notes.md", ".hidden.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "d.txt").mkdir()
    assert [path.name for path in find_shards(tmp_path)] == ["a.txt", "b.txt.xz", "c.TXT"]


def test_files_to_measure_on_are_left_out(tmp_path):
    for name in ("train-01.txt", "train-00.txt.gz", "valid.txt"):
        (tmp_path / name).write_text("x")
    assert [path.name for path in find_shards(tmp_path)] == ["train-00.txt.gz", "train-01.txt"]


@pytest.mark.parametrize(
    ("name", "message"), [("", "holds no .txt files"), ("none", "none: no such file")]
)
def test_nothing_to_read_is_said(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        find_shards(tmp_path / name)

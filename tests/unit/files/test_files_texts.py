"""Raw text in any number of files."""

import gzip
import lzma

import pytest

from softquery.errors import InputError
from softquery.files import find_texts, fingerprint, read_texts


def names(paths):
    return [path.name for path in paths]


def test_one_file_or_shards_in_order(tmp_path):
    for name in ("train-10.txt", "train-02.txt.xz", "train.txt", "training.txt", "valid.txt.gz",
                 "train-00.md", "train-a.b.txt"):  # fmt: skip
        (tmp_path / name).write_bytes(b"")
    assert names(find_texts(tmp_path, "train")) == ["train-02.txt.xz", "train-10.txt", "train.txt"]
    assert names(find_texts(tmp_path, "valid")) == ["valid.txt.gz"]


def test_nothing_there_is_told_with_what_is(tmp_path):
    (tmp_path / "notes.md").write_bytes(b"")
    with pytest.raises(
        InputError,
        match=r"no text for valid, such as valid.txt or valid-00.txt.xz; found: notes.md",
    ):
        find_texts(tmp_path, "valid")
    with pytest.raises(InputError, match="no such folder"):
        find_texts(tmp_path / "none", "train")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        find_texts(tmp_path / "notes.md", "train")


def test_lines_of_all_files_without_blank_ones(tmp_path):
    plain, packed, zipped = (
        tmp_path / f"train-{n}.txt{e}" for n, e in enumerate(["", ".xz", ".gz"])
    )
    plain.write_text("one\n\n  \ntwo", encoding="utf-8")
    packed.write_bytes(lzma.compress("drei\r\n\r\n四\n".encode()))
    zipped.write_bytes(gzip.compress(b"\xef\xbb\xbffive\n"))
    assert list(read_texts([plain, packed, zipped])) == ["one", "two", "drei", "四", "five"]


def test_a_column_of_a_table(tmp_path):
    table = tmp_path / "train.tsv"
    table.write_text("sentence1\tlabel\na man\tyes\na dog\tno\n", encoding="utf-8")
    assert list(read_texts([table], rename={"text": "sentence1"})) == ["a man", "a dog"]
    with pytest.raises(InputError, match='no column "text"'):
        list(read_texts([table]))


def test_text_that_ends_inside_a_character_is_told(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"sound\ncaf\xc3")
    with pytest.raises(InputError, match=r"train.txt, row 2: not valid UTF-8 \(byte 0xc3 at col"):
        list(read_texts([path]))


def test_a_fingerprint_is_of_contents_and_names(tmp_path):
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    one.write_bytes(b"x")
    other.write_bytes(b"y")
    first = fingerprint([one, other])
    assert first == fingerprint([one, other])
    assert first != fingerprint([other, one])
    other.write_bytes(b"z")
    assert first != fingerprint([one, other])

"""Sentences from files: a row each, as text or as words, and every fault with its row."""

import gzip
import json
import lzma

import pytest

from softquery.errors import InputError
from softquery.files import read_sentences


def texts(path, **options):
    return [sentence.text for sentence in read_sentences(path, **options)]


@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
def test_lines_of_text(tmp_path, packed):
    path = tmp_path / f"a.txt{packed}"
    content = "\ufeffone line\r\n\n  \nthe last 漢字\n\n \n".encode()
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packed]
    path.write_bytes(pack(content))
    found = list(read_sentences(path))
    assert [each.text for each in found] == ["one line", "", "  ", "the last 漢字", "", " "]
    assert [each.number for each in found] == [1, 2, 3, 4, 5, 6]
    assert {each.source for each in found} == {str(path)}


def test_blank_lines_inside_count_and_those_at_the_end_do_not(tmp_path):
    (tmp_path / "a.txt").write_text("a\n\nb\n\n\n")
    assert texts(tmp_path / "a.txt") == ["a", "", "b"]


def test_columns(tmp_path):
    (tmp_path / "a.tsv").write_text("label\ttext\n1\tone\n2\t\n")
    assert texts(tmp_path / "a.tsv") == ["one", ""]
    (tmp_path / "b.csv").write_text('q,n\n"two, three",1\n')
    assert texts(tmp_path / "b.csv", rename={"text": "q"}) == ["two, three"]


def test_words_that_are_cut_already(tmp_path):
    rows = [
        {"tokens": ["a b", "c"]},
        {"text": "plain"},
        {"tokens": [], "text": "x"},
        {"tokens": []},
    ]
    rows += [{"text": 7}, {"tokens": ["1", 2]}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert texts(tmp_path / "a.jsonl") == [["a b", "c"], "plain", [], [], "7", ["1", "2"]]
    (tmp_path / "b.tsv").write_text('tokens\n["a", "b"]\n')
    assert texts(tmp_path / "b.tsv") == [["a", "b"]]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"tokens": [["a", "b"], []]}), tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == [["a", "b"], []]
    parquet.write_table(pyarrow.table({"other": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: holds no sentences$"):
        texts(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.txt", b"", r"a\.txt: holds no sentences$"),
        ("a.txt", b"\n \n\n", r"a\.txt: holds no sentences$"),
        ("a.jsonl", b'{"tokens": []}\n', None),
        ("a.txt", b"\n\n\n", r"a\.txt: holds no sentences$"),
        ("a.tsv", b"text\n", r"a\.tsv: holds no sentences$"),
        ("a.tsv", b"", r"a\.tsv: is empty$"),
        ("a.tsv", b"label\nx\n", r'a\.tsv, row 2: no column "text", nor "tokens"; other names are'),
        ("a.jsonl", b"{}\n", r'a\.jsonl, row 1: no column "text", nor "tokens"; other names are'),
        ("a.jsonl", b'{"tokens": "a b"}\n', r"row 1: tokens must be a list of words, found a b$"),
        ("a.jsonl", b'{"tokens": ["a", ""]}\n', r"row 1: tokens must be a list of words, found \["),
        ("a.jsonl", b'{"tokens": {"a": 1}}\n', r"row 1: tokens must be a list of words, found \{"),
        ("a.jsonl", b'{"text": ["a"]}\n', None),
        ("a.jsonl", b"[\n", r"row 1: not valid JSON"),
        ("a.txt", "x\ncaf\u00e9".encode()[:-1], r"a\.txt, row 2: not valid UTF-8"),
        ("a.txt", b"x\0", r"a\.txt, row 1: holds a NUL byte"),
        ("a.doc", b"x", r"a\.doc: unknown kind of file"),
        ("a.txt.gz", b"x", r"a\.txt\.gz: does not hold gzip data"),
    ],
)
def test_faults(tmp_path, name, content, match):
    (tmp_path / name).write_bytes(content)
    if match is None:
        assert len(texts(tmp_path / name)) >= 1
        return
    with pytest.raises(InputError, match=match):
        texts(tmp_path / name)


def test_a_file_that_is_not_there_is_told_at_once(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt: no such file$"):
        read_sentences(tmp_path / "none.txt")


def test_bad_rows_can_be_skipped(tmp_path):
    lines = ["x", "caf\u00e9", "z"]
    (tmp_path / "a.txt").write_bytes("\n".join(lines).encode("latin-1"))
    bad = []
    assert texts(tmp_path / "a.txt", on_bad=bad.append) == ["x", "z"]
    (tmp_path / "a.jsonl").write_text('{"tokens": 3}\n{"text": "a"}\nnot\n')
    assert texts(tmp_path / "a.jsonl", on_bad=bad.append) == ["a"]
    assert [error.row for error in bad] == [2, 1, 3]

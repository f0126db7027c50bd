"""Documents in running text: where one ends and the next begins."""

import gzip

import pytest

from softquery.errors import InputError
from softquery.files import DocumentLine, read_lines


def lines(path):
    return [(line.text, line.opens) for line in read_lines([path])]


def test_blank_lines_headings_and_files_part_documents(tmp_path):
    (tmp_path / "a.txt").write_text(
        "= Cats =\nThey sit.\nThey run.\n\nStill sitting.\n== Runs ==\n = Dogs = \nWoof. \n \n\n"
    )
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"x = y\n=a=\n= =\n= b\nc ="))
    found = list(read_lines([tmp_path / "a.txt", tmp_path / "b.txt.gz"]))
    line = DocumentLine
    assert found == [
        line("= Cats =", True),
        line("They sit.", False),
        line("They run.", False),
        line("Still sitting.", True),
        line("== Runs ==", False),
        line(" = Dogs = ", True),
        line("Woof. ", False),
        line("x = y", True),
        line("=a=", False),
        line("= =", False),
        line("= b", False),
        line("c =", False),
    ]  # fmt: skipp


def test_a_heading_of_one_letter(tmp_path):
    (tmp_path / "a.txt").write_text("x\n= A =\ny")
    assert lines(tmp_path / "a.txt") == [("x", True), ("= A =", True), ("y", False)]


def test_every_row_of_a_table_is_a_document(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tlabel\none\t1\ntwo\t2\n")
    assert lines(tmp_path / "a.tsv") == [("one", True), ("two", True)]
    found = list(read_lines([tmp_path / "a.tsv"], rename={"text": "label"}))
    assert [line.text for line in found] == ["1", "2"]


def test_faults_are_named_by_row(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"sound\n\xff\n")
    with pytest.raises(InputError, match="row 2: not valid UTF-8"):
        lines(tmp_path / "a.txt")

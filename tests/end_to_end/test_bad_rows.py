"""Rows that were left out stand in their order, whenever they were found bad."""

import os

import pytest

from softquery.cli.terminal.bad_rows import BadRows
from softquery.errors import InputError


@pytest.mark.parametrize("found", [[2, 3, 11], [11, 2, 3], [3, 2, 11]], ids=str)
def test_they_are_in_the_order_of_the_file(tmp_path, found):
    with BadRows(tmp_path / "answers.jsonl") as bad:
        for row in found:
            bad.add(InputError(f"no text {row}", source="lines.txt", row=row))
        bad.keep()
    assert (tmp_path / "answers.jsonl.errors.tsv").read_text(encoding="utf-8") == (
        "row\treason\n2\tno text 2\n3\tno text 3\n11\tno text 11\n"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["answers.jsonl.errors.tsv"]
    assert bad.count == 3


def test_without_a_bad_row_an_earlier_file_goes(tmp_path):
    (tmp_path / "a.jsonl.errors.tsv").write_text("row\treason\n", encoding="utf-8")
    with BadRows(tmp_path / "a.jsonl") as bad:
        bad.keep()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_waits_under_their_name_is_not_written_to(tmp_path, kind):
    own = tmp_path / "letter.txt"
    own.write_text("mine", encoding="utf-8")
    waiting = tmp_path / "a.jsonl.errors.tsv.partial"
    waiting.symlink_to(own) if kind == "link" else os.mkfifo(waiting)
    with BadRows(tmp_path / "a.jsonl") as bad:
        bad.add(InputError("no text", source="lines.txt", row=2))
        bad.keep()
    assert own.read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "a.jsonl.errors.tsv").read_text("utf-8") == "row\treason\n2\tno text\n"

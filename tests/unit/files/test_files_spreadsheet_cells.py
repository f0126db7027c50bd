"""Tables for people hold no cell that a spreadsheet would run."""

import csv

import pytest

from softquery.cli.evaluate import write_mistakes
from softquery.cli.terminal.bad_rows import BadRows
from softquery.errors import InputError
from softquery.files import shown_cell

FORMULAS = [
    "=1+1",
    "=cmd|'/C calc'!A0",
    "+1+1",
    "-2+3+cmd|' /C calc'!D2",
    "@SUM(1)",
    "  =1",
    "\t=1",
    "\r=1",
    "＝1+1",
    "＠x",
    "|calc",
    "%x",
    "- a point of a list",
]
PLAIN = ["a = b", "-0.5", "+3", "1e-5", "-inf", "", "  ", "'=1", "Who?", "é", "9-8"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert shown_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", PLAIN)
def test_other_cells_stay_as_they_are(text):
    assert shown_cell(text) == text


RECORDS = [
    {"sentence1": "=1+1", "=name": "@x", "predicted": "-1", "confidence": 0.5, "row": 2},
    {"sentence1": "a\n=2", "=name": "plain", "predicted": "+a", "confidence": -0.5, "row": 3},
]


def written(path, **options):
    write_mistakes(path, RECORDS, (), **options)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_mistakes_hold_no_formulas(tmp_path, suffix):
    head, first, second = written(tmp_path / f"wrong{suffix}")
    assert head == ["sentence1", "'=name", "predicted", "confidence", "row"]
    assert first == ["'=1+1", "'@x", "-1", "0.5", "2"]
    assert second[2:] == ["'+a", "-0.5", "3"]
    for cell in (*head, *first, *second):
        assert cell == shown_cell(cell)


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_raw_mistakes_are_as_they_are(tmp_path, suffix):
    head, first, _ = written(tmp_path / f"wrong{suffix}", cells="raw")
    assert (head[1], first[:2]) == ("=name", ["=1+1", "@x"])


def test_bad_rows_hold_no_formulas(tmp_path):
    with BadRows(tmp_path / "out.jsonl") as bad:
        bad.add(InputError("=cmd is empty", row=3))
        bad.keep()
    assert (tmp_path / "out.jsonl.errors.tsv").read_text().splitlines()[1] == "3\t'=cmd is empty"

"""The table of refused files in docs/files.md says what softquery says."""

import gzip
import re

import pytest
from repository import ROOT

from softquery.errors import InputError
from softquery.files import read_rows

HEADER = b"sentence1\tsentence2\tlabel\n"
PACKED = gzip.compress(HEADER + b"a\tb\tc\n" * 50_000)

FAULTS = {
    "no such file": ("none.tsv", None),
    "wrong number of columns": ("pairs.tsv", HEADER + b"a\tb\n"),
    "an empty sentence": ("pairs.tsv", HEADER + b"a\t \tyes\n"),
    "another encoding": ("pairs.tsv", HEADER + b"caf\xe9\tb\tno\n"),
    "UTF-16": ("pairs.tsv", HEADER.decode().encode("utf-16")),
    "NUL bytes": ("pairs.tsv", HEADER + b"a\0\tb\tno\n"),
    "an endless line": ("pairs.tsv", HEADER + b"a" * (1 << 21) + b"\tb\tno\n"),
    "an empty file": ("pairs.tsv", b""),
    "a spreadsheet": ("pairs.tsv", b"PK\x03\x04..."),
    "an unknown ending": ("pairs.doc", b"..."),
    "a name that lies": ("pairs.tsv.gz", HEADER),
    "a download cut short": ("pairs.tsv.gz", PACKED[: len(PACKED) // 2]),
    "broken JSON": ("pairs.jsonl", b'{"sentence1": "a"\n'),
    "an open quote": ("pairs.csv", b'sentence1,sentence2,label\n"a,b,c\n'),
}


def table() -> dict[str, str]:
    """The rows of the page's table of faults."""
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    section = page.partition("## What is refused")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([^|]+) \| `(.+)` \|$", section, re.MULTILINE))


def test_table_and_faults_are_the_same():
    assert table().keys() == FAULTS.keys()


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, content = FAULTS[fault]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_rows(name, columns=["sentence1", "sentence2", "label"]))
    # Where a broken archive stops depends on the library that packed it.
    said = re.sub(r"row \d{3,}", "row N", str(caught.value))
    assert said == re.sub(r"row \d{3,}", "row N", table()[fault])

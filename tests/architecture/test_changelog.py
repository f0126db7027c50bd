"""The changelog speaks of the version that is here."""

import re

from repository import ROOT

import softquery

HEADING = re.compile(r"^## (\d+\.\d+\.\d+)( .*)?$", re.MULTILINE)


def test_newest_entry_is_this_version():
    versions = [found[1] for found in HEADING.finditer((ROOT / "CHANGELOG.md").read_text("utf-8"))]
    assert versions[:1] == [softquery.__version__]


def test_versions_fall():
    found = HEADING.finditer((ROOT / "CHANGELOG.md").read_text("utf-8"))
    numbers = [tuple(map(int, each[1].split("."))) for each in found]
    assert numbers == sorted(set(numbers), reverse=True)

"""The table of integrations is whole, what is told of them is so, and none is in the base."""

import ast
import json
import re

import pytest
from integration_results import PAGE, RECORDS, page
from integration_table import FOLDER, ROOT, TABLE, rows

PACKAGE = ROOT / "src" / "softquery"
FRAMEWORKS = {"langchain_core", "llama_index", "haystack", "spacy", "mcp", "sentence_transformers"}
"""Whose names stand in the file that integrates them, and nowhere else in the package.

`bench` aside, which measures what one would take instead."""


def imported(path):
    """The top-level packages that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_every_integration_has_tests_versions_and_a_record():
    missing = [
        (each.name, str(path))
        for each in TABLE
        for path in (
            each.versions,
            RECORDS / f"{each.name}.json",
            *map(ROOT.joinpath, each.files()),
        )
        if not path.exists()
    ]
    assert missing == []
    assert [each.name for each in TABLE if not each.files()] == []


def test_what_was_run_is_what_is_pinned():
    for each in TABLE:
        record = json.loads((RECORDS / f"{each.name}.json").read_text(encoding="utf-8"))
        pinned = dict(re.findall(r"^(\S+)==(\S+)$", each.versions.read_text("utf-8"), re.MULTILINE))
        plain = {name.lower().replace("_", "-"): number for name, number in pinned.items()}
        for name, number in record["packages"].items():
            assert plain[name.lower().replace("_", "-")] == number.partition("+")[0], each.name
        assert (record["failed"], record["passed"] > 0) == (0, True), each.name


def test_the_page_shows_the_records():
    told = "write it anew: python tests/integrations --page"
    assert PAGE.read_text(encoding="utf-8") == page(), told


def test_every_file_of_integrations_is_tried():
    files = {path.stem for path in (PACKAGE / "integrations").glob("*.py")}
    shared = {"__init__", "given_models"}
    assert files - shared - {each.name for each in TABLE} == set()


def test_frameworks_are_imported_by_their_own_file_alone():
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.parent.name not in ("integrations", "bench") and FRAMEWORKS & set(imported(path))
    ]
    assert found == []


def test_an_unknown_name_is_refused():
    with pytest.raises(SystemExit, match="^no integration 'langchian'; there are sklearn"):
        list(rows(["langchian"]))


def test_no_folder_hides_a_package():
    """Such a folder would be found as an empty package where the real one is not installed."""
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {"versions"}

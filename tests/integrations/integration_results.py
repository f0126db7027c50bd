"""What came of the integrations: a record each, and the table of them in the documentation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from integration_table import ROOT, TABLE

RECORDS = ROOT / "docs" / "integrations" / "results"
PAGE = ROOT / "docs" / "integrations" / "results.md"
COUNTS = ("passed", "failed", "expected to fail", "skipped")
BEGINNING = """\
# What was run, against which versions

`make integrations` installs this checkout and each package below into an environment of its own,
runs the tests of that integration against the real package, and writes this table. Every version in
an environment is pinned in `tests/integrations/versions/`. Why tests were skipped is told in the
records beside this page.

"""
MEASURED = """
## What the tests measured

"""
COLUMNS = ("integration", "packages", "Python", "softquery", *COUNTS, "date")


def write(name: str, record: Mapping[str, Any]) -> None:
    """Keep the record of one integration, and the table up to date."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (RECORDS / f"{name}.json").write_text(text, encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page of results, made of the records that are there."""
    rule = "|".join("---:" if column in COUNTS else "---" for column in COLUMNS)
    head = f"| {' | '.join(COLUMNS)} |\n|{rule}|\n"
    found = records()
    table = head + "".join(_row(name, record) for name, record in found.items())
    measured = [
        f"- {name}, `{test}`: {value}\n"
        for name, record in found.items()
        for test, value in record.get("measured", {}).items()
    ]
    return BEGINNING + table + (MEASURED + "".join(measured) if measured else "")


def records() -> dict[str, Any]:
    """Every record, in the order of the table of integrations."""
    paths: list[Path] = [RECORDS / f"{each.name}.json" for each in TABLE]
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths if path.exists()}


def _row(name: str, record: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{each} {number}" for each, number in record["packages"].items())
    counts = " | ".join(str(record[each]) for each in COUNTS)
    made = f"{record['python']} | {record['softquery']}"
    return f"| {name} | {packages} | {made} | {counts} | {record['date']} |\n"

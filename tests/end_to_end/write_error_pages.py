"""Put the tables of bad input into the pages: python tests/end_to_end/write_error_pages.py.

A table of `docs/errors` stands below `<!-- cases: NAME -->`; all else is written by hand.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "errors"
PLACE = re.compile(r"(?P<mark><!-- cases: (?P<name>[\w -]+) -->\n\n)(?P<table>(?:\|.*\n)*)")


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """The page with every table as it should be."""
    return PLACE.sub(lambda found: found["mark"] + tables[found["name"]], page)


def places(page: str) -> list[str]:
    """The names of the tables that a page shows."""
    return [found["name"] for found in PLACE.finditer(page)]


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from hostile_tables import TABLES

    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        path.write_text(with_tables(page, TABLES), encoding="utf-8")


if __name__ == "__main__":
    main()

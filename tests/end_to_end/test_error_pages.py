"""The pages of docs/errors show every case of bad input, as a script writes them."""

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from hostile_tables import TABLES
from write_error_pages import PAGES, places, with_tables

WRITTEN = sorted(PAGES.glob("*.md"))


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_page_is_as_the_script_writes_it(path):
    page = path.read_text(encoding="utf-8")
    assert with_tables(page, TABLES) == page, "python tests/end_to_end/write_error_pages.py"


def test_every_table_has_one_place():
    found = [name for path in WRITTEN for name in places(path.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(TABLES)


def test_another_table_is_noticed():
    page = "<!-- cases: a -->\n\n| old |\n\ntext\n"
    assert with_tables(page, {"a": "| new |\n"}) == "<!-- cases: a -->\n\n| new |\n\ntext\n"

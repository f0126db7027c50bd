"""Texts come back as they were stored, row by row and column by column."""

from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.search.storage.cells import Cells, write_cells
from softquery.search.storage.index_files import FolderWriter

COLUMNS = ("id", "question", "other")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.lists(
    st.fixed_dictionaries({"id": TEXT, "question": TEXT}, optional={"other": TEXT}), max_size=8
)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, wanted=TEXT)
def test_cells(rows, wanted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    write_cells(FolderWriter(folder), COLUMNS, rows)
    cells = Cells(folder, COLUMNS, len(rows))
    assert len(cells) == len(rows)
    assert [cells.row(place) for place in range(len(rows))] == rows
    for column in COLUMNS:
        texts = [row.get(column, "") for row in rows]
        assert cells.column(column) == texts
        assert [cells.text(place, column) for place in range(len(rows))] == texts
        assert cells.texts(range(len(rows))[::-1], column) == texts[::-1]
        for value in {wanted, *texts}:
            held = [row.get(column) == value for row in rows]
            assert cells.holds(column, value).tolist() == held
    assert not cells.holds("no such column", "").any()
    assert cells.texts([0, 0], "no such column") == ["", ""]

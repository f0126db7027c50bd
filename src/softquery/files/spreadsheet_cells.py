"""Cells of tables for people, written so that a spreadsheet shows them and does not run them."""

FORMULAS = frozenset("=+-@＝＋－＠|%")
"""First characters by which spreadsheets know a formula or a command, wide ones among them."""


def shown_cell(value: object) -> str:
    """A value as text; one that a spreadsheet would run as a formula gets an apostrophe before it.

    Numbers stay as they are. Spreadsheets do not show the apostrophe when the cell is typed; in a
    file that they open it is part of the text.

    >>> shown_cell("=HYPERLINK(A1)"), shown_cell("-0.5"), shown_cell("a = b")
    ("'=HYPERLINK(A1)", '-0.5', 'a = b')
    """
    text = str(value)
    if text.lstrip()[:1] not in FORMULAS or not text.strip() or _is_number(text):
        return text
    return f"'{text}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""What stands between the columns of a CSV: commas, or what a spreadsheet wrote in their place.

Where the comma is the decimal mark, spreadsheets write semicolons; what is copied has tabs.
"""

import csv
from collections.abc import Sequence

from softquery.files.text_lines import text_blocks

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""Each with its name; the first is what is taken where nothing tells."""
LOOKED_AT = 200
"""Lines that are looked at."""
CONSISTENT = 0.9
"""Share of records that must be as wide as the first one."""


def delimiter_of(path: str) -> str:
    """The delimiter of a CSV file, by its first lines.

    Args:
        path: The file, plain or compressed.
    """
    # Faults of lines are left to whoever reads them.
    for block in text_blocks(path):
        return delimiter_in(block.lines[:LOOKED_AT])
    return ","


def delimiter_in(lines: Sequence[str]) -> str:
    r"""The delimiter that cuts these lines into records of one width, wider than one column.

    A comma is taken wherever it does, so that texts with semicolons stay whole.

    >>> delimiter_in(["text;label", "Well, no;bad"]), delimiter_in(["text,label", "a;b,good"])
    (';', ',')
    >>> delimiter_in(["text"]), delimiter_in(["a\tb"])
    (',', '\t')
    """
    found = {mark: _fitting(lines, mark) for mark in DELIMITERS}
    consistent = [mark for mark, share in found.items() if share >= CONSISTENT]
    if consistent:
        return consistent[0]
    best = max(found, key=lambda mark: found[mark])
    return best if found[best] else ","


def _fitting(lines: Sequence[str], delimiter: str) -> float:
    """The share of records that are as wide as the first; 0 where that has one column."""
    try:
        records = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
        widths = [len(each) for each in records if each]
    except csv.Error:
        return 0.0
    if not widths or widths[0] < 2:
        return 0.0
    return sum(width == widths[0] for width in widths) / len(widths)

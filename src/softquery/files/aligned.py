"""Two files that stand line by line: a text and its translation, `train.de` and `train.en`."""

from itertools import zip_longest
from os import PathLike
from pathlib import Path

from softquery.errors import InputError
from softquery.files.row import Row
from softquery.files.rows import find_split
from softquery.files.text_lines import open_text


def read_aligned(
    folder: str | PathLike[str], split: str, endings: tuple[str, str]
) -> tuple[list[Row], int]:
    """Rows with `source` and `target`, and how many were left out because a side is blank.

    Args:
        folder: Holds the files, plain or compressed.
        split: Such as `"train"`.
        endings: Of both files, the source's first, such as `("de", "en")`.

    Raises:
        InputError: Where a file is missing, or the files have not as many lines.
    """
    paths = [find_split(folder, split, forms=(f".{ending}",)) for ending in endings]
    rows: list[Row] = []
    number = num_blank = 0
    with open_text(paths[0]) as sources, open_text(paths[1]) as targets:
        for source, target in zip_longest(sources, targets):
            number += 1
            if source is None or target is None:
                shorter = paths[0 if source is None else 1]
                raise InputError(
                    f"ends here, but {_other(paths, shorter).name} goes on; "
                    "expected as many lines in both",
                    source=shorter,
                    row=number,
                )
            if source.strip() and target.strip():
                rows.append(Row({"source": source, "target": target}, number, str(paths[0])))
            else:
                num_blank += 1
    return rows, num_blank


def _other(paths: list[Path], one: Path) -> Path:
    return paths[1] if one == paths[0] else paths[0]

"""The rows of a task from a sheet: clean cells, what is left out, and what is odd about them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softquery.errors import InputError, counted
from softquery.files import Row
from softquery.measure.cross_validation import stratified_folds
from softquery.running.row_checks import Answered, contradictions, single_rows
from softquery.running.spreadsheet.columns import Chosen, check_labels, choose_columns
from softquery.running.spreadsheet.sheet import Given, Sheet, read_sheet

Ids = NDArray[np.int64]
LEAST_ROWS = 8
"""Fewer teach nothing that could be measured."""
SHOWN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledTable:
    """Labelled rows under our names, in the order of the file."""

    source: str
    columns: tuple[Chosen, ...]
    rows: list[Row]
    labels: tuple[str, ...]
    gold: Ids
    told: tuple[str, ...]
    """What was found, a line each."""
    warnings: tuple[str, ...]

    @property
    def renamed(self) -> dict[str, str]:
        """Our names to the file's, as a bundle keeps them."""
        return {each.ours: each.theirs for each in self.columns}

    @property
    def texts(self) -> list[str]:
        """What is read of each row; the first side of a pair."""
        return [row.values[self.columns[0].ours] for row in self.rows]

    def groups(self) -> list[Hashable]:
        """What must not be torn apart: equal texts, and pairs with the same first side."""
        return [" ".join(text.casefold().split()) for text in self.texts]

    def some(self, places: Ids) -> list[Row]:
        """Those of some places."""
        return [self.rows[place] for place in places.tolist()]


def read_labelled(
    given: Given,
    task: str,
    rename: dict[str, str] | None,
    *,
    labels: Sequence[str] = (),
    least: int = LEAST_ROWS,
) -> LabelledTable:
    """Read the rows of a task from a table.

    Args:
        given: The file, or rows in memory.
        task: `"classify"` or `"match"`.
        rename: What `--columns` says.
        labels: Those of the training rows, for a file that is measured on.
        least: The fewest rows that are of any use.

    Raises:
        InputError: There is nothing to learn from it, with the reason.
    """
    sheet = read_sheet(given, rename)
    columns = choose_columns(sheet, task, rename or {})
    rows, told = _clean(sheet, columns)
    if len(rows) < least:
        raise InputError(
            f"{counted(len(rows), 'row')} with text and label; expected at least {least}",
            source=sheet.source,
        )
    answers = [row.values["label"] for row in rows]
    if not labels:
        check_labels(sheet, columns[-1], answers)
    known = tuple(labels) or tuple(sorted(set(answers)))
    places = {label: place for place, label in enumerate(known)}
    for row in rows:
        if row.values["label"] not in places:
            label = row.values["label"]
            raise InputError(
                f"label '{label:.40}' is not one of {', '.join(known[:12])}",
                source=row.source,
                row=row.number,
            )
    return LabelledTable(
        source=sheet.source,
        columns=tuple(columns),
        rows=rows,
        labels=known,
        gold=np.array([places[label] for label in answers], dtype=np.int64),
        told=(*sheet.told, *map(str, columns), *told),
        warnings=() if labels else tuple(_odd(rows, columns)),
    )


def _clean(sheet: Sheet, columns: Sequence[Chosen]) -> tuple[list[Row], list[str]]:
    """Rows whose cells are all there, under our names, and what was left out."""
    rows: list[Row] = []
    blank: dict[str, list[int]] = defaultdict(list)
    for row in sheet.rows:
        values = {each.ours: row.values.get(each.theirs, "").strip() for each in columns}
        empty = next((each for each in columns if not values[each.ours]), None)
        if empty is None:
            rows.append(Row(values, row.number, row.source))
        else:
            blank[empty.theirs].append(row.number)
    told = [
        f"left out: {counted(len(numbers), 'row')} without “{name}” ({_rows(numbers)})"
        for name, numbers in blank.items()
    ]
    if sheet.bad:
        numbers = [each.row or 0 for each in sheet.bad]
        told.append(
            f"left out: {counted(len(sheet.bad), 'row')} that cannot be read ({_rows(numbers)}): "
            f"{sheet.bad[0].message}"
        )
    return rows, told


def _rows(numbers: Sequence[int]) -> str:
    shown = ", ".join(f"{number:,}" for number in numbers[:SHOWN])
    return f"row {shown}{', …' if len(numbers) > SHOWN else ''}"


def _odd(rows: Sequence[Row], columns: Sequence[Chosen]) -> list[str]:
    """What stands in the way of learning, each with what to do."""
    inputs = [each.ours for each in columns[:-1]]
    answered = [
        Answered(tuple(row.values[name] for name in inputs), row.values["label"], row.number)
        for row in rows
    ]
    counts = Counter(row.values["label"] for row in rows)
    found = [contradictions(answered, "rows"), single_rows(counts, "rows"), _alike(counts)]
    return [each for each in found if each is not None]


def _alike(counts: Counter[str]) -> str | None:
    """Labels that differ in case or spaces alone.

    >>> _alike(Counter({"Billing": 3, "billing": 1, "other": 2}))
    'labels that differ in case or spaces alone count as different ones: Billing, billing'
    """
    spelled: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        spelled["".join(label.casefold().split())].append(label)
    same = [labels for labels in spelled.values() if len(labels) > 1]
    if not same:
        return None
    shown = "; ".join(", ".join(labels) for labels in same[:SHOWN])
    return f"labels that differ in case or spaces alone count as different ones: {shown}"


def num_repeated(table: LabelledTable) -> int:
    """Rows that say again what an earlier one said."""
    return len(table.rows) - len({tuple(row.values.values()) for row in table.rows})


def deal_out(gold: Ids, groups: Sequence[Hashable], *, share: float, seed: int) -> tuple[Ids, Ids]:
    """Places of rows to learn from and to hold out: alike in their labels, groups in one piece.

    Args:
        gold: The label of each row.
        groups: What must not be torn apart.
        share: Of the rows, to be held out.
        seed: Of the choice.

    >>> kept, held = deal_out(np.array([0, 1] * 10), range(20), share=0.2, seed=1)
    >>> len(kept), len(held), sorted(np.array([0, 1] * 10)[held].tolist())
    (16, 4, [0, 0, 1, 1])
    """
    folds = stratified_folds(gold, groups, num_folds=max(2, round(1 / share)), seed=seed)
    return np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)


Say = Callable[[str], None]

"""Which column is the text and which the label: by their names first, then by what they hold."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from softquery.errors import InputError
from softquery.files.row import listed
from softquery.running.spreadsheet.column_names import (
    FIRST_NAMES,
    LABEL_NAMES,
    PAIR_LABEL_NAMES,
    SECOND_NAMES,
    TEXT_NAMES,
    plain_name,
)
from softquery.running.spreadsheet.sheet import Sheet

LOOKED_AT = 5_000
"""Rows whose cells are looked at."""
LONGEST_LABEL = 60
"""Characters of a label, in the mean."""
MOST_GRADES = 20
"""Different numbers from which on a column holds grades, and no classes."""
_DATE = re.compile(
    r"\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """A column, what it is taken for, and why."""

    ours: str
    theirs: str
    why: str

    def __str__(self) -> str:
        """A line for people."""
        return f"{self.ours}: “{self.theirs}” ({self.why})"


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnFacts:
    """What the cells of a column are like."""

    name: str
    num_rows: int
    num_filled: int
    num_different: int
    mean_length: float
    share_numbers: float
    share_dates: float
    has_fractions: bool

    @property
    def is_text(self) -> bool:
        """Whether it can be what is read: neither numbers nor dates."""
        return self.num_filled > 0 and self.share_numbers < 0.5 and self.share_dates < 0.5

    @property
    def is_constant(self) -> bool:
        """Whether it says the same of all rows, in words."""
        return self.num_different == 1 < self.num_filled == self.num_rows and self.is_text

    @property
    def is_label(self) -> bool:
        """Whether it can be what is learnt: few values that come again."""
        return (
            self.num_filled >= 0.5 * self.num_rows
            and 2 <= self.num_different <= max(2, self.num_filled // 2)
            and self.mean_length <= LONGEST_LABEL
            and self.share_dates < 0.5
            and not (self.has_fractions and self.num_different > MOST_GRADES)
        )


def facts_of(sheet: Sheet, name: str) -> ColumnFacts:
    """Look at a column."""
    cells = [cell.strip() for cell in sheet.column(name)[:LOOKED_AT]]
    filled = [cell for cell in cells if cell]
    many = max(1, len(filled))
    numbers = [cell for cell in filled if _is_number(cell)]
    return ColumnFacts(
        name=name,
        num_rows=len(cells),
        num_filled=len(filled),
        num_different=len(set(filled)),
        mean_length=sum(map(len, filled)) / many,
        share_numbers=len(numbers) / many,
        share_dates=sum(_DATE.fullmatch(cell) is not None for cell in filled) / many,
        has_fractions=any(not _is_whole(cell) for cell in numbers),
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _is_whole(cell: str) -> bool:
    return float(cell.replace(",", ".")).is_integer()


def choose_columns(sheet: Sheet, task: str, given: Mapping[str, str]) -> list[Chosen]:
    """The columns of a task.

    Args:
        sheet: The table.
        task: `"classify"` or `"match"`.
        given: What `--columns` says: our names to the table's.

    Raises:
        InputError: A column is missing, or several may be meant.
    """
    wanted = ("text", "label") if task == "classify" else ("sentence1", "sentence2", "label")
    for ours, theirs in given.items():
        if ours not in wanted:
            message = f'no column is called "{ours}"; known: {", ".join(wanted)}'
            raise InputError(message, source="--columns")
        if theirs not in sheet.names:
            raise InputError(
                f'no column "{theirs}"; found: {listed(sheet.names)}', source=sheet.source
            )
    found = {
        ours: Chosen(ours=ours, theirs=theirs, why="as --columns says")
        for ours, theirs in given.items()
    }
    pick = _text_and_label if task == "classify" else _pair_and_label
    pick(sheet, found)
    return [found[ours] for ours in wanted]


def _text_and_label(sheet: Sheet, found: dict[str, Chosen]) -> None:
    facts = {name: facts_of(sheet, name) for name in sheet.names}
    _by_name(facts, found, "text", TEXT_NAMES)
    _by_name(facts, found, "label", LABEL_NAMES)
    if "label" not in found:
        _label_by_content(sheet, facts, found)
    if "text" not in found:
        _texts_by_content(sheet, facts, found, ("text",))


def _pair_and_label(sheet: Sheet, found: dict[str, Chosen]) -> None:
    facts = {name: facts_of(sheet, name) for name in sheet.names}
    named = {plain_name(name): name for name in reversed(sheet.names)}
    if not {"sentence1", "sentence2"} & found.keys():
        for first, second in zip(FIRST_NAMES, SECOND_NAMES, strict=False):
            if first in named and second in named:
                for ours, theirs in (("sentence1", first), ("sentence2", second)):
                    found[ours] = Chosen(ours=ours, theirs=named[theirs], why="by its name")
                break
    _by_name(facts, found, "label", PAIR_LABEL_NAMES)
    if "label" not in found:
        _label_by_content(sheet, facts, found)
    missing = tuple(each for each in ("sentence1", "sentence2") if each not in found)
    if missing:
        _texts_by_content(sheet, facts, found, missing)


def _by_name(
    facts: Mapping[str, ColumnFacts], found: dict[str, Chosen], ours: str, names: Sequence[str]
) -> None:
    """The column whose name comes first in a list, where there is one that can be it."""
    if ours in found:
        return
    taken = {each.theirs for each in found.values()}
    known = {plain_name(name): name for name in reversed(list(facts)) if name not in taken}
    fitting = [known[name] for name in names if name in known and facts[known[name]].num_filled]
    if ours == "text":
        fitting = [name for name in fitting if facts[name].is_text]
    if not fitting:
        return
    others = f"; “{fitting[1]}” might be, too" if len(fitting) > 1 else ""
    found[ours] = Chosen(ours=ours, theirs=fitting[0], why=f"by its name{others}")


def _label_by_content(
    sheet: Sheet, facts: Mapping[str, ColumnFacts], found: dict[str, Chosen]
) -> None:
    taken = {each.theirs for each in found.values()}
    fitting = [each for each in facts.values() if each.name not in taken and each.is_label]
    worded = [each for each in fitting if each.share_numbers < 0.5]
    fitting = worded or fitting
    if not fitting:
        # The one column that says the same of all rows is refused as what it is: one label.
        fitting = [each for each in facts.values() if each.name not in taken and each.is_constant]
    if not fitting:
        raise _none_found(sheet, "label", "that holds a few values which come again")
    if len(fitting) > 1:
        names = listed([each.name for each in fitting])
        raise InputError(
            f"{len(fitting)} columns may be the label ({names}); "
            f"name it with --columns label={fitting[-1].name}",
            source=sheet.source,
        )
    (one,) = fitting
    why = f"{one.num_different} values come again in {one.num_filled:,} rows"
    found["label"] = Chosen(ours="label", theirs=one.name, why=why)


def _texts_by_content(
    sheet: Sheet,
    facts: Mapping[str, ColumnFacts],
    found: dict[str, Chosen],
    wanted: tuple[str, ...],
) -> None:
    """The columns with the longest texts, in their order."""
    taken = {each.theirs for each in found.values()}
    fitting = [each for each in facts.values() if each.name not in taken and each.is_text]
    fitting.sort(key=lambda each: -each.mean_length)
    if len(fitting) < len(wanted):
        raise _none_found(sheet, wanted[-1], "with text, beside the label")
    longest = {each.name for each in fitting[: len(wanted)]}
    places = [name for name in sheet.names if name in longest]
    for ours, name in zip(wanted, places, strict=True):
        why = f"the longest texts, {facts[name].mean_length:.0f} characters in the mean"
        found[ours] = Chosen(ours=ours, theirs=name, why=why)


def _none_found(sheet: Sheet, ours: str, like: str) -> InputError:
    return InputError(
        f"no column {like}; found: {listed(sheet.names)}; name it with --columns {ours}=NAME",
        source=sheet.source,
    )


def check_labels(sheet: Sheet, column: Chosen, labels: Sequence[str]) -> None:
    """Refuse labels that are none.

    Args:
        sheet: The table.
        column: That of the labels.
        labels: Of the rows that are used.

    Raises:
        InputError: One value alone, a value for each row, grades, or dates.
    """
    counts = Counter(labels)
    said = f"column “{column.theirs}”"
    remedy = "name the labels with --columns label=NAME"

    def refuse(message: str) -> InputError:
        return InputError(f"{said} {message}", source=sheet.source)

    if len(counts) == 1:
        raise refuse(f"has one label in all {len(labels):,} rows ({labels[0]:.40}); two are needed")
    facts = facts_of(sheet, column.theirs)
    if facts.share_dates >= 0.5:
        raise refuse(f"holds dates, and no labels; {remedy}")
    if facts.has_fractions and facts.share_numbers > 0.9 and facts.num_different > MOST_GRADES:
        raise refuse(
            f"holds {facts.num_different:,} different numbers: grades, and no labels; {remedy}, or "
            "cut them into classes"
        )
    if len(counts) == len(labels) or max(counts.values()) == 1:
        raise refuse(f"has another label in each of its {len(labels):,} rows; {remedy}")
    if len(counts) > 1000:
        raise refuse(f"has {len(counts):,} different labels; 1,000 are the most; {remedy}")

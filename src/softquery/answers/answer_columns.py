"""Answers as columns, of which pandas, polars and pyarrow make a table each in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def answer_columns(answers: Sequence[Any]) -> dict[str, list[Any]]:
    """A list for each field of some answers of one kind, and one for each label's probability.

    `pandas.DataFrame(answer_columns(answers))` is a frame, and so it is with `polars.DataFrame` and
    `pyarrow.table`.

    Args:
        answers: What `predict` gave.

    Raises:
        TypeError: They are no answers, or of several kinds.

    >>> from softquery.answers import Match
    >>> answer_columns([Match("yes", 0.75, {"no": 0.25, "yes": 0.75})])
    {'label': ['yes'], 'score': [0.75], 'probability_no': [0.25], 'probability_yes': [0.75]}
    """
    if isinstance(answers, (str, Mapping)) or not isinstance(answers, Sequence):
        raise TypeError(f"expected a list of answers, got {type(answers).__name__}")
    kinds = {type(each) for each in answers}
    if len(kinds) > 1 or not all(map(is_dataclass, kinds)):
        names = ", ".join(sorted(each.__name__ for each in kinds))
        raise TypeError(f"expected answers of one kind, got {names}")
    columns: dict[str, list[Any]] = {}
    for answer in answers:
        for each in fields(answer):
            value = getattr(answer, each.name)
            if each.name == "probabilities":
                for label, probability in value.items():
                    columns.setdefault(f"probability_{label}", []).append(probability)
            else:
                columns.setdefault(each.name, []).append(_plain(value))
    return columns


def _plain(value: Any) -> Any:
    """Tuples as lists, and those with names for their entries as mappings."""
    if isinstance(value, tuple):
        named = getattr(value, "_asdict", None)
        return named() if named else [_plain(each) for each in value]
    return value

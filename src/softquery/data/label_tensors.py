"""Labels of rows as tensors: classes, grades, or a teacher's distributions in their place."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from softquery.errors import InputError
from softquery.files import Row


def encode_labels(
    rows: list[Row],
    *,
    parse_label: Callable[[str], int],
    parse_distribution: Callable[[str], list[float]] | None = None,
) -> Shaped[Tensor, "N *C"]:
    """The rows' `label` as class ids, or as distributions where some rows have `probabilities`.

    Args:
        rows: As `read_rows` gives them.
        parse_label: From the label's text to a class id; a `ValueError` is reported with the row.
        parse_distribution: Reads `probabilities`; omitted, they are ignored.
    """
    label = torch.tensor([parsed_label(row, parse_label) for row in rows], dtype=torch.int64)
    if parse_distribution is None:
        return label
    taught = distributions(rows, parse_distribution)
    return softened(label, taught) if taught else label


def parsed_label(row: Row, parse_label: Callable[[str], int | float]) -> int | float:
    """One label; an error names its row."""
    try:
        return parse_label(row.values["label"])
    except ValueError as error:
        raise InputError(str(error), source=row.source, row=row.number) from None


def distributions(
    rows: list[Row], parse: Callable[[str], list[float]], *, before: int = 0
) -> dict[int, list[float]]:
    """The distributions of those rows that have one, by place, counted on from `before`."""
    found = {}
    for place, row in enumerate(rows, before):
        if row.values.get("probabilities", "").strip():
            try:
                found[place] = parse(row.values["probabilities"])
            except ValueError as error:
                raise InputError(str(error), source=row.source, row=row.number) from None
    return found


def softened(label: Int[Tensor, " N"], taught: Mapping[int, list[float]]) -> Tensor:
    """Class ids as one-hot distributions, replaced by a teacher's where there is one."""
    num_classes = len(next(iter(taught.values())))
    soft = torch.nn.functional.one_hot(label, num_classes).float()
    soft[torch.tensor(list(taught))] = torch.tensor(list(taught.values()))
    return soft

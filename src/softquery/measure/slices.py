"""Slices: the same metrics over groups of rows, which show where a model is weak.

A grouping is a dict from a name to the indices of its rows; `measure_slices` measures any grouping.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.basic_metrics import (
    Labels,
    as_labels,
    require_ids_below,
    require_same_length,
)

Groups = dict[str, Labels]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """A group of rows, and the metrics of the model on it."""

    name: str
    n: int
    metrics: dict[str, float]

    def to_dict(self) -> dict[str, str | int | float | None]:
        """Plain values for JSON; an undefined metric is None.

        >>> Slice(name="1-9", n=4, metrics={"accuracy": 0.75}).to_dict()
        {'slice': '1-9', 'n': 4, 'accuracy': 0.75}
        """
        plain = {key: None if np.isnan(value) else value for key, value in self.metrics.items()}
        return {"slice": self.name, "n": self.n, **plain}


def by_length(lengths: ArrayLike, edges: Sequence[int] | None = None) -> Groups:
    """Group rows by length, in whatever unit the caller counted.

    Args:
        lengths: One length per row.
        edges: The largest length of each group but the last, ascending; by default the quartiles.

    >>> groups = by_length([3, 12, 7, 40], edges=[5, 10])
    >>> {name: rows.tolist() for name, rows in groups.items()}
    {'0-5': [0], '6-10': [2], '11+': [1, 3]}
    """
    counts = as_labels(lengths, name="lengths")
    if edges is None:
        quartiles = np.quantile(counts, [0.25, 0.5, 0.75], method="inverted_cdf")
        edges = [int(edge) for edge in np.unique(quartiles)]
    if any(low >= high for low, high in zip(edges, edges[1:], strict=False)):
        raise ValueError(f"edges must rise, got {list(edges)}")
    bucket = np.searchsorted(np.asarray(edges), counts, side="left")
    lows = [0, *(edge + 1 for edge in edges)]
    names = [f"{low}-{high}" for low, high in zip(lows, edges, strict=False)] + [f"{lows[-1]}+"]
    return _groups(bucket, names)


def by_label(gold: ArrayLike, labels: Sequence[str]) -> Groups:
    """Group rows by gold label, in the order of `labels`.

    >>> {name: rows.tolist() for name, rows in by_label([1, 0, 1], ["no", "yes"]).items()}
    {'no': [1], 'yes': [0, 2]}
    """
    gold_ids = as_labels(gold, name="gold")
    require_ids_below(gold_ids, len(labels), name="gold")
    return _groups(gold_ids, labels)


def by_value(values: Sequence[Hashable], *, max_groups: int = 20) -> Groups:
    """Group rows by the value of a column, most frequent first; the rarest share `(other)`.

    Args:
        values: The column.
        max_groups: The most groups, `(other)` included.

    >>> groups = by_value(["news", "chat", "news", "law"], max_groups=2)
    >>> {name: rows.tolist() for name, rows in groups.items()}
    {'news': [0, 2], '(other)': [1, 3]}
    """
    if max_groups < 2:
        raise ValueError(f"max_groups must be at least 2, got {max_groups}")
    names = [str(value) for value in values]
    common = [name for name, _ in Counter(names).most_common()]
    if len(common) > max_groups:
        common = [*common[: max_groups - 1], "(other)"]
    place = {name: index for index, name in enumerate(common)}
    return _groups(np.array([place.get(name, len(common) - 1) for name in names]), common)


def measure_slices(
    groups: Mapping[str, Labels],
    metrics: Mapping[str, Callable[..., float]],
    *arrays: ArrayLike,
) -> list[Slice]:
    """Measure each group of rows by itself.

    Args:
        groups: From `by_length`, `by_label` or `by_value`.
        metrics: Each takes the arrays in order and returns a number.
        arrays: Aligned on their first axis, such as gold and predicted.

    >>> from softquery.measure.basic_metrics import accuracy
    >>> groups = by_label([0, 0, 1], ["no", "yes"])
    >>> for part in measure_slices(groups, {"accuracy": accuracy}, [0, 0, 1], [0, 1, 1]):
    ...     print(part.name, part.n, part.metrics)
    no 2 {'accuracy': 0.5}
    yes 1 {'accuracy': 1.0}
    """
    columns = [np.asarray(array) for array in arrays]
    require_same_length(**{f"array {place}": column for place, column in enumerate(columns, 1)})
    return [
        Slice(
            name=name,
            n=len(rows),
            metrics={
                key: float(metric(*(column[rows] for column in columns)))
                for key, metric in metrics.items()
            },
        )
        for name, rows in groups.items()
    ]


def _groups(bucket: Labels, names: Sequence[str]) -> Groups:
    """The rows of each group that has any, in the order of `names`."""
    rows = {name: np.flatnonzero(bucket == place) for place, name in enumerate(names)}
    return {name: places for name, places in rows.items() if len(places)}

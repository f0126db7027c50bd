"""Folds for cross-validation: alike in their labels, and with equal inputs together."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from softquery.measure.basic_metrics import Labels, as_labels, require_same_length

NEVER = -1
"""The fold of rows that are always learnt from."""


def stratified_folds(
    labels: ArrayLike, groups: Sequence[Hashable], *, num_folds: int = 5, seed: int = 0
) -> Labels:
    """The fold of each row, such that every label is learnt whichever fold is held out.

    Rows of a group stay together, and every label is spread over the folds as evenly as it can be.
    A group without which a label would be unknown is in no fold (-1): it is always learnt from.

    Args:
        labels: One label id per row.
        groups: What must not be torn apart, such as the text of each row.
        num_folds: The most folds.
        seed: Of the order in which groups are dealt out.

    >>> stratified_folds([0, 0, 0, 0, 1], "aabcd", num_folds=2).tolist()
    [1, 1, 0, 0, -1]
    """
    gold = as_labels(labels, name="labels")
    require_same_length(labels=gold, groups=np.empty(len(groups)))
    if num_folds < 2:
        raise ValueError(f"num_folds must be at least 2, got {num_folds}")
    rows: dict[Hashable, list[int]] = defaultdict(list)
    holders: dict[int, set[Hashable]] = defaultdict(set)
    for row, (label, group) in enumerate(zip(gold.tolist(), groups, strict=True)):
        rows[group].append(row)
        holders[label].add(group)
    needed = {next(iter(found)) for found in holders.values() if len(found) == 1}
    free = [group for group in rows if group not in needed]
    shuffled = [free[place] for place in np.random.default_rng(seed).permutation(len(free))]
    # Neighbours of a label get neighbouring folds, so that no fold has all of them.
    shuffled.sort(key=lambda group: int(gold[rows[group][0]]))
    folds: Labels = np.full(len(gold), NEVER, dtype=np.int64)
    for place, group in enumerate(shuffled):
        folds[rows[group]] = place % num_folds
    for found in holders.values():  # by rows that contradict each other
        places = {int(folds[rows[group][0]]) for group in found}
        if len(places) == 1 and NEVER not in places:
            folds[rows[min(found, key=lambda group: rows[group][0])]] = NEVER
    return folds

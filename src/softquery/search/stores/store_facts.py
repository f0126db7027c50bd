"""How alike the rows of a store are to each other, as `measure_facts` measures those of a folder.

Who writes measures, so that all who search see the same; and only after so many rows have changed
that it might matter.
"""

from dataclasses import replace

import numpy as np

from softquery.search.score.index_facts import SAMPLE, IndexFacts
from softquery.search.stores.row_store import RecallRequest, RowStore, StoreState

CHANGED = 0.01
"""The share of rows by which an index must have grown or shrunk to be measured again."""


def current_facts(state: StoreState) -> IndexFacts:
    """What is known of the rows; how many there are is always as it is now."""
    return replace(state.facts or IndexFacts(state.num_rows), num_rows=state.num_rows)


def is_outdated(state: StoreState) -> bool:
    """Whether the rows have changed too much since they were measured."""
    if state.facts is None:
        return True
    return abs(state.num_rows - state.facts.num_rows) > CHANGED * state.facts.num_rows


def measure_store(store: RowStore) -> IndexFacts:
    """Measure the rows of a store; below two there is nothing to compare."""
    num_rows = store.state().num_rows
    drawn = store.sample(SAMPLE)
    if len(drawn) < 2:
        return IndexFacts(num_rows)
    sample = np.stack([row.vector for row in drawn]).astype(np.float32)
    cosines = sample @ sample.T
    others = cosines[~np.eye(len(sample), dtype=np.bool_)]
    near = []
    for row, vector in zip(drawn, sample, strict=True):
        found = store.recall(RecallRequest(count=2, vector=vector)).rows
        others_near = [each.vector for number, each in found.items() if number != row.number]
        near.append(max([-1.0, *(float(each.astype(np.float32) @ vector) for each in others_near)]))
    return IndexFacts(num_rows, float(np.mean(near)), float(others.mean()), float(others.std()))

"""How alike the rows of a store are to each other, as `measure_facts` measures those of a folder.

Who writes measures, so that all who search see the same; and only after so many rows have changed
that it might matter.
"""

from dataclasses import replace

import numpy as np

from softquery.search.score.index_facts import SAMPLE, IndexFacts, answer_of, facts_of
from softquery.search.storage.entries import ANSWER, ID, MATCHED
from softquery.search.stores.row_store import RecallRequest, RowStore, StoredRow, StoreState

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
    near, same = [], []
    for row, vector in zip(drawn, sample, strict=True):
        found = store.recall(RecallRequest(count=2, vector=vector)).rows
        cosines = {
            number: float(each.vector.astype(np.float32) @ vector)
            for number, each in found.items()
            if number != row.number
        }
        nearest = max(cosines, key=lambda number: (cosines[number], -number), default=row.number)
        near.append(cosines.get(nearest, -1.0))
        same.append(_answer(found.get(nearest, row)) == _answer(row))
    return facts_of(num_rows, sample, near, same)


def _answer(row: StoredRow) -> tuple[str, str]:
    return answer_of(*(row.columns.get(column, "") for column in (ID, MATCHED, ANSWER)))

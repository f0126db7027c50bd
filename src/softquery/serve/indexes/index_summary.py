"""What a page tells about an index before anybody asks: its columns, filters, and some questions.

It reads rows and runs no model.
"""

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from softquery.bundle import Bundle
from softquery.bundle.card import card_languages
from softquery.bundle.config import CARD, read_text
from softquery.runtime import Matcher
from softquery.runtime.bert.backend import is_bert
from softquery.runtime.match.backend import is_pair_head
from softquery.runtime.vectors.text_vectors import own_vectors
from softquery.search import IndexView, StoreIndex
from softquery.search.storage.entries import MATCHED

NUM_EXAMPLES = 4
"""How many of its questions an index shows."""
LONGEST_EXAMPLE = 70
"""Characters of a question that is shown."""
MOST_VALUES = 24
"""The most values of a column that is offered as a filter."""
LONGEST_VALUE = 40
MOST_ROWS = 100_000
"""Rows up to which filters are looked for."""
OWN = ("id", "question", "answer", "phrasings", "weight", "matched")
"""Columns that are no filters, whatever they hold."""


def index_facts(index: IndexView) -> dict[str, Any]:
    """What is known of an index without looking at its rows."""
    return {
        "rows": len(index),
        "columns": [name for name in index.manifest.columns if name != MATCHED],
        "min_score": index.min_score,
        "language": language_of_bundle(index.matcher.bundle),
        "explains": aligns_words(index.matcher),
    }


def aligns_words(matcher: Matcher) -> bool:
    """Whether a matcher shows which words looked at which."""
    if is_bert(matcher.bundle):
        return False
    return is_pair_head(matcher.bundle) or own_vectors(matcher).pooling != "own"


def language_of_bundle(bundle: Bundle) -> str:
    """The language that a model reads, as far as its text pipeline and its card tell."""
    if bundle.config.text.get("unit") in ("characters", "jieba"):
        return "zh"
    return _first_of_card(bundle.path / CARD)


@lru_cache(maxsize=256)
def _first_of_card(card: Path) -> str:
    return next(iter(card_languages(read_text(card))), "en")


def index_summary(index: IndexView) -> dict[str, Any]:
    """The facts of an index, some of its questions, and the columns that can filter it."""
    return {**index_facts(index), "examples": _examples(index), "filters": _filters(index)}


def _examples(index: IndexView) -> list[str]:
    """Short questions from all over the index, always the same ones."""
    if isinstance(index, StoreIndex):
        drawn = [row.columns["question"].strip() for row in index.store.sample(4 * NUM_EXAMPLES)]
        short = dict.fromkeys(each for each in drawn if len(each) <= LONGEST_EXAMPLE)
        return list(short)[:NUM_EXAMPLES]
    places = [(segment, row) for segment in index.segments for row in segment.given_rows]
    step = max(1, len(places) // NUM_EXAMPLES)
    found: list[str] = []
    for first in range(step // 2, len(places), step):
        for segment, row in places[first : first + min(step, 20)]:
            question = segment.cells.text(row, "question").strip()
            if len(question) <= LONGEST_EXAMPLE and question not in found:
                found.append(question)
                break
    return found[:NUM_EXAMPLES]


def _filters(index: IndexView) -> dict[str, list[str]]:
    """Columns with few values, each with its values; none of a very large index or a database."""
    if len(index) > MOST_ROWS or isinstance(index, StoreIndex):
        return {}
    found = {name: _values(index, name) for name in index.manifest.columns if name not in OWN}
    return {name: values for name, values in found.items() if len(values) > 1}


def _values(index: IndexView, column: str) -> list[str]:
    """The values of a column in alphabetical order; none if they are many, long, or missing."""
    counts: Counter[str] = Counter()
    for segment in index.segments:
        is_there = column in segment.cells.columns  # older segments, or shards, may lack it
        for row in segment.given_rows:
            counts[segment.cells.text(row, column) if is_there else ""] += 1
            if len(counts) > MOST_VALUES:
                return []
    fits = len(counts) * 2 <= counts.total() and all(len(each) <= LONGEST_VALUE for each in counts)
    return sorted(filter(None, counts)) if fits else []

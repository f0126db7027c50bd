r"""What comparing fewer of the recalled rows costs: answers by the learned score, for several cuts.

    python benchmarks search first_cut DATA [--queries 1000] [--rows 20000] [--language en] \
        [--output FILE.json]

English: questions of `qqp_20k`; Chinese: of `lcqmc` and `bq`, dev. The queries are questions whose
duplicate is stored and which are not stored themselves. All 50 rows are compared once; each cut
keeps the log-odds of the rows that it would have compared, and predicts the others. An order is
what the cut goes by: cosine and BM25, or those and late interaction, which is the cosine of the
worst token of either text and its nearest of the other, over the matcher's states. Prints the least
squares behind the weights, and MRR, first rows right, queries answered at the default aim, those
answered rightly, and how often the first row stays the same.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softquery import Index
from softquery.files import find_split, read_rows
from softquery.search.aims import DEFAULT_AIM
from softquery.search.query.first_cut import filled, predicted_log_odds
from softquery.search.query.retrieval import compared, stored_encodings
from softquery.search.query.searched_rows import SegmentRows
from softquery.search.query.stages import STAGES
from softquery.search.score.row_score import best_rows, shipped_score
from softquery.search.score.signals import Signals

SOURCES = {"en": ("qqp_20k",), "zh": ("lcqmc", "bq")}
MOST_ROWS = 20_000
CUTS = (8, 12, 16, 25)
Numbers = NDArray[np.float64]


class Asked(NamedTuple):
    """One query: what all stages say of its rows, and which of them is right."""

    signals: Signals
    right: int | None
    late: Numbers
    """The worst token's similarity, of the query and of each row: [2, N]."""


def questions(
    folder: Path, language: str, count: int, most: int
) -> tuple[list[str], dict[str, str]]:
    """What is stored, and queries with their answers."""
    pairs = []
    for name in SOURCES[language]:
        path = find_split(folder / name, "dev")
        for row in read_rows(path, columns=("sentence1", "sentence2", "label")):
            pairs.append([row.values[key] for key in ("sentence1", "sentence2", "label")])
    draw, queries, keep = random.Random(1), dict[str, str](), set[str]()
    same = [(a, b) for a, b, label in pairs if label == "1" and a != b]
    draw.shuffle(same)
    for asked, answer in same:
        if len(queries) < count and not {asked} & keep and answer not in queries:
            queries[asked] = answer
            keep.add(answer)
    others = list(dict.fromkeys(text for a, b, _ in pairs for text in (a, b)))
    others = [text for text in others if text not in queries and text not in keep]
    draw.shuffle(others)
    return [*sorted(keep), *others[: most - len(keep)]], queries


def ask(index: Index, query: str, answer: str) -> Asked:
    """Compare a query with all of its rows."""
    search = index.steps(query)
    for _ in search.recall():
        pass
    places = list(search.recalled.places)
    probabilities = compared(SegmentRows(index.segments), index.models, query, places)
    search.compared = []
    signals = search._known(places, probabilities)
    texts = [index.segments[each.segment].cells.text(each.row, "question") for each in places]
    rows = stored_encodings(index.segments, places) or []
    (own,) = index.matcher.encodings([query])
    right = texts.index(answer) if answer in texts else None
    return Asked(signals, right, np.array([_late(own, row) for row in rows]).T)


def _late(query: Any, row: Any) -> tuple[float, float]:
    size = query.shape[1] // 2
    one, other = (
        each[:, :size] / np.linalg.norm(each[:, :size], axis=1)[:, None] for each in (query, row)
    )
    cosines = one @ other.T
    return float(cosines.max(axis=1).min()), float(cosines.max(axis=0).min())


def measure(asked: Sequence[Asked], order: Sequence[Numbers], count: int) -> dict[str, float]:
    """Answers if so many rows are compared, by an order of each query's rows."""
    score, found = shipped_score(), []
    least = score.threshold(DEFAULT_AIM, STAGES)
    for each, value in zip(asked, order, strict=True):
        matcher = each.signals.matcher.copy()
        matcher[np.argsort(-value, kind="stable")[count:]] = np.nan
        expected = predicted_log_odds(each.signals.cosine, each.signals.words)
        signals = replace(each.signals, matcher=filled(matcher, expected))
        scores = score.of(signals, STAGES)
        ranked = best_rows(scores.tolist(), signals)
        whole = best_rows(score.of(each.signals, STAGES).tolist(), each.signals)
        rank = None if each.right is None else ranked.index(each.right) + 1
        given = bool(scores.max() >= least)
        found.append(
            (1 / rank if rank else 0, rank == 1, given, given and rank == 1, ranked[0] == whole[0])
        )
    names = ("mrr", "first_right", "answered", "answered_rightly", "same_first")
    means = np.mean(np.array(found, dtype=np.float64), axis=0).tolist()
    return {name: round(value, 4) for name, value in zip(names, means, strict=True)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("--language", choices=sorted(SOURCES), default="en")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    stored, queries = questions(options.data, options.language, options.queries, options.rows)
    with tempfile.TemporaryDirectory() as scratch:
        rows = ({"id": str(number), "question": text} for number, text in enumerate(stored))
        model = f"match-{options.language}"
        index = Index.build(rows, Path(scratch) / "faq.sq", model=model, threads=1)
        asked = [ask(index, query, answer) for query, answer in queries.items()]
    columns = [
        np.concatenate([getattr(each.signals, name) for each in asked])
        for name in ("cosine", "words")
    ]
    late = np.concatenate([each.late for each in asked], axis=1)
    matcher = np.concatenate([each.signals.matcher for each in asked])
    weights = {}
    for name, parts in (("cosine, words", columns), ("late interaction", [*columns, *late])):
        table = np.stack([*parts, np.ones(len(matcher))], axis=1)
        weights[name] = np.linalg.lstsq(table, matcher, rcond=None)[0]
    orders = {
        "cosine, words": [
            predicted_log_odds(each.signals.cosine, each.signals.words) for each in asked
        ],
        "late interaction": [
            np.stack([each.signals.cosine, each.signals.words, *each.late], axis=1)
            @ weights["late interaction"][:4]
            for each in asked
        ],
    }
    result: dict[str, Any] = {
        "rows": len(stored),
        "queries": len(asked),
        "least_squares": {name: each.round(2).tolist() for name, each in weights.items()},
        "all 50": measure(asked, orders["cosine, words"], 50),
    }
    for name, order in orders.items():
        result |= {f"{name}, {count}": measure(asked, order, count) for count in CUTS}
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

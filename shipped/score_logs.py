"""What a log of unlabelled queries tells of scores, fitted to indexes whose queries are labelled.

    python shipped/score_logs.py en.npz zh.npz --left-out left_out --score row_score.json

Run after `shipped/search_score.py`, whose files it completes: for the shipped score by all sets,
for that of each set by the other folds, every query scored by the score that has not seen its set.

Of every case: how the scores of its queries are distributed, and what would have to be added to
their log-odds so that they are as high on average as the first rows are right. A ridge regression
leads from one to the other; its penalty was chosen by the sets that `benchmarks search intents`
reports apart, and by the Chinese ones, left out by folds of sets.

C cases, K features.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from score_records import Record, read_records
from search_score import DOUBTFUL, UNANSWERABLE, deal, importance, with_stages

from softquery.search.query.stages import STAGES
from softquery.search.score.log_offset import MOST, LogOffset, log_features, no_offset
from softquery.search.score.row_score import read_score, write_score
from softquery.search.tuning.tuned_score import log_odds

PENALTY = 3.0
LEAST_QUERIES = 60
"""A case with fewer queries tells too little of how its scores are distributed."""


def fit_offset(
    cases: Sequence[tuple[str, str]], scores: np.ndarray, right: np.ndarray, counts_as: np.ndarray
) -> LogOffset:
    """What the scores of a log come to.

    Args:
        cases: The set and the case of each query.
        scores: That of its first row, by a score that has not seen its set.
        right: Whether that row is right.
        counts_as: What the query counts beside the others of its case.
    """
    by_case: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        by_case[case].append(place)
    kept = {case: each for case, each in by_case.items() if len(each) >= LEAST_QUERIES}
    if not kept:
        return no_offset()
    counts = Counter(name for name, _ in kept)
    odds = log_odds(scores)
    rows = np.array([log_features(odds[each], counts_as[each]) for each in kept.values()])
    wanted = np.array([missing(odds[each], right[each], counts_as[each]) for each in kept.values()])
    weights = np.array([counts[name] ** -0.5 for name, _ in kept])
    centres, scales = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    scaled, usual = (rows - centres) / scales, float(np.average(wanted, weights=weights))
    bend = (scaled * weights[:, None]).T @ scaled + PENALTY * np.eye(scaled.shape[1])
    found = np.linalg.solve(bend, (scaled * weights[:, None]).T @ (wanted - usual))
    return LogOffset(centres.tolist(), scales.tolist(), found.tolist(), usual)


def missing(odds: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    """What has to be added to log-odds so that probabilities are as high as rows are right.

    >>> round(missing(np.zeros(4), np.array([True, True, True, False]), np.ones(4)), 2)
    1.1
    """
    low, high, wanted = -MOST, MOST, float(np.average(right, weights=weights))
    for _ in range(40):
        middle = (low + high) / 2
        if float(np.average(1 / (1 + np.exp(-(odds + middle))), weights=weights)) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def first_rows(records: Sequence[Record], folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The score of the first row of each query, by the score without its set; is it right?"""
    scores = {name: read_score(folder / f"{name}.json") for name in {r.set for r in records}}
    first, right = np.zeros(len(records)), np.zeros(len(records), dtype=np.bool_)
    for place, each in enumerate(records):
        found = scores[each.set].of(with_stages(each, STAGES).signals, STAGES)
        if len(found):
            best = int(found.argmax())
            first[place], right[place] = found[best], each.right[best]
    return first, right


def complete(records: Sequence[Record], folder: Path, shipped: Path) -> None:
    """Fit the offsets, and write them into all scores."""
    scores, right = first_rows(records, folder)
    cases = [(each.set, each.case) for each in records]
    weights = np.array([importance(each, UNANSWERABLE, DOUBTFUL) for each in records])
    fold_of = deal(records)
    folds = np.array([fold_of[name] for name, _ in cases])
    for fold in (None, *sorted(set(fold_of.values()))):
        kept = np.flatnonzero(folds != (-1 if fold is None else fold))
        offset = fit_offset([cases[k] for k in kept], scores[kept], right[kept], weights[kept])
        own = [folder / f"{name}.json" for name, number in fold_of.items() if number == fold]
        for path in [shipped] if fold is None else own:
            write_score(path, replace(read_score(path), log=offset))


def main() -> None:
    """Complete a score and those that have not seen each set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--left-out", type=Path, required=True)
    parser.add_argument("--score", type=Path, required=True)
    options = parser.parse_args()
    records = [each for path in options.records for each in read_records(path)]
    complete(records, options.left_out, options.score)


if __name__ == "__main__":
    main()

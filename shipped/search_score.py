r"""Fits the score of search, and judges it on sets that it has not seen.

    python shipped/score_records.py DATA en.npz --language en --vectors embed-en
    python shipped/score_records.py DATA zh.npz --language zh --vectors embed-zh
    python shipped/search_score.py en.npz zh.npz --left-out left_out --judged judged.json \
        --output src/softquery/search/score/row_score.json

Sets are dealt into a few folds. For each, a score is fitted on the sets of all others and asked
about its own: these answers give the calibration, the curve of thresholds and all figures. The
score that is shipped has seen all sets. `--left-out` keeps, for each set, the score without its
fold, calibrated and with thresholds by the other folds, for benchmarks/search/intents.py.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from score_fits import Fit, Table, fit, fit_logistic, logistic
from score_records import PER_ROW, Record, read_records

from softquery.search.aims import AimCurve
from softquery.search.query.first_cut import filled, num_compared, predicted_log_odds
from softquery.search.query.retrieval import SearchOptions
from softquery.search.query.stages import RERANK, STAGES, VECTORS, WORDS, Stages, shown_stages
from softquery.search.score.features import CIRCUMSTANCES, EVIDENCE, SUMS, circumstances_of
from softquery.search.score.row_score import (
    RowScore,
    StageScore,
    read_score,
    write_score,
)
from softquery.search.score.signals import Signals

SUBSETS: tuple[Stages, ...] = tuple(
    chain.from_iterable(combinations(STAGES, size) for size in (3, 2, 1))
)
STAGE_OF = {
    "cosine": VECTORS, "centred": VECTORS, "query_mean": VECTORS, "words": WORDS,
    "matcher": RERANK,
}  # fmt: skip
LEARNED_UNANSWERABLE, UNANSWERABLE, ONE_ROW, DOUBTFUL = 3.0, 0.3, 0.5, 0.3
"""What a query counts beside one that has an answer: one without, to trust, which must tell the two
apart, and to calibration, where they are to be about a tenth of all; any query of an
index of one row per intent, which nobody would have drawn so; and, in calibration, one without an
answer in an index of paraphrases, of which some mean the same as a stored row without being marked
so."""
PARAPHRASES = ("pairs", "topics", "domain")
MOST_THRESHOLDS = 64
MOST_ROWS = 50
FOLDS = 6


@dataclass(frozen=True, slots=True)
class Answer:
    """The row that a score puts first, before calibration."""

    set: str
    case: str
    total: float
    is_right: bool
    is_answerable: bool


def with_stages(each: Record, stages: Stages) -> Record:
    """What would be known if a search used these stages alone."""
    signals = each.signals
    if stages == STAGES:
        return replace(each, signals=first_cut(signals))
    missing = {
        name: np.full(len(signals), np.nan)
        for name, stage in STAGE_OF.items()
        if stage not in stages and name in EVIDENCE
    }
    found = replace(each, signals=replace(signals, **missing))
    return _rows(found, signals.words > 0) if stages in ((WORDS,), (WORDS, RERANK)) else found


def first_cut(signals: Signals) -> Signals:
    """With the matcher's log-odds of those rows alone that a search compares."""
    options = SearchOptions()
    count = num_compared(options.candidates, options.top_k)
    if count >= len(signals) or np.isnan(signals.cosine).any():
        return signals
    expected = predicted_log_odds(signals.cosine, signals.words)
    known = np.full(len(signals), np.nan)
    first = np.argsort(-expected, kind="stable")[:count]
    known[first] = signals.matcher[first]
    return replace(signals, matcher=filled(known, expected))


def _rows(each: Record, kept: np.ndarray) -> Record:
    arrays = {name: getattr(each.signals, name)[kept] for name in PER_ROW}
    return replace(each, signals=replace(each.signals, **arrays), right=each.right[kept])


def columns_of(stages: Stages) -> tuple[list[str], list[str]]:
    """The kinds of evidence and the circumstances that some stages know."""
    known = [
        [name for name in names if STAGE_OF.get(name, stages[0]) in stages]
        for names in (EVIDENCE, CIRCUMSTANCES)
    ]
    return known[0], known[1]


def make_table(records: Sequence[Record], stages: Stages) -> Table:
    """What some stages have found for queries."""
    evidence, circumstances = columns_of(stages)
    shape = (len(records), MOST_ROWS)
    table = Table(
        np.zeros((*shape, len(evidence))),
        np.zeros((len(records), len(circumstances))),
        np.full(shape, -1, dtype=np.int64),
        np.zeros(shape, dtype=np.bool_),
        np.array([each.is_answerable for each in records]),
    )
    for place, each in enumerate(records):
        seen = with_stages(each, stages)
        signals, count = seen.signals, min(len(seen.signals), MOST_ROWS)
        for column, name in enumerate(evidence):
            table.evidence[place, :count, column] = getattr(signals, name)[:count]
        known = circumstances_of(signals)
        table.circumstances[place] = [known[name] for name in circumstances]
        numbers = np.unique(signals.answer[:count], return_inverse=True)[1]
        table.answer[place, :count] = numbers
        table.right[place, :count] = seen.right[:count]
    return table


def importance(query: "Record | Answer", unanswerable: float, doubtful: float = 1.0) -> float:
    """What a query counts beside the others of its case."""
    found = 1.0 if query.is_answerable else unanswerable
    if not query.is_answerable and query.case.split()[0] in PARAPHRASES:
        found *= doubtful
    return found * (ONE_ROW if query.case == "one" else 1.0)


def fitted(table: Table, records: Sequence[Record], kept: np.ndarray) -> Fit:
    """Weights that have seen some of the queries."""
    counts = Counter((each.set, each.case) for each in records)
    shares = np.array([counts[each.set, each.case] ** -0.5 for each in records])
    evidence, trust = (
        shares * np.array([importance(each, weight) for each in records])
        for weight in (1.0, LEARNED_UNANSWERABLE)
    )
    return fit(table[kept], evidence[kept], trust[kept])


def answers(found: Fit, table: Table, records: Sequence[Record]) -> list[Answer]:
    """The first row of each query."""
    totals = found.totals(table)
    first = totals.argmax(axis=1)
    result = []
    for place, (each, row) in enumerate(zip(records, first.tolist(), strict=True)):
        total = max(-20.0, float(totals[place, row]))
        is_right = bool(table.right[place, row])
        result.append(Answer(each.set, each.case, total, is_right, each.is_answerable))
    return result


def calibrate(found: Sequence[Answer]) -> tuple[float, float, AimCurve]:
    """Slope, offset and the curve of thresholds, every case counting alike.

    The curve is one of queries that have an answer. Those that have none are kept out by what they
    do to slope and offset.
    """
    counts = Counter((each.set, each.case) for each in found)
    weights = np.array(
        [importance(each, UNANSWERABLE, DOUBTFUL) / counts[each.set, each.case] for each in found]
    )
    total = np.array([each.total for each in found])
    right = np.array([each.is_right for each in found], dtype=np.float64)
    answerable = np.array([each.is_answerable for each in found])
    (slope,), offset = fit_logistic(total[:, None], right, weights)
    scores = logistic(slope * total + offset)
    grid = np.unique(np.round(np.quantile(scores, np.linspace(0, 1, MOST_THRESHOLDS)), 4))
    precision, coverage = [], []
    for threshold in grid.tolist():
        given = (scores >= threshold) & answerable
        precision.append(float(weights[given] @ right[given] / max(weights[given].sum(), 1e-9)))
        coverage.append(float(weights[given].sum() / weights[answerable].sum()))
    kept = [place for place, value in enumerate(coverage) if value > 0]
    curve = AimCurve(*([column[k] for k in kept] for column in (grid, precision, coverage)))
    return float(slope), offset, curve


def calibrated(found: Fit, stages: Stages, judged_by: Sequence[Answer]) -> StageScore:
    """Weights as a score, by how others that had not seen their sets answered them."""
    slope, offset, curve = calibrate(judged_by)
    evidence, circumstances = columns_of(stages)
    trust = dict(zip((*SUMS, *circumstances), (slope * found.trust).tolist(), strict=True))
    return StageScore(
        evidence=dict(zip(evidence, found.evidence.tolist(), strict=True)),
        none=dict(zip(circumstances, found.none.tolist(), strict=True)),
        none_offset=found.none_offset,
        trust=trust,
        offset=slope * found.offset + offset,
        curve=curve,
    )


def deal(records: Sequence[Record], folds: int = FOLDS) -> dict[str, int]:
    """The fold of each set: about as many queries in each."""
    sizes = Counter(each.set for each in records)
    loads, found = [0] * min(folds, len(sizes)), {}
    for name, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        fold = loads.index(min(loads))
        loads[fold] += size
        found[name] = fold
    return found


def fit_all(records: Sequence[Record], folder: Path) -> tuple[RowScore, dict[str, list[Answer]]]:
    """The score of all sets, and how those without a fold answered it; these go to a folder."""
    fold_of = deal(records)
    folds = np.array([fold_of[each.set] for each in records])
    every: dict[str, StageScore] = {}
    own: dict[int, dict[str, StageScore]] = {fold: {} for fold in sorted(set(fold_of.values()))}
    by_stages: dict[str, list[Answer]] = {}
    for stages in SUBSETS:
        name, table = shown_stages(stages), make_table(records, stages)
        fits = {fold: fitted(table, records, folds != fold) for fold in own}
        found = [
            answers(fits[fold], table[folds == fold], _chosen(records, folds == fold))
            for fold in own
        ]
        by_stages[name] = list(chain.from_iterable(found))
        for fold in own:
            others = [each for each in by_stages[name] if fold_of[each.set] != fold]
            own[fold][name] = calibrated(fits[fold], stages, others)
        last = fitted(table, records, np.ones(len(records), dtype=np.bool_))
        every[name] = calibrated(last, stages, by_stages[name])
        print(f"{name}: {every[name].evidence}", flush=True)
    for set_name, fold in fold_of.items():
        write_score(folder / f"{set_name}.json", RowScore(own[fold]))
    return RowScore(every), by_stages


def _chosen(records: Sequence[Record], chosen: np.ndarray) -> list[Record]:
    return [records[place] for place in np.flatnonzero(chosen)]


def judged(records: Sequence[Record], folder: Path, stages: Stages) -> dict[str, Any]:
    """Figures of each set and case, by the score without that set."""
    result: dict[str, Any] = {}
    scores = {name: read_score(folder / f"{name}.json") for name in {r.set for r in records}}
    cases: dict[str, list[tuple[float, bool, bool]]] = {}
    for each in records:
        seen = with_stages(each, stages)
        found = scores[each.set].of(seen.signals, stages)
        first = int(found.argmax()) if len(found) else -1
        row = (float(found[first]), bool(seen.right[first])) if len(found) else (0.0, False)
        cases.setdefault(f"{each.set}: {each.case}", []).append((*row, each.is_answerable))
    for name, rows in cases.items():
        values, right, answerable = (np.array(column) for column in zip(*rows, strict=True))
        result[name] = {
            "n": len(rows),
            "first_right": _mean(right[answerable]),
            "auc": auc(values, right),
            "ece": expected_error(values, right),
            "mean_score": _mean(values),
            "right": _mean(right),
        }
    return result


def _mean(values: np.ndarray) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


def expected_error(scores: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """The expected calibration error of scores, over bins of equal width."""
    place = np.minimum((scores * bins).astype(int), bins - 1)
    total = 0.0
    for number in np.unique(place):
        mine = place == number
        total += mine.mean() * abs(scores[mine].mean() - right[mine].mean())
    return round(float(total), 4)


def auc(scores: np.ndarray, right: np.ndarray) -> float | None:
    """How often a right answer has a higher score than a wrong one; ties count half."""
    high, low = scores[right > 0], scores[right == 0]
    if not len(high) or not len(low):
        return None
    both = np.sort(low)
    below = np.searchsorted(both, high, "left") + np.searchsorted(both, high, "right")
    return round(float(below.mean() / (2 * len(low))), 4)


def main() -> None:
    """Fit, judge and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--left-out", type=Path, required=True)
    parser.add_argument("--judged", type=Path)
    options = parser.parse_args()
    options.left_out.mkdir(parents=True, exist_ok=True)
    records = [each for path in options.records for each in read_records(path)]
    score, _ = fit_all(records, options.left_out)
    write_score(options.output, score)
    if options.judged is not None:
        report = judged(records, options.left_out, STAGES)
        options.judged.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

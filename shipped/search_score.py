"""Fits the score of search, and judges it on sets that it has not seen.

    python shipped/score_records.py DATA en.npz --language en --vectors embed-en
    python shipped/score_records.py DATA zh.npz --language zh --vectors embed-zh
    python shipped/search_score.py en.npz zh.npz --left-out left_out --judged judged.json \
        --output src/softquery/search/score/row_score.json

For every set, trees are fitted on all other sets and asked about this one: these answers give the
calibration, the curve of thresholds and all figures. The trees that are shipped have seen all sets.
`--left-out` keeps the score without each set, for benchmarks/search/intents.py.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from score_records import Record, read_records
from score_trees import TreeOptions, fit_trees

from softquery.search.aims import AimCurve
from softquery.search.query.stages import RERANK, STAGES, VECTORS, WORDS, Stages, shown_stages
from softquery.search.score.features import FEATURES, RISING, make_features
from softquery.search.score.row_score import (
    RowScore,
    StageCalibration,
    read_score,
    write_score,
)
from softquery.search.score.signals import Signals
from softquery.search.score.trees import Trees

SUBSETS: tuple[Stages, ...] = tuple(
    chain.from_iterable(combinations(STAGES, size) for size in (3, 2, 1))
)
SIGNAL_OF = {WORDS: "words", VECTORS: "cosine", RERANK: "matcher"}
KEPT = {"cosine": 4, "words": 2, "matcher": 2}
"""Rows of a query that are learned from: those that each stage puts first."""
PER_ROW = ("cosine", "words", "matcher", "answer", "row_length")
LEARNED_UNANSWERABLE, UNANSWERABLE, ONE_ROW = 1.5, 0.5, 0.5
"""What a query without an answer counts beside one that has one: to the trees, which must tell the
two apart, more than to the calibration, where they are to be about a sixth. And what any query of
an index of one row per intent counts, which nobody would have drawn so."""
MOST_THRESHOLDS = 64


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
    missing = {
        SIGNAL_OF[stage]: np.full(len(signals), np.nan) for stage in STAGES if stage not in stages
    }
    found = replace(each, signals=replace(signals, **missing))
    return _rows(found, signals.words > 0) if stages in ((WORDS,), (WORDS, RERANK)) else found


def _rows(each: Record, kept: np.ndarray) -> Record:
    arrays = {name: getattr(each.signals, name)[kept] for name in PER_ROW}
    return replace(each, signals=replace(each.signals, **arrays), right=each.right[kept])


def leading(signals: Signals) -> np.ndarray:
    """The places of the rows that any stage puts first."""
    found: set[int] = set()
    for name, count in KEPT.items():
        values = getattr(signals, name)
        if len(values) and not np.isnan(values).any():
            found.update(np.argsort(-values, kind="stable")[:count].tolist())
    return np.array(sorted(found), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows to learn from: [N, F], whether each is right, what it counts, and its set."""

    rows: np.ndarray
    right: np.ndarray
    weights: np.ndarray
    sets: np.ndarray


def gather_examples(records: Sequence[Record], seed: int) -> Examples:
    """Every query with all stages, and two fifths with a subset that is drawn."""
    draw = np.random.default_rng(seed)
    counts = Counter((each.set, each.case) for each in records)
    rows, right, weights, sets = [], [], [], []
    for each in records:
        subsets = [STAGES]
        if draw.random() < 0.4:
            subsets.append(SUBSETS[1 + int(draw.integers(len(SUBSETS) - 1))])
        for stages in subsets:
            seen = with_stages(each, stages)
            places = leading(seen.signals)
            if not len(places):
                continue
            rows.append(make_features(seen.signals)[places].astype(np.float32))
            right.append(seen.right[places])
            weight = importance(each, LEARNED_UNANSWERABLE) * counts[each.set, each.case] ** -0.5
            weights.append(np.full(len(places), weight))
            sets += [each.set] * len(places)
    return Examples(
        np.concatenate(rows), np.concatenate(right), np.concatenate(weights), np.array(sets)
    )


def importance(query: "Record | Answer", unanswerable: float) -> float:
    """What a query counts beside the others of its case."""
    found = 1.0 if query.is_answerable else unanswerable
    return found * (ONE_ROW if query.case == "one" else 1.0)


def fitted(examples: Examples, left_out: str | None, options: TreeOptions) -> Trees:
    """Trees that have not seen a set."""
    kept = examples.sets != left_out if left_out else np.ones(len(examples.sets), dtype=np.bool_)
    rising = [FEATURES.index(name) for name in RISING]
    return fit_trees(
        examples.rows[kept].astype(np.float64),
        examples.right[kept].astype(np.float64),
        examples.weights[kept] / examples.weights[kept].mean(),
        options,
        rising,
    )


def answers(trees: Trees, records: Sequence[Record], stages: Stages) -> list[Answer]:
    """The first row of each query."""
    found = []
    for each in records:
        seen = with_stages(each, stages)
        total, is_right = -20.0, False
        if len(seen.signals):
            totals = trees.sums(make_features(seen.signals))
            best = int(totals.argmax())
            total, is_right = float(totals[best]), bool(seen.right[best])
        found.append(Answer(each.set, each.case, total, is_right, each.is_answerable))
    return found


def calibrate(found: Sequence[Answer]) -> StageCalibration:
    """Slope, offset and the curve of thresholds, every case counting alike."""
    counts = Counter((each.set, each.case) for each in found)
    weights = np.array(
        [importance(each, UNANSWERABLE) / counts[each.set, each.case] for each in found]
    )
    total = np.array([each.total for each in found])
    right = np.array([each.is_right for each in found], dtype=np.float64)
    answerable = np.array([each.is_answerable for each in found])
    slope, offset = _platt(total, right, weights / weights.mean())
    scores = _logistic(slope * total + offset)
    grid = np.unique(np.round(np.quantile(scores, np.linspace(0, 1, MOST_THRESHOLDS)), 4))
    precision, coverage = [], []
    for threshold in grid.tolist():
        given = scores >= threshold
        precision.append(float(weights[given] @ right[given] / max(weights[given].sum(), 1e-9)))
        share = weights[given & answerable].sum() / weights[answerable].sum()
        coverage.append(float(share))
    kept = [place for place, value in enumerate(coverage) if value > 0]
    curve = AimCurve(*([column[k] for k in kept] for column in (grid, precision, coverage)))
    return StageCalibration(slope, offset, curve)


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -50, 50)))


def _platt(total: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """A logistic regression of one feature, by Newton's method."""
    beta = np.array([1.0, 0.0])
    inputs = np.stack([total, np.ones_like(total)], axis=1)
    for _ in range(30):
        chance = _logistic(inputs @ beta)
        gradient = inputs.T @ (weights * (right - chance)) - 1e-3 * (beta - [1.0, 0.0])
        curvature = (inputs * (weights * chance * (1 - chance))[:, None]).T @ inputs
        beta = beta + np.linalg.solve(curvature + 1e-3 * np.eye(2), gradient)
    return float(beta[0]), float(beta[1])


def fit_all(
    records: Sequence[Record], folder: Path, options: TreeOptions, workers: int
) -> tuple[RowScore, dict[str, list[Answer]]]:
    """The score of all sets, and how those without a set answered it; these go to a folder."""
    examples = gather_examples(records, options.seed)
    names = sorted({each.set for each in records})
    print(f"{len(examples.rows):,} rows of {len(names)} sets", flush=True)
    with ProcessPoolExecutor(workers) as pool:
        jobs = {name: pool.submit(fitted, examples, name, options) for name in [None, *names]}
        trees = {name: job.result() for name, job in jobs.items()}
    by_stages: dict[str, list[Answer]] = {shown_stages(stages): [] for stages in SUBSETS}
    for name in names:
        mine = [each for each in records if each.set == name]
        for stages in SUBSETS:
            by_stages[shown_stages(stages)] += answers(trees[name], mine, stages)
    for name in names:
        own = {
            stages: calibrate([each for each in found if each.set != name])
            for stages, found in by_stages.items()
        }
        write_score(folder / f"{name}.json", RowScore(trees[name], own))
    final = {stages: calibrate(found) for stages, found in by_stages.items()}
    return RowScore(trees[None], final), by_stages


def judged(found: Sequence[Answer], folder: Path, stages: str) -> dict[str, Any]:
    """Figures of each set and case, by the score without that set."""
    result: dict[str, Any] = {}
    for name in sorted({each.set for each in found}):
        own = read_score(folder / f"{name}.json").calibrations[stages]
        for case in sorted({each.case for each in found if each.set == name}):
            mine = [each for each in found if (each.set, each.case) == (name, case)]
            scores = own.probabilities(np.array([each.total for each in mine]))
            right = np.array([each.is_right for each in mine], dtype=np.float64)
            answerable = np.array([each.is_answerable for each in mine])
            result[f"{name}: {case}"] = {
                "n": len(mine),
                "first_right": _mean(right[answerable]),
                "auc": auc(scores, right),
                "ece": expected_error(scores, right),
                "mean_score": _mean(scores),
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
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trees", type=int, default=TreeOptions().num_trees)
    options = parser.parse_args()
    options.left_out.mkdir(parents=True, exist_ok=True)
    records = [each for path in options.records for each in read_records(path)]
    growing = TreeOptions(num_trees=options.trees)
    score, by_stages = fit_all(records, options.left_out, growing, options.workers)
    report = {
        stages: judged(found, options.left_out, stages) for stages, found in by_stages.items()
    }
    write_score(options.output, score)
    if options.judged is not None:
        options.judged.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

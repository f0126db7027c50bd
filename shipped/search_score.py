r"""Fits the score of search, and judges it on sets that it has not seen.

    python shipped/score_records.py DATA en.npz --language en --vectors embed-en
    python shipped/score_records.py DATA zh.npz --language zh --vectors embed-zh
    python shipped/search_score.py en.npz zh.npz --left-out left_out --judged judged.json \
        --output src/softquery/search/score/row_score.json
    python shipped/score_logs.py en.npz zh.npz --left-out left_out \
        --score src/softquery/search/score/row_score.json

There are two sets of weights: for indexes with several phrasings of an answer, and for such as have
one row for every answer, of which both have their own cases to learn from.

Sets are dealt into a few folds. For each, a score is fitted on the sets of all others and asked
about its own: these answers give the calibration, the curve of thresholds and all figures. The
score that is shipped has seen all sets. `--left-out` keeps, for each set, the score without its
fold, calibrated and with thresholds by the other folds, for benchmarks/search/intents.py.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from score_cases import MOST_PAIRS
from score_close import FORMS
from score_fits import Fit, Table, fit, fit_logistic, logistic
from score_records import PER_ROW, Record, read_records

from softquery.search.aims import AimCurve
from softquery.search.query.first_cut import filled, num_compared, predicted_log_odds
from softquery.search.query.retrieval import SearchOptions
from softquery.search.query.stages import RERANK, STAGES, VECTORS, WORDS, Stages, shown_stages
from softquery.search.score.features import (
    AMONG_PHRASINGS,
    CIRCUMSTANCES,
    EVIDENCE,
    SUMS,
    circumstances_of,
)
from softquery.search.score.log_offset import no_offset
from softquery.search.score.row_score import (
    KINDS,
    PHRASED,
    RowScore,
    RowWeights,
    StageScore,
    phrased_share,
    read_score,
    write_score,
)
from softquery.search.score.signals import Signals

SUBSETS: tuple[Stages, ...] = tuple(
    chain.from_iterable(combinations(STAGES, size) for size in (3, 2, 1))
)
STAGE_OF = {
    "cosine": VECTORS, "centred": VECTORS, "kinship": VECTORS,
    "query_mean": VECTORS, "words": WORDS, "matcher": RERANK,
}  # fmt: skip
RECORDED = {
    "cosine": VECTORS, "centred": VECTORS, "alike": VECTORS, "words": WORDS, "matcher": RERANK,
}  # fmt: skip
"""The stage that each of these was recorded of."""
LEARNED_UNANSWERABLE, UNANSWERABLE, ONE_ROW, DOUBTFUL = 3.0, 0.3, 0.5, 0.3
"""What a query counts beside one that has an answer: one without, to trust, which must tell the two
apart, and to calibration, where they are to be about a tenth of all; any query of an
index of one row per intent, which nobody would have drawn so; and, in calibration, one without an
answer in an index of paraphrases, of which some mean the same as a stored row without being marked
so."""
PARAPHRASES = ("pairs", "topics", "unlike", "domain")
ONLY_SINGLE = (*FORMS, f"pairs {MOST_PAIRS[-1]}")
"""How the names of cases begin that teach nothing to the weights for indexes of phrasings."""
NOT_OF = {"phrased": "rows", "single": "same_answer"}
"""The circumstance that the weights of a kind of index do without."""
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
        for name, stage in RECORDED.items()
        if stage not in stages
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


def columns_of(stages: Stages, kind: str = "") -> tuple[list[str], list[str]]:
    """The kinds of evidence and the circumstances of some stages, and of a kind of index."""
    known = [
        [name for name in names if STAGE_OF.get(name, stages[0]) in stages]
        for names in (EVIDENCE, CIRCUMSTANCES)
    ]
    evidence = [name for name in known[0] if kind != "single" or name not in AMONG_PHRASINGS]
    return evidence, [name for name in known[1] if name != NOT_OF.get(kind)]


def of_kind(table: Table, stages: Stages, kind: str) -> Table:
    """A table with the evidence and the circumstances that a kind of index uses."""
    evidence, circumstances = (
        [every.index(name) for name in used]
        for every, used in zip(columns_of(stages), columns_of(stages, kind), strict=True)
    )
    return replace(
        table,
        evidence=table.evidence[:, :, evidence],
        circumstances=table.circumstances[:, circumstances],
    )


def learned_by(records: Sequence[Record]) -> dict[str, np.ndarray]:
    """Which queries the weights of each kind of index learn from: [Q]."""
    same = np.array([each.signals.facts.same_answer for each in records])
    is_long = np.array([each.case == "long" for each in records])
    only_single = np.array([each.case.startswith(ONLY_SINGLE) for each in records])
    return {"phrased": ~only_single, "single": (same < PHRASED / 2) & ~is_long}


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


def answers(totals: np.ndarray, table: Table, records: Sequence[Record]) -> list[Answer]:
    """The first row of each query, by the log-odds of all."""
    first = totals.argmax(axis=1)
    result = []
    for place, (each, row) in enumerate(zip(records, first.tolist(), strict=True)):
        total = max(-20.0, float(totals[place, row]))
        is_right = bool(table.right[place, row])
        result.append(Answer(each.set, each.case, total, is_right, each.is_answerable))
    return result


def case_weights(found: Sequence[Answer]) -> np.ndarray:
    """What queries count where every case counts alike."""
    counts = Counter((each.set, each.case) for each in found)
    return np.array(
        [importance(each, UNANSWERABLE, DOUBTFUL) / counts[each.set, each.case] for each in found]
    )


def calibrate(found: Sequence[Answer]) -> tuple[float, float]:
    """Slope and offset."""
    total = np.array([each.total for each in found])
    right = np.array([each.is_right for each in found], dtype=np.float64)
    (slope,), offset = fit_logistic(total[:, None], right, case_weights(found))
    return float(slope), offset


def curve_of(found: Sequence[Answer]) -> AimCurve:
    """The curve of thresholds, of calibrated answers.

    It is one of queries that have an answer. Those that have none are kept out by what they do to
    slope and offset.
    """
    weights = case_weights(found)
    right = np.array([each.is_right for each in found], dtype=np.float64)
    answerable = np.array([each.is_answerable for each in found])
    scores = logistic(np.array([each.total for each in found]))
    grid = np.unique(np.round(np.quantile(scores, np.linspace(0, 1, MOST_THRESHOLDS)), 4))
    precision, coverage = [], []
    for threshold in grid.tolist():
        given = (scores >= threshold) & answerable
        precision.append(float(weights[given] @ right[given] / max(weights[given].sum(), 1e-9)))
        coverage.append(float(weights[given].sum() / weights[answerable].sum()))
    kept = [place for place, value in enumerate(coverage) if value > 0]
    return AimCurve(*([column[k] for k in kept] for column in (grid, precision, coverage)))


def weights_of(found: Fit, stages: Stages, kind: str, slope: float, offset: float) -> RowWeights:
    """Weights as a search uses them, calibrated."""
    evidence, circumstances = columns_of(stages, kind)
    trust = dict(zip((*SUMS, *circumstances), (slope * found.trust).tolist(), strict=True))
    return RowWeights(
        evidence=dict(zip(evidence, found.evidence.tolist(), strict=True)),
        none=dict(zip(circumstances, found.none.tolist(), strict=True)),
        none_offset=found.none_offset,
        trust=trust,
        offset=slope * found.offset + offset,
    )


def calibrated(
    fits: Mapping[str, Fit],
    stages: Stages,
    totals: Mapping[str, np.ndarray],
    table: Table,
    records: Sequence[Record],
) -> StageScore:
    """Weights as a score, by how others that had not seen their sets answered them.

    Args:
        fits: Those of each kind of index.
        stages: What they know.
        totals: The log-odds by those others, for each kind of index: [Q, N].
        table: What was found for the queries.
        records: The same: Q of them.
    """
    learned = learned_by(records)
    share = np.array([phrased_share(each.signals.facts.same_answer) for each in records])
    joint = np.zeros(table.answer.shape)
    weights = {}
    for kind, part in zip(KINDS, (share, 1 - share), strict=True):
        mine = learned[kind]
        given = answers(totals[kind][mine], table[mine], _chosen(records, mine))
        slope, offset = calibrate(given)
        weights[kind] = weights_of(fits[kind], stages, kind, slope, offset)
        known = np.where(table.answer >= 0, totals[kind], 0.0)
        joint += part[:, None] * (slope * known + offset)
    joint[table.answer < 0] = -np.inf
    return StageScore(**weights, curve=curve_of(answers(joint, table, records)))


def deal(records: Sequence[Record], folds: int = FOLDS) -> dict[str, int]:
    """The fold of each set: about as many queries in each."""
    sizes = Counter(each.set for each in records)
    loads, found = [0] * min(folds, len(sizes)), {}
    for name, size in sorted(sizes.items(), key=lambda each: (-each[1], each[0])):
        fold = loads.index(min(loads))
        loads[fold] += size
        found[name] = fold
    return found


def fit_all(records: Sequence[Record], folder: Path) -> RowScore:
    """The score of all sets; those without a fold go to a folder, by the names of its sets."""
    fold_of = deal(records)
    folds = np.array([fold_of[each.set] for each in records])
    learned = learned_by(records)
    every: dict[str, StageScore] = {}
    own: dict[int, dict[str, StageScore]] = {fold: {} for fold in sorted(set(fold_of.values()))}
    for stages in SUBSETS:
        name, table = shown_stages(stages), make_table(records, stages)
        fits: dict[int | None, dict[str, Fit]] = {fold: {} for fold in (*own, None)}
        totals = {kind: np.empty(table.answer.shape) for kind in KINDS}
        for kind in KINDS:
            part = of_kind(table, stages, kind)
            for fold in own:
                fits[fold][kind] = fitted(part, records, (folds != fold) & learned[kind])
                left_out = folds == fold
                totals[kind][left_out] = fits[fold][kind].totals(part[left_out])
            fits[None][kind] = fitted(part, records, learned[kind])
        for fold in own:
            judges = folds != fold
            seen = {kind: totals[kind][judges] for kind in KINDS}
            own[fold][name] = calibrated(
                fits[fold], stages, seen, table[judges], _chosen(records, judges)
            )
        every[name] = calibrated(fits[None], stages, totals, table, records)
        print(f"{name}: {every[name].single.evidence}", flush=True)
    for set_name, fold in fold_of.items():
        write_score(folder / f"{set_name}.json", RowScore(own[fold], no_offset()))
    return RowScore(every, no_offset())


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
    score = fit_all(records, options.left_out)
    write_score(options.output, score)
    if options.judged is not None:
        report = judged(records, options.left_out, STAGES)
        options.judged.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

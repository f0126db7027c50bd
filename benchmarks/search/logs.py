r"""What a log of unlabelled queries is worth: thresholds with and without it, on sets of intents.

    python benchmarks search logs --data DATA --left-out FOLDER --output logs.json

DATA and FOLDER are as for `benchmarks search intents`; the score of a set, and what it makes of a
log, have not seen the set. Of every set at most 1,500 rows are stored and 2,000 queries of `test`
drawn (seed 1), those out of scope as often as they stand there. Half of the queries are the log, of
which 50, 200 or 1,000 are drawn; the other half judges. Three divisions (seeds 1 to 3).
"""

import argparse
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.embed.sentence_sets import APART, COUNTED, Language, read_intents
from benchmarks.search.intents import ENCODERS, MATCHERS, MOST_ROWS

import softquery as sq
from softquery.files import write_json
from softquery.search import Index, IndexSettings
from softquery.search.aims import DEFAULT_AIM
from softquery.search.query.stages import STAGES
from softquery.search.score.row_score import RowScore, best_rows, read_score
from softquery.search.score.signals import Signals
from softquery.search.tuning.log_estimate import estimate, own_threshold

MOST_QUERIES = 2000
SIZES = (50, 200, 1000)
SEEDS = (1, 2, 3)
LEAST_JUDGED = 20
GROUPS = {"en": COUNTED["en"], "en apart": APART["en"], "zh": (*COUNTED["zh"], *APART["zh"])}
TITLES = {
    "en": "English, 10 sets",
    "en apart": "English, source in `requests/`, 6 sets",
    "zh": "Chinese, 4 sets",
}
FIGURES = ("precision_all", "precision", "coverage", "outside_answered", "net", "distance")
HEADS = (
    "right, of all answers", "precision, in scope", "coverage", "out of scope answered",
    "right less wrong, per query", "precision of all answers, distance from 0.9",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What was found for the queries of a set."""

    signals: list[Signals]
    right: list[np.ndarray]
    answerable: np.ndarray


def ask(data: Path, language: Language, name: str) -> Asked:
    """Index a set and search for its queries."""
    found, chance = read_intents(data, name), random.Random(f"1 {name} log")
    rows = list(zip(found.stored, found.stored_labels, strict=True))
    rows = rows if len(rows) <= MOST_ROWS else chance.sample(rows, MOST_ROWS)
    known = set(found.stored_labels)
    queries = [
        each
        for each in zip(found.asked, found.asked_labels, strict=True)
        if each[1] in known and each[0].strip()
    ]
    queries += [(text, "") for text in found.out_of_scope if text.strip()]
    queries = queries if len(queries) <= MOST_QUERIES else chance.sample(queries, MOST_QUERIES)
    entries = (
        {"id": str(number), "question": text, "answer": label}
        for number, (text, label) in enumerate(rows)
    )
    all_signals, all_right = [], []
    with tempfile.TemporaryDirectory() as scratch:
        settings = IndexSettings(vectors=ENCODERS[language], answer_share=0.0)
        index = Index.build(
            entries, Path(scratch) / "set.sq", model=MATCHERS[language], settings=settings
        )
        for text, label in queries:
            steps = index.steps(text)
            steps.run()
            given = steps.searched.texts(list(steps.recalled.places), "answer")
            all_signals.append(steps.signals())
            all_right.append(np.array([bool(label) and each == label for each in given]))
    return Asked(all_signals, all_right, np.array([bool(label) for _, label in queries]))


def measure(asked: Asked, score: RowScore) -> list[dict[str, Any]]:
    """Figures of every division and size of log, before and after."""
    scores, right = first_rows(asked, score)
    before = score.threshold(DEFAULT_AIM, STAGES)
    rows = []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(scores))
        log, judged = order[: len(order) // 2], order[len(order) // 2 :]
        for size in SIZES:
            if len(log) < min(size, SIZES[0]) or size > SIZES[0] and len(log) < size:
                continue
            given, weights = scores[log[:size]], np.ones(size)
            found = estimate(given, weights, score.log)
            after = own_threshold(found, given, weights, before, DEFAULT_AIM)
            part = scores[judged], right[judged], asked.answerable[judged]
            for when, least in (("before", before), ("after", after)):
                figures = figures_at(least, *part)
                rows.append({"seed": seed, "log": size, "when": when, "least": least, **figures})
    return rows


def first_rows(asked: Asked, score: RowScore) -> tuple[np.ndarray, np.ndarray]:
    """The score of the first row of each query, and whether it is right."""
    scores, right = np.zeros(len(asked.signals)), np.zeros(len(asked.signals), dtype=np.bool_)
    for place, (signals, answers) in enumerate(zip(asked.signals, asked.right, strict=True)):
        found = score.of(signals, STAGES)
        if len(found):
            best = best_rows(found.tolist(), signals)[0]
            scores[place], right[place] = found[best], answers[best]
    return scores, right


def figures_at(
    least: float, scores: np.ndarray, right: np.ndarray, answerable: np.ndarray
) -> dict[str, float | None]:
    """What a threshold does."""
    given = scores >= least
    precision = _mean(right[given])
    outside = ~answerable
    return {
        "precision_all": precision,
        "precision": _mean(right[given & answerable]),
        "coverage": _mean(given[answerable]),
        "outside_answered": _mean(given[outside]) if outside.sum() >= LEAST_JUDGED else None,
        "net": _mean(given * np.where(right, 1.0, -1.0)),
        "distance": None if precision is None else abs(precision - DEFAULT_AIM.value),
    }


def _mean(values: np.ndarray) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


def tables(result: dict[str, Any]) -> list[str]:
    """The page's tables: means over sets of the means over divisions."""
    lines = []
    for group, names in GROUPS.items():
        lines += [f"{TITLES[group]}:", "", f"| log | sets | | {' | '.join(HEADS)} |"]
        lines.append(f"| --- | --- | --- |{' --- |' * len(HEADS)}")
        for size in SIZES:
            known = [name for name in names if _means(result, name, size, "before")]
            for when in ("before", "after"):
                means = [_means(result, name, size, when) for name in known]
                cells = [_shown([each[figure] for each in means]) for figure in FIGURES]
                lines.append(f"| {size:,} | {len(known)} | {when} | {' | '.join(cells)} |")
        lines.append("")
    return lines[:-1]


def _means(result: dict[str, Any], name: str, size: int, when: str) -> dict[str, float | None]:
    rows = [r for r in result["sets"].get(name, []) if (r["log"], r["when"]) == (size, when)]
    return (
        {figure: _known_mean([row[figure] for row in rows]) for figure in FIGURES} if rows else {}
    )


def _known_mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _shown(values: list[float | None]) -> str:
    mean = _known_mean(values)
    return "–" if mean is None else f"{mean:.3f}"


def main() -> None:
    """Measure, write and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--left-out", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    sets: dict[str, list[dict[str, Any]]] = {}
    for language in ("en", "zh"):
        for name in (*COUNTED[language], *APART[language]):
            asked = ask(options.data, language, name)
            sets[name] = measure(asked, read_score(options.left_out / f"{name}.json"))
            print(f"{name}: {len(asked.signals)} queries", flush=True)
    result = {"version": sq.__version__, "aim": DEFAULT_AIM.spelt, "sets": sets}
    write_json(options.output, result)
    print("\n".join(tables(result)))


if __name__ == "__main__":
    main()

r"""What `softquery tune` gains on sets of intents, from 50, 100 and 200 labelled queries.

    python benchmarks search tune --data DATA --output tune.json [--left-out FOLDER]
    python benchmarks search tune_page tune.json

DATA holds `intents/SET/{train,test}`; FOLDER is what `shipped/search_score.py --left-out` wrote:
for each set the score that has not seen it. Without it the score before tuning is the shipped one,
which has learned from these sets, so that the gain is understated.

Of every set an index of five rows per intent, without a fifth of the intents (seed 1). Asked are at
most 420 queries of `test`, 60 of intents that are left out, and 60 out of scope; each once. Some of
them are drawn to tune on (seeds 1, 2 and 3), with all rows of their intent as answers, and all
others judge. What is reported is what those others get, whether or not the cross-validation on the
labelled ones found a sure gain, and again with the index left alone where it did not.

`DEVELOPED_ON` are the sets by which constants were chosen; they do not count in the means.
"""

import argparse
import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.embed.sentence_sets import Language, read_intents

from softquery.files import write_json
from softquery.search import Index, IndexSettings
from softquery.search.aims import DEFAULT_AIM
from softquery.search.query.stages import STAGES
from softquery.search.score.row_score import RowScore, read_score, shipped_score
from softquery.search.tuning.judged import JudgedQueries, JudgedQuery
from softquery.search.tuning.tune_index import figures_of, fitted_score
from softquery.search.tuning.tune_report import is_surely_better
from softquery.search.tuning.tuned_score import ScoredRows, no_correction
from softquery.search.tuning.tuning_gain import FIGURES, Outcomes, judge, outcomes

DEVELOPED_ON: dict[str, Language] = {
    "rostd": "en", "redwood_new": "en", "multidogo": "en", "ms_chitchat_en": "en",
    "zh_ms_chitchat": "zh",
}  # fmt: skip
JUDGED: dict[str, Language] = {
    "hwu64": "en", "dstc11_insurance": "en", "hint3_curekart": "en", "vira": "en",
    "ms_skills_en": "en", "bitext_support": "en", "zh_smp2017": "zh", "zh_ms_skills": "zh",
}  # fmt: skip
MATCHERS: dict[Language, str] = {"en": "match-en", "zh": "match-zh"}
PER_INTENT, MOST_ROWS, MOST_ASKED, MOST_VAIN = 5, 1500, 420, 60
LEFT_OUT = 0.2
SIZES, SEEDS = (50, 100, 200), (1, 2, 3)
Text = tuple[str, str]


def draw(data: Path, name: str) -> tuple[list[Text], list[Text]]:
    """The rows and the queries of a set, with labels; that of an unanswerable query is empty."""
    chance, found = random.Random(f"1 {name} tune"), read_intents(data, name)
    labels = sorted(set(found.stored_labels))
    gone = set(chance.sample(labels, round(LEFT_OUT * len(labels)))) if len(labels) > 3 else set()
    rows = list(zip(found.stored, found.stored_labels, strict=True))
    chance.shuffle(rows)
    by_label: dict[str, list[Text]] = defaultdict(list)
    for text, label in rows:
        if label not in gone and len(by_label[label]) < PER_INTENT and text.strip():
            by_label[label].append((text, label))
    stored = [row for each in by_label.values() for row in each][:MOST_ROWS]
    known = {label for _, label in stored}
    asked = list(dict.fromkeys(zip(found.asked, found.asked_labels, strict=True)))
    queries = some(chance, [row for row in asked if row[1] in known], MOST_ASKED)
    for vain in ([text for text, label in asked if label in gone], found.out_of_scope):
        queries += [(text, "") for text in some(chance, vain, MOST_VAIN)]
    distinct: dict[str, str] = {}
    for text, label in queries:
        if text.strip():
            distinct.setdefault(text, label)
    queries = list(distinct.items())
    chance.shuffle(queries)
    return stored, queries


def some(chance: random.Random, items: Sequence[Any], most: int) -> list[Any]:
    return list(items) if len(items) <= most else chance.sample(list(items), most)


def search(
    stored: Sequence[Text], queries: Sequence[Text], language: Language, score: RowScore
) -> list[JudgedQuery]:
    """What an index of some rows finds, by a score that has not seen the set."""
    rows = [
        {"id": str(number), "question": text, "answer": label}
        for number, (text, label) in enumerate(stored)
    ]
    ids: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        ids[row["answer"]].add(row["id"])
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        settings = IndexSettings(answer_share=0.0)  # an answer is a label here
        place, model = Path(scratch) / "set.sq", MATCHERS[language]
        index = Index.build(rows, place, model=model, settings=settings, threads=1)
        for text, label in queries:
            steps = index.untuned_steps(text)
            steps.run()
            rows_found = steps.found_rows()
            scored = ScoredRows(
                rows_found.ids,
                score.of(rows_found.signals, STAGES),
                rows_found.signals,
                rows_found.vector,
            )
            relevant = frozenset(ids[label]) if label else frozenset()
            judged = np.ones(len(scored), dtype=np.bool_)
            found.append(JudgedQuery(text, relevant, scored, judged))
    return found


def tuned_on(
    queries: Sequence[JudgedQuery], score: RowScore, size: int, seed: int
) -> dict[str, Any]:
    """Tune on some queries, and judge by all others."""
    order = list(range(len(queries)))
    random.Random(seed).shuffle(order)
    least = score.threshold(DEFAULT_AIM, STAGES)

    def rescore(found: ScoredRows, signals: Any, kept: np.ndarray) -> np.ndarray:
        return score.of(signals, STAGES)

    labelled = JudgedQueries([queries[place] for place in order[:size]], rescore)
    expected = figures_of(judge(labelled, DEFAULT_AIM, least))
    learned, strength = fitted_score(labelled)
    everything = JudgedQueries([queries[place] for place in order], rescore)
    known = np.arange(len(queries)) < size
    asked = everything.lesson(~known, known, is_real=True)
    before = outcomes(everything, asked, no_correction(), least)
    threshold = learned.threshold(DEFAULT_AIM)
    after = outcomes(everything, asked, learned.correction, threshold)
    return {
        "queries": size,
        "seed": seed,
        "judged": len(asked),
        "is_sure": is_surely_better(expected),
        "strength": [strength.features, strength.penalty, strength.is_calibrated],
        "min_score": [round(least, 4), round(threshold, 4)],
        "before": figures(before),
        "after": figures(after),
        "expected_gain": {
            name: [each.gain, each.low, each.high] for name, each in expected.items()
        },
    }


def figures(found: Outcomes) -> dict[str, float | None]:
    values = {name: found.figure(name) for name in FIGURES}
    return {name: None if np.isnan(each) else round(each, 4) for name, each in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--left-out", type=Path)
    parser.add_argument("--sets", nargs="+", help="only these")
    options = parser.parse_args()
    result: dict[str, Any] = {"left_out": options.left_out is not None, "sets": {}}
    for name, language in {**JUDGED, **DEVELOPED_ON}.items():
        if options.sets and name not in options.sets:
            continue
        own = None if options.left_out is None else options.left_out / f"{name}.json"
        score = shipped_score() if own is None else read_score(own)
        stored, asked = draw(options.data, name)
        queries = search(stored, asked, language, score)
        runs = [tuned_on(queries, score, size, seed) for size in SIZES for seed in SEEDS]
        result["sets"][name] = {
            "language": language,
            "rows": len(stored),
            "asked": len(queries),
            "in_vain": sum(not each.relevant for each in queries),
            "counts": name in JUDGED,
            "runs": runs,
        }
        write_json(options.output, result)
        print(f"{name}: {len(stored):,} rows, {len(queries):,} queries", flush=True)


if __name__ == "__main__":
    main()

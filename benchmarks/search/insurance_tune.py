r"""What `softquery tune` gains on InsuranceQA, by default models, from 200 labelled queries.

    python benchmarks search insurance_tune DATA --output insurance_tune.json [--language en]

DATA holds `answers` and `questions_valid`. All 27,413 answers are the rows of an index as
`softquery index` makes it, without a model trained on insurance. Of the questions, 200 are drawn to
tune on (seeds 1, 2 and 3), and all others judge, whether or not the cross-validation on the 200
found a sure gain. `expected_gain` is what that cross-validation says, with its 95 % interval.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.search.insurance import Question, read_data
from benchmarks.search.tune import MATCHERS, tuned_on

from softquery.files import write_json
from softquery.search import Index
from softquery.search.query.stages import STAGES
from softquery.search.score.row_score import shipped_score
from softquery.search.tuning.judged import JudgedQuery
from softquery.search.tuning.tuned_score import ScoredRows

LABELLED, SEEDS = 200, (1, 2, 3)


def judged(index: Index, question: Question) -> JudgedQuery:
    """A question with what an index finds for it."""
    steps = index.untuned_steps(question.text)
    steps.run()
    rows = steps.found_rows()
    scores = shipped_score().of(rows.signals, STAGES)
    found = ScoredRows(rows.ids, scores, rows.signals, rows.vector)
    known = np.ones(len(found), dtype=np.bool_)
    return JudgedQuery(question.text, frozenset(question.answers), found, known)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--language", choices=("en", "zh"), default="en")
    parser.add_argument("--most", type=int, help="only so many answers and questions")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    data = read_data(options.data, options.language)
    distinct = {question.text: question for question in data.valid}
    asked = list(distinct.values())[: options.most]
    wanted = {key for question in asked for key in question.answers}
    keys = sorted(data.answers, key=lambda key: (key not in wanted, key))[: options.most]
    rows = [{"id": key, "question": data.answers[key]} for key in keys]
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.perf_counter()
        model = MATCHERS[options.language]
        place = Path(scratch) / "answers.sq"
        index = Index.build(rows, place, model=model, threads=options.threads)
        print(f"{len(index):,} rows in {time.perf_counter() - begun:.0f} s", flush=True)
        queries = [judged(index, question) for question in asked]
    runs = [tuned_on(queries, shipped_score(), LABELLED, seed) for seed in SEEDS]
    result: dict[str, Any] = {"language": options.language, "rows": len(rows)}
    write_json(options.output, {**result, "asked": len(queries), "runs": runs})
    for run in runs:
        print(run["seed"], run["is_sure"], run["before"], run["after"], flush=True)


if __name__ == "__main__":
    main()

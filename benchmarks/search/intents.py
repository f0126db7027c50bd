r"""Search by default, on sets of intents and on FAQs, beside MiniLM's cosine and BM25.

    python benchmarks search intents --data DATA --left-out FOLDER --minilm BUNDLE \
        --output intents.json
    python benchmarks search intents_page intents.json

DATA holds `intents/SET/{train,test}`. FOLDER is what `shipped/search_score.py --left-out` wrote:
for each set the score that has not seen it. BUNDLE is made by
`softquery import sentence-transformers`.

Of every set at most 1,500 rows of `train` are stored, and at most 600 of `test` asked, of which at
most 200 are out of scope; both are drawn (seed 1). A query is answered rightly if the first row has
its label. Thresholds: ours is that of the default aim, from the calibration without this set; a
cosine's or BM25's is one number, the least at which the unweighted mean precision over the *other*
sets, in-scope queries alone, reaches 0.9.

The FAQs of `examples/` are asked with everything as shipped.
"""

import argparse
import csv
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.embed.sentence_sets import APART, COUNTED, Language, read_intents
from benchmarks.search.intents_page import (
    BM25,
    GROUPS,
    MINILM,
    OUR_COSINE,
    OURS,
    mean_known,
    tables,
)

import softquery as sq
from softquery.files import write_json
from softquery.search import Index, IndexSettings
from softquery.search.aims import DEFAULT_AIM
from softquery.search.query.stages import STAGES, shown_stages
from softquery.search.score.row_score import RowScore, best_rows, read_score
from softquery.search.score.signals import Signals

MOST_ROWS, MOST_QUERIES, MOST_OUTSIDE = 1500, 600, 200
MATCHERS: dict[Language, str] = {"en": "match-en", "zh": "match-zh"}
ENCODERS: dict[Language, str] = {"en": "embed-en", "zh": "embed-zh"}
PRECISION = 0.9
FEW_OUTSIDE = 20
"""Sets with fewer queries out of scope say nothing about those."""
FAQS = {
    "shop, English": ("shop_faq.csv", "shop_queries_en.tsv", "_en"),
    "shop, Chinese": ("shop_faq.csv", "shop_queries_zh.tsv", "_zh"),
    "library, English": ("library_faq.csv", "library_queries.tsv", ""),
    "hospital, Chinese": ("hospital_faq.csv", "hospital_queries.tsv", ""),
}
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Answers:
    """The first row of each query by one system: its score, and whether it is right."""

    scores: np.ndarray
    right: np.ndarray
    answerable: np.ndarray

    def at(self, threshold: float) -> dict[str, float | None]:
        """What a threshold does."""
        given = self.scores >= threshold
        inside, outside = given & self.answerable, ~self.answerable
        return {
            "precision": _mean(self.right[inside]),
            "coverage": _mean(given[self.answerable]),
            "outside_answered": _mean(given[outside]) if outside.sum() >= FEW_OUTSIDE else None,
            "precision_all": _mean(self.right[given]),
        }

    def first_right(self) -> float | None:
        """How often the first row is right, of the queries that have an answer."""
        return _mean(self.right[self.answerable])

    def auroc(self) -> float | None:
        """How often a query in scope has a higher score than one out of scope."""
        inside, outside = self.scores[self.answerable], np.sort(self.scores[~self.answerable])
        if len(outside) < FEW_OUTSIDE:
            return None
        below = np.searchsorted(outside, inside, "left") + np.searchsorted(outside, inside, "right")
        return float(below.mean() / (2 * len(outside)))

    def calibration_error(self, bins: int = 10) -> float:
        """The expected calibration error of the scores, over bins of equal width."""
        place = np.minimum((self.scores * bins).astype(int), bins - 1)
        return float(
            sum(
                (place == number).mean()
                * abs(self.scores[place == number].mean() - self.right[place == number].mean())
                for number in np.unique(place)
            )
        )


@dataclass(slots=True)
class Found:
    """First rows as they are found."""

    scores: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)

    def add(self, score: float, is_right: bool) -> None:
        """One more query."""
        self.scores.append(score)
        self.right.append(is_right)

    def answers(self, answerable: Sequence[bool]) -> Answers:
        """All of them."""
        return Answers(np.array(self.scores), np.array(self.right), np.array(answerable))


def draw(data: Path, name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The rows and the queries of a set, with labels; that of a query out of scope is empty."""
    found, chance = read_intents(data, name), random.Random(f"1 {name}")
    rows = list(zip(found.stored, found.stored_labels, strict=True))
    known = set(found.stored_labels)
    asked = zip(found.asked, found.asked_labels, strict=True)
    inside = [each for each in asked if each[1] in known]
    outside = [(text, "") for text in _some(chance, found.out_of_scope, MOST_OUTSIDE)]
    queries = _some(chance, inside, MOST_QUERIES - len(outside)) + outside
    return _some(chance, rows, MOST_ROWS), [each for each in queries if each[0].strip()]


def _some(chance: random.Random, items: Sequence[Any], most: int) -> list[Any]:
    return list(items) if len(items) <= most else chance.sample(list(items), most)


@dataclass(frozen=True, slots=True)
class Searched:
    """What was found for the queries of a set, before anything is scored."""

    language: Language
    signals: list[Signals]
    right: list[np.ndarray]
    """Which rows of each query have its label."""
    answerable: list[bool]
    others: dict[str, Answers]
    """What other systems put first."""

    def scored(self, score: RowScore) -> Answers:
        """What a score puts first."""
        found = Found()
        for signals, right in zip(self.signals, self.right, strict=True):
            scores = score.of(signals, STAGES)
            if len(scores):
                best = best_rows(scores.tolist(), signals)[0]
                found.add(float(scores[best]), bool(right[best]))
            else:
                found.add(0.0, False)
        return found.answers(self.answerable)


def search_set(data: Path, language: Language, name: str, minilm: str | None) -> Searched:
    """Ask the queries of a set."""
    rows, queries = draw(data, name)
    answerable = [bool(label) for _, label in queries]
    cosine, bm25 = Found(), Found()
    all_signals, all_right = [], []
    entries = (
        {"id": str(number), "question": text, "answer": label}
        for number, (text, label) in enumerate(rows)
    )
    with tempfile.TemporaryDirectory() as scratch:
        settings = IndexSettings(vectors=ENCODERS[language], answer_share=0.0)  # labels
        place, model = Path(scratch) / "set.sq", MATCHERS[language]
        index = Index.build(entries, place, model=model, settings=settings)
        for text, label in queries:
            steps = index.steps(text)
            steps.run()
            recalled = steps.recalled
            answer = {
                row: index.segments[row.segment].cells.text(row.row, "answer")
                for row in recalled.places
            }
            all_signals.append(steps.signals())
            given = [bool(label) and each == label for each in answer.values()]
            all_right.append(np.array(given, dtype=np.bool_))
            for system, listed in ((cosine, recalled.by_vectors), (bm25, recalled.by_words)):
                first = next(iter(listed), None)
                is_right = first is not None and bool(label) and answer[first] == label
                system.add(0.0 if first is None else listed[first], is_right)
    others = {OUR_COSINE: cosine.answers(answerable), BM25: bm25.answers(answerable)}
    if minilm is not None and language == "en":
        others[MINILM] = by_cosine(minilm, rows, queries)
    return Searched(language, all_signals, all_right, answerable, others)


def by_cosine(
    model: str, rows: Sequence[tuple[str, str]], queries: Sequence[tuple[str, str]]
) -> Answers:
    """The nearest row by the cosine of an encoder's vectors, every row compared."""
    encoder = sq.load(model)
    stored = encoder.encode([text for text, _ in rows])
    asked = encoder.encode([text for text, _ in queries])
    cosines = asked @ stored.T
    first = cosines.argmax(axis=1)
    right = [
        bool(label) and rows[row][1] == label
        for row, (_, label) in zip(first, queries, strict=True)
    ]
    return Answers(cosines.max(axis=1), np.array(right), np.array([bool(x) for _, x in queries]))


def fitted_threshold(others: Sequence[Answers], precision: float = PRECISION) -> float:
    """The least threshold at which the mean precision over sets reaches so much."""
    grid = np.unique(
        np.quantile(np.concatenate([each.scores for each in others]), np.linspace(0, 1, 400))
    )
    for threshold in grid.tolist():
        means = [each.at(threshold)["precision"] for each in others]
        known = [mean for mean in means if mean is not None]
        if known and float(np.mean(known)) >= precision:
            return threshold
    return float(grid[-1])


def summary(
    sets: dict[str, dict[str, Answers]],
    thresholds: dict[str, float],
    languages: dict[str, Language],
) -> dict[str, Any]:
    """Figures of every set and system, and their unweighted means by group."""
    figures: dict[str, Any] = {}
    for name, systems in sets.items():
        figures[name] = {"group": _group(name, languages[name])}
        for system, answers in systems.items():
            threshold = thresholds[name]
            if system != OURS:
                threshold = fitted_threshold(
                    [
                        each[system]
                        for other, each in sets.items()
                        if other != name and system in each and languages[other] == languages[name]
                    ]
                )
            figures[name][system] = {
                "n": len(answers.scores),
                "first_right": answers.first_right(),
                "threshold": threshold,
                **answers.at(threshold),
                "auroc": answers.auroc(),
                "ece": answers.calibration_error() if system == OURS else None,
            }
    return figures


def _group(name: str, language: Language) -> str:
    if language == "zh":
        return "zh"
    return "en" if name in COUNTED["en"] else "en apart"


def curves(
    sets: dict[str, dict[str, Answers]], group: Sequence[str]
) -> dict[str, list[list[float]]]:
    """For each system: precision, coverage and answers out of scope, at many thresholds."""
    result: dict[str, list[list[float]]] = {}
    for system in (OURS, MINILM, OUR_COSINE, BM25):
        mine = [sets[name][system] for name in group if system in sets[name]]
        if not mine:
            continue
        scores = np.concatenate([each.scores for each in mine])
        points = []
        for threshold in np.unique(np.quantile(scores, np.linspace(0, 1, 200))).tolist():
            each = [answers.at(threshold) for answers in mine]
            point = [
                mean_known([row[name] for row in each])
                for name in ("precision", "coverage", "outside_answered")
            ]
            points.append(
                [threshold, *(-1.0 if value is None else round(value, 4) for value in point)]
            )
        result[system] = points
    return result


def measure_faqs(minilm: str | None) -> dict[str, Any]:
    """The FAQs with everything as shipped."""
    result: dict[str, Any] = {}
    for name, (faq, asked, ending) in FAQS.items():
        rows = [
            {
                "id": row["id"],
                "question": row[f"question{ending}"],
                "answer": row[f"answer{ending}"],
            }
            for row in _table(EXAMPLES / faq)
        ]
        queries = [(row["query"], row["doc"]) for row in _table(EXAMPLES / asked)]
        with tempfile.TemporaryDirectory() as scratch:
            index = Index.build(rows, Path(scratch) / "faq.sq")
            found = [index.find(text, top_k=1) for text, _ in queries]
        first = [(each.hits or each.others)[:1] for each in found]
        answered = np.array([bool(each.hits) for each in found])
        right = np.array(
            [
                bool(hit) and hit[0]["id"] == doc
                for hit, (_, doc) in zip(first, queries, strict=True)
            ]
        )
        answerable = np.array([bool(doc) for _, doc in queries])
        result[name] = {
            "n": int(answerable.sum()),
            "unanswerable": int((~answerable).sum()),
            "first_right": _mean(right[answerable]),
            "answered_rightly": _mean((right & answered)[answerable]),
            "answered_wrongly": _mean((~right & answered)[answerable]),
            "unanswerable_answered": int(answered[~answerable].sum()),
            "min_score": round(index.min_score, 4),
            "vectors": index.manifest.vector_source,
        }
        if minilm is not None and "English" in name:
            by = by_cosine(minilm, [(row["question"], row["id"]) for row in rows], queries)
            result[name]["minilm_first_right"] = by.first_right()
    return result


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def main() -> None:
    """Measure, write and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--left-out", type=Path, required=True)
    parser.add_argument("--minilm", help="a bundle; English only")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", help="these alone")
    options = parser.parse_args()
    searched: dict[str, Searched] = {}
    for language in ("en", "zh"):
        for name in (*COUNTED[language], *APART[language]):
            if not options.sets or name in options.sets:
                searched[name] = search_set(options.data, language, name, options.minilm)
                print(f"{name}: {len(searched[name].answerable)} queries", flush=True)
    sets: dict[str, dict[str, Answers]] = {}
    thresholds: dict[str, float] = {}
    for name, found in searched.items():
        score = read_score(options.left_out / f"{name}.json")
        thresholds[name] = score.threshold(DEFAULT_AIM, STAGES)
        sets[name] = {OURS: found.scored(score), **found.others}
    languages = {name: found.language for name, found in searched.items()}
    figures = summary(sets, thresholds, languages)
    groups = {group: [n for n in sets if figures[n]["group"] == group] for group in GROUPS}
    result = {
        "version": sq.__version__,
        "stages": shown_stages(STAGES),
        "sets": figures,
        "curves": {group: curves(sets, names) for group, names in groups.items() if names},
        "faqs": measure_faqs(options.minilm),
    }
    write_json(options.output, result)
    print("\n".join(tables(result)))


if __name__ == "__main__":
    main()

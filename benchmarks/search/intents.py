r"""Search by default, on sets of intents and on FAQs: ours beside a sentence encoder's cosine and BM25.

    python benchmarks search intents --data DATA --left-out FOLDER --minilm BUNDLE \
        --output intents.json
    python benchmarks search intents --show intents.json

DATA holds `intents/SET/{train,test}`. FOLDER is what `shipped/search_score.py --left-out` wrote: for
each set the score that has not seen it. BUNDLE is made by `softquery import sentence-transformers`.

Of every set at most 1,500 rows of `train` are stored, and at most 600 of `test` asked, of which at
most 200 are out of scope; both are drawn (seed 1). A query is answered rightly if the first row has
its label. Thresholds: ours is that of the default aim, from the calibration without this set; a
cosine's or BM25's is one number, the least at which the unweighted mean precision over the *other*
sets, in-scope queries alone, reaches 0.9.

The FAQs of `examples/` are asked with everything as shipped.
"""

import argparse
import csv
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.embed.sentence_sets import APART, COUNTED, Language, read_intents

import softquery as sq
from softquery.files import write_json
from softquery.search import Index, IndexSettings
from softquery.search.aims import DEFAULT_AIM
from softquery.search.query.stages import STAGES, shown_stages
from softquery.search.score.row_score import RowScore, best_rows, read_scores

MOST_ROWS, MOST_QUERIES, MOST_OUTSIDE = 1500, 600, 200
MATCHERS: dict[Language, str] = {"en": "match-en", "zh": "match-zh"}
ENCODERS: dict[Language, str] = {"en": "embed-en", "zh": "embed-zh"}
OURS, OUR_COSINE, BM25, MINILM = "ours", "our cosine", "BM25", "MiniLM"
PRECISION = 0.9
FEW_OUTSIDE = 20
"""Sets with fewer queries out of scope say nothing about those."""
GROUPS = {"en": "English", "en apart": "English, source in requests/", "zh": "Chinese"}
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "scores": [round(score, 5) for score in self.scores.tolist()],
            "right": self.right.astype(int).tolist(),
            "answerable": self.answerable.astype(int).tolist(),
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Answers":
        """From what JSON holds."""
        return cls(
            np.array(data["scores"]),
            np.array(data["right"], dtype=np.bool_),
            np.array(data["answerable"], dtype=np.bool_),
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


def measure_set(
    data: Path, language: Language, name: str, score: RowScore, minilm: str | None
) -> dict[str, Answers]:
    """What each system puts first for the queries of a set."""
    rows, queries = draw(data, name)
    found = {system: Found() for system in (OURS, OUR_COSINE, BM25)}
    entries = (
        {"id": str(number), "question": text, "answer": label}
        for number, (text, label) in enumerate(rows)
    )
    with tempfile.TemporaryDirectory() as scratch:
        settings = IndexSettings(vectors=ENCODERS[language])
        place, model = Path(scratch) / "set.sq", MATCHERS[language]
        index = Index.build(entries, place, model=model, settings=settings)
        for text, label in queries:
            steps = index.steps(text)
            steps.run()
            places = list(steps.recalled.places)
            signals = steps.signals()
            scores = score.of(signals, STAGES)
            chosen = {OURS: (None, 0.0), OUR_COSINE: (None, 0.0), BM25: (None, 0.0)}
            if places:
                best = best_rows(scores.tolist(), signals)[0]
                chosen[OURS] = places[best], float(scores[best])
            for system, listed in (
                (OUR_COSINE, steps.recalled.by_vectors),
                (BM25, steps.recalled.by_words),
            ):
                for row in list(listed)[:1]:
                    chosen[system] = row, listed[row]
            for system, (row, value) in chosen.items():
                given = (
                    "" if row is None else index.segments[row.segment].cells.text(row.row, "answer")
                )
                found[system].add(value, bool(label) and given == label)
    answerable = [bool(label) for _, label in queries]
    result = {system: each.answers(answerable) for system, each in found.items()}
    if minilm is not None and language == "en":
        result[MINILM] = by_cosine(minilm, rows, queries)
    return result


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
                _mean_known([row[name] for row in each])
                for name in ("precision", "coverage", "outside_answered")
            ]
            points.append(
                [threshold, *(-1.0 if value is None else round(value, 4) for value in point)]
            )
        result[system] = points
    return result


def coverage_at(points: Sequence[Sequence[float]], precision: float) -> tuple[float, float]:
    """The most coverage of a curve at a precision, and what it answers out of scope there."""
    fitting = [(cover, outside) for _, right, cover, outside in points if right >= precision]
    return max(fitting, default=(0.0, 0.0))


def coverage_within(points: Sequence[Sequence[float]], outside: float) -> tuple[float, float]:
    """The most coverage of a curve that answers so much out of scope, and its precision there."""
    fitting = [(cover, right) for _, right, cover, out in points if out <= outside]
    return max(fitting, default=(0.0, 0.0))


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


def _mean_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def show(result: dict[str, Any]) -> Iterator[str]:
    """The tables of the page."""
    columns = (
        "first_right",
        "precision",
        "coverage",
        "outside_answered",
        "precision_all",
        "auroc",
        "ece",
    )
    for group, title in GROUPS.items():
        mine = {n: each for n, each in result["sets"].items() if each["group"] == group}
        if not mine:
            continue
        yield f"\n{title}, {len(mine)} sets: unweighted means\n"
        yield f"| system | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}"
        for system in (OURS, MINILM, OUR_COSINE, BM25):
            rows = [each[system] for each in mine.values() if system in each]
            if rows:
                cells = [_shown(_mean_known([row[name] for row in rows])) for name in columns]
                yield f"| {system} | {' | '.join(cells)} |"
        yield f"\n| set | {' | '.join(columns)} | MiniLM first_right | coverage | precision |\n|---|{'---|' * (len(columns) + 3)}"
        for name, each in mine.items():
            cells = [_shown(each[OURS][column]) for column in columns]
            others = [
                _shown(each.get(MINILM, {}).get(c))
                for c in ("first_right", "coverage", "precision")
            ]
            yield f"| {name} | {' | '.join([*cells, *others])} |"
        points = result["curves"].get(group, {})
        if points:
            yield "\n| system | coverage at precision 0.88 | 0.90 | 0.92 | 0.94 | coverage with 10 % out of scope answered | 15 % | 20 % |\n|---|---|---|---|---|---|---|---|"
        for system, curve in points.items():
            cells = [
                f"{c:.3f} ({o:.3f})"
                for c, o in (coverage_at(curve, p) for p in (0.88, 0.9, 0.92, 0.94))
            ]
            cells += [
                f"{c:.3f} ({p:.3f})"
                for c, p in (coverage_within(curve, o) for o in (0.1, 0.15, 0.2))
            ]
            yield f"| {system} | {' | '.join(cells)} |"
    yield "\n| FAQ | first answer right | MiniLM | answered rightly | wrongly | unanswerable answered |\n|---|---|---|---|---|---|"
    for name, each in result["faqs"].items():
        cells = [
            _shown(each[k]) if k in each else "–"
            for k in ("first_right", "minilm_first_right", "answered_rightly", "answered_wrongly")
        ]
        yield f"| {name} | {' | '.join(cells)} | {each['unanswerable_answered']} of {each['unanswerable']} |"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def main() -> None:
    """Measure, or show what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--left-out", type=Path)
    parser.add_argument("--minilm")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--sets", nargs="+", help="these alone")
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is not None:
        print("\n".join(show(json.loads(options.show.read_text()))))
        return
    sets: dict[str, dict[str, Answers]] = {}
    thresholds: dict[str, float] = {}
    languages: dict[str, Language] = {}
    for language in ("en", "zh"):
        for name in (*COUNTED[language], *APART[language]):
            if options.sets and name not in options.sets:
                continue
            score = read_scores(options.left_out / f"encoder-{name}.json")["encoder"]
            languages[name] = language
            thresholds[name] = score.threshold(DEFAULT_AIM, STAGES)
            sets[name] = measure_set(options.data, language, name, score, options.minilm)
            print(name, {k: v.first_right() for k, v in sets[name].items()}, flush=True)
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
    print("\n".join(show(result)))


if __name__ == "__main__":
    main()

"""Do the words that an answer is said to owe most move it most? Reasons, attention, random words.

    python benchmarks explain faithfulness --data DATA --output faithfulness.json
    python benchmarks explain faithfulness_page faithfulness.json

DATA holds `pairs/SET/dev` and `classification/sst2/dev`. Of every set and seed some rows are drawn,
with no row in two seeds; labels are not read, because it is the model's own answer that is asked
for. Words are ordered by a method, the largest first. Removed together, the first k should take the
answer away (comprehensiveness); left alone, they should carry it (sufficiency; DeYoung et al. 2020,
"ERASER", Section 4.2). Random words are drawn several times for every row.

Without one word reasons are the best by construction, so that k begins at 2.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.files import read_rows, write_json
from softquery.runtime import Classifier, Matcher, load_classifier, load_matcher
from softquery.runtime.leaving_out import Part, answer_log_odds, token_parts, word_parts

SETS = {
    "SNLI": ("pairs/snli_100k", "nli-en"),
    "QQP": ("pairs/qqp_20k", "match-en"),
    "LCQMC": ("pairs/lcqmc", "match-zh"),
    "SST-2": ("classification/sst2", "sentiment-en"),
}
COUNTS = (2, 3, 4)
SEEDS = (1, 2, 3)
DRAWS = 5
"""Random choices of words for every row and count."""
LEAST_WORDS = 6
RESAMPLES = 2000
Floats = NDArray[np.float64]
Places = frozenset[int]


@dataclass(frozen=True, slots=True)
class Judged:
    """One row: its words, how methods order them, and what answers variants of it."""

    read: Sequence[Sequence[Any]]
    parts: list[Part]
    orders: dict[str, Floats]
    """For each method a number per word; the largest are said to matter most."""
    column: int
    answer: Callable[[list[list[list[Any]]]], Floats]
    """From variants of what was read to rows of probabilities."""

    def kept(self, gone: Places) -> list[list[Any]]:
        """What was read, without some of its words."""
        lost = {
            (self.parts[place].sentence, at)
            for place in gone
            for at in range(self.parts[place].first, self.parts[place].last + 1)
        }
        return [
            [token for at, token in enumerate(tokens) if (side, at) not in lost]
            for side, tokens in enumerate(self.read)
        ]


def judged_pair(matcher: Matcher, pair: tuple[str, str]) -> Judged:
    """A pair, by its reasons and by how much each word is asked by those of the other sentence."""
    shown = matcher.explain(*pair)
    assert shown.reasons is not None
    parts = [p for side, text in enumerate(pair) for p in token_parts(text, matcher.pipeline, side)]
    looks = (shown.second_to_first, shown.first_to_second)
    asked = [look[1:-1].sum(axis=0) if matcher.pipeline.config.boundaries else look.sum(axis=0)
             for look in looks]  # fmt: skip
    read = matcher.read(list(pair))[0]
    return Judged(
        read,
        parts,
        {
            "reasons": np.concatenate(shown.reasons.changes),
            "attention": np.array([asked[p.sentence][p.first : p.last + 1].sum() for p in parts]),
        },
        matcher.labels.index(shown.reasons.answer),
        lambda some: matcher.probabilities_of_read([a for a, _ in some], [b for _, b in some]),
    )


def judged_text(classifier: Classifier, text: str) -> Judged:
    """A text, by its reasons, by the weights of its words, and by what their states add."""
    shown = classifier.explain(text)
    assert shown.reasons is not None
    assert shown.contributions is not None
    words = shown.sentences[0]
    return Judged(
        [list(words)],
        word_parts(words),
        {
            "reasons": shown.reasons.changes[0],
            "contributions": shown.contributions.changes[0],
            "attention": shown.word_weights[0].astype(np.float64),
        },
        classifier.labels.index(shown.reasons.answer),
        classifier.probabilities_of_read,
    )


def choices(row: Judged, count: int, chance: np.random.Generator) -> Iterator[tuple[str, Places]]:
    """The words that each method names, and some random ones."""
    for name, order in row.orders.items():
        yield name, frozenset(np.argsort(-order, kind="stable")[:count].tolist())
    for _ in range(DRAWS):
        drawn = chance.choice(len(row.parts), count, replace=False)
        yield "random", frozenset(drawn.tolist())


def measured(row: Judged, chance: np.random.Generator) -> dict[tuple[int, str], Floats]:
    """What becomes of the answer, for every count and method.

    Returns:
        The drop in log-odds and in probability without the words, whether the answer changes then,
        and the drop in probability with the words alone.
    """
    every = frozenset(range(len(row.parts)))
    asked = [(count, *each) for count in COUNTS for each in choices(row, count, chance)]
    variants = [row.kept(frozenset())]
    for _, _, chosen in asked:
        variants += [row.kept(chosen), row.kept(every - chosen)]
    found = row.answer(variants)
    odds, shares = answer_log_odds(found, row.column), found[:, row.column]
    results: dict[tuple[int, str], list[list[float]]] = defaultdict(list)
    for place, (count, name, _) in enumerate(asked):
        without, alone = 1 + 2 * place, 2 + 2 * place
        results[count, name].append(
            [
                odds[0] - odds[without],
                shares[0] - shares[without],
                float(found[without].argmax() != found[0].argmax()),
                shares[0] - shares[alone],
            ]
        )
    return {key: np.mean(each, axis=0) for key, each in results.items()}


MEASURES = ("log_odds", "probability", "changed", "alone")


def interval(values: Floats) -> list[float]:
    """The mean of rows with its 95 % interval by bootstrap."""
    chance = np.random.default_rng(0)
    drawn = chance.integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return [round(float(each), 4) for each in (values.mean(), low, high)]


def figures(rows: dict[int, list[dict[tuple[int, str], Floats]]]) -> list[dict[str, Any]]:
    """Means over all rows with intervals, means by seed, and how far reasons lie above others."""
    together = [row for some in rows.values() for row in some]
    found = []
    for count, name in together[0]:
        values = np.array([row[count, name] for row in together])
        ours = np.array([row[count, "reasons"] for row in together])
        entry: dict[str, Any] = {"words": count, "method": name}
        for place, measure in enumerate(MEASURES):
            entry[measure] = interval(values[:, place])
            entry[f"{measure}_by_seed"] = [
                round(float(np.mean([row[count, name][place] for row in some])), 4)
                for some in rows.values()
            ]
            if name != "reasons":
                entry[f"{measure}_of_reasons_above"] = interval(ours[:, place] - values[:, place])
        found.append(entry)
    return found


def rows_of(name: str, data: Path, num_rows: int) -> Iterator[tuple[int, Any]]:
    """Rows that were drawn from a set, each with its seed."""
    (path,) = (data / SETS[name][0]).glob("dev*")
    if name == "SST-2":  # a line is a label, a space and a text
        lines = (row.values["text"] for row in read_rows(path, columns=["text"]))
        texts: list[tuple[str, ...]] = [(line.split(" ", 1)[1],) for line in lines]
    else:
        columns = ["sentence1", "sentence2"]
        rows = read_rows(path, columns=columns)
        texts = [tuple(row.values[each] for each in columns) for row in rows]
    order = np.random.default_rng(0).permutation(len(texts))
    for place, seed in enumerate(SEEDS):
        for row in order[place * num_rows : (place + 1) * num_rows]:
            yield seed, texts[row]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=280, help="of each set and seed")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    options = parser.parse_args()
    result: dict[str, Any] = {"seeds": list(SEEDS), "draws": DRAWS, "sets": {}}
    for name in options.sets:
        model = SETS[name][1]
        opened: Any = (load_classifier if name == "SST-2" else load_matcher)(model, threads=1)
        chances = {seed: np.random.default_rng(seed) for seed in SEEDS}
        rows: dict[int, list[Any]] = {seed: [] for seed in SEEDS}
        num_words = []
        for seed, texts in rows_of(name, options.data, options.rows):
            row = judged_text(opened, *texts) if name == "SST-2" else judged_pair(opened, texts)
            if len(row.parts) >= LEAST_WORDS:
                rows[seed].append(measured(row, chances[seed]))
                num_words.append(len(row.parts))
        result["sets"][name] = {
            "model": model,
            "rows": [len(some) for some in rows.values()],
            "words": round(float(np.mean(num_words)), 1),
            "figures": figures(rows),
        }
        write_json(options.output, result)
        print(f"{name}: {sum(map(len, rows.values())):,} rows", flush=True)


if __name__ == "__main__":
    main()

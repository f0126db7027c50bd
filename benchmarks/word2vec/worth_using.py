"""How good word vectors are, section by section and by how rare the words are; ours or anybody's.

    python benchmarks word2vec worth_using --model en=FOLDER --tests EVAL --questions \
        questions-words.txt --graded wordsim353.tsv --graded simlex999.txt

A model is a bundle or a file of vectors. `--questions` are files of analogies in EVAL, `--graded`
pairs of words with people's grades. Every section gets a row, then its groups (meaning and grammar,
where a set tells them apart) and all of it; for Chinese give ca8-semantic.txt and
ca8-morphological.txt. `by_rank` sorts questions by the rank of their rarest word, most frequent
words first, which is where skip-gram and CBOW differ. `--offsets "king queen man woman"` asks how
parallel two differences are, by their cosine; beside it stands the cosine that 95 % of differences
of frequent words, drawn at random, stay below. Rows of one model are written when it is done, those
of the others stay.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.files.word_tests import Section, read_graded_words, read_questions
from softquery.measure import mean_interval
from softquery.measure.word_scores import AnalogyScore, score_groups, sum_scores, unit_rows
from softquery.runtime import WordVectors, load_vectors

HERE = Path(__file__).parent
RESTRICT = 300_000
FREQUENT = 5_000
RANKS = (1_000, 3_000, 10_000, 30_000, RESTRICT)


def by_rank(vectors: WordVectors, sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Accuracy on the questions whose rarest word has a rank up to each bound."""
    bands: dict[int, list[Any]] = {bound: [] for bound in RANKS}
    for section in sections:
        for question in section.questions:
            words = (question.first, question.second, question.third, question.fourth)
            places = [vectors.place(word) for word in words]
            known = [place for place in places if place is not None and place < RESTRICT]
            if len(known) == len(places):
                bands[next(bound for bound in RANKS if max(known) < bound)].append(question)
    found = []
    for bound, questions in bands.items():
        if questions:
            (score,) = vectors.answer([Section(str(bound), questions)], restrict=RESTRICT)
            found.append({"rarest_word_below": bound, **_row(score)})
    return found


def _row(score: AnalogyScore) -> dict[str, Any]:
    right = np.zeros(score.n)
    right[: score.num_right] = 1
    interval = [round(100 * each, 2) for each in mean_interval(right.tolist())] if score.n else None
    accuracy = None if score.accuracy is None else round(100 * score.accuracy, 2)
    return {
        "name": score.name,
        "accuracy": accuracy,
        "interval": interval,
        "right": score.num_right,
        "n": score.n,
        "unknown": score.num_unknown,
    }


def offsets(vectors: WordVectors, asked: Sequence[str]) -> dict[str, Any]:
    """How parallel differences of words are, and what chance gives the first pair of each."""
    draw = np.random.default_rng(1)
    frequent = np.array([vectors.unit_vector(word) for word in vectors.words[:FREQUENT]])
    one, other = draw.integers(0, len(frequent), (2, FREQUENT))
    different = one != other
    chance = unit_rows(frequent[one[different]] - frequent[other[different]])
    rows = []
    for words in asked:
        first, second, third, fourth = map(vectors.unit_vector, words.split())
        ways = unit_rows(np.stack([first - second, third - fourth]))
        bound = float(np.percentile(chance @ ways[0], 95))
        cosine = float(ways[0] @ ways[1])
        rows.append({"words": words, "cosine": round(cosine, 3), "chance": round(bound, 3)})
    return {"offsets": rows}


def measured(name: str, place: str, options: argparse.Namespace) -> dict[str, Any]:
    """All that is asked of one model."""
    vectors = load_vectors(place)
    facts: dict[str, Any] = {"name": name, "words": len(vectors.words)}
    try:
        bundle = read_bundle(place)
        facts["training"] = bundle.metrics.get("training")
        facts["settings"] = json.loads((Path(place) / "training/run.json").read_text("utf-8"))
    except (BundleError, OSError):
        facts["training"] = None
    for file in options.questions:
        sections = read_questions(options.tests / file)
        scores = vectors.answer(sections, restrict=RESTRICT)
        listed = [*scores, *score_groups(scores), sum_scores(scores, "all")]
        facts[file] = {
            "rows": [_row(score) for score in listed],
            "by_rank": by_rank(vectors, sections),
        }
    for file in options.graded:
        found = vectors.grade(read_graded_words(options.tests / file))
        value = None if found.spearman is None else round(100 * found.spearman, 2)
        facts[file] = {"spearman": value, "n": found.n, "unknown": found.num_unknown}
    if options.offsets:
        facts["parallel"] = offsets(vectors, options.offsets)
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", required=True, help="NAME=BUNDLE or file")
    parser.add_argument("--tests", type=Path, required=True)
    parser.add_argument("--questions", action="append", default=[])
    parser.add_argument("--graded", action="append", default=[])
    parser.add_argument("--offsets", action="append", default=[], help="four words")
    parser.add_argument("--output", type=Path, default=HERE / "worth_using.json")
    options = parser.parse_args()
    rows = json.loads(options.output.read_text("utf-8")) if options.output.exists() else []
    for each in options.model:
        name, _, place = each.partition("=")
        row = measured(name, place, options)
        rows = [other for other in rows if other["name"] != name] + [row]
        options.output.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for file in options.questions:
            for score in row[file]["rows"]:
                print(name, score["name"], score["accuracy"], score["n"], sep="\t")
            for score in row[file]["by_rank"]:
                bound = f"rarest word below rank {score['rarest_word_below']:,}"
                print(name, bound, score["accuracy"], score["n"], sep="\t")
        for file in options.graded:
            print(name, file, row[file]["spearman"], row[file]["n"], sep="\t")


if __name__ == "__main__":
    main()

"""InsuranceQA as a search: from training questions to what each stage finds of 27,413 answers.

    python benchmarks search insurance run DATA WORK [--language en] [--vectors glove.txt] [--small]
        [--until encoder-data]
    python benchmarks search insurance measure DATA INDEX [--language en] [--split valid]
        [--recall-weight 200]

DATA holds `answers`, `questions_train` and `questions_valid`. `run` goes through the steps below,
each of which leaves a folder in WORK and is skipped where that is there already, so that those that
train can be run on another machine (`--until reranker-trained`); `measure` asks `questions_valid`
of an index, against all answers and against the 200 negatives that each has, or the training
questions that were held back (`--split tune`), by which settings are chosen.

1. `encoder-data`: questions with their answers, and with what BM25 finds that is none;
2. `encoder-trained`, `encoder`: the recipe siamese-search on it, exported to int8 and calibrated;
3. `reranker-data`: the same with what words and vectors find together, ranked by both;
4. `reranker-trained`, `reranker`: the recipe esim-search on it, exported and calibrated;
5. `answers.sq`: all answers, with the reranker's encodings and the encoder's vectors.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from softquery import Index, load
from softquery.files import Row, find_split, read_rows, write_text
from softquery.measure import mean_interval
from softquery.measure.word_scores import unit_rows
from softquery.search.index_evaluation import evaluate_index, measures
from softquery.search.query.retrieval import best_first, compared, recall
from softquery.search.storage.index_files import FolderWriter
from softquery.search.storage.word_recall import (
    SearchTokenizer,
    WordIndex,
    query_weights,
    write_words,
)
from softquery.text import TextConfig

CUTS = (1, 10, 50)
SMALL = {
    "model.hidden_size": 16,
    "model.embedding_size": 16,
    "training.max_steps": 30,
    "text.max_tokens": 40,
}
"""Settings of a run that only shows whether the steps fit together."""
HARD, GIVEN = 4, 2
"""Negatives of a question that recall finds, and of the 200 that come with it."""
DEPTH = 60
"""How deep in what is recalled negatives are looked for."""


@dataclass(frozen=True)
class Question:
    """A question, the ids of its answers, and of 200 texts that are none."""

    text: str
    answers: list[str]
    negatives: list[str]


@dataclass(frozen=True)
class Data:
    """All answers by id, and the questions; some of the training ones are held back to tune by."""

    answers: dict[str, str]
    train: list[Question]
    tune: list[Question]
    valid: list[Question]


def read_data(folder: Path, language: str, *, most: int | None = None) -> Data:
    rename = {"text": language}
    rows = read_rows(find_split(folder, "answers"), columns=("aid", "text"), rename=rename)
    answers = {row.values["aid"]: row.values["text"] for row in rows}
    train = questions(folder, "questions_train", language)[:most]
    random.Random(1).shuffle(train)
    num_tune = max(1, len(train) // 20)
    valid = questions(folder, "questions_valid", language)[:most]
    return Data(answers, train[num_tune:], train[:num_tune], valid)


def questions(folder: Path, split: str, language: str) -> list[Question]:
    columns = ("text", "answer_ids", "negative_ids")
    path = find_split(folder, split)
    return [
        Question(
            row.values["text"],
            row.values["answer_ids"].split(),
            row.values["negative_ids"].split(),
        )
        for row in read_rows(path, columns=columns, rename={"text": language})
    ]


class Recall:
    """The answers by words, and where there is an encoder by its vectors, too.

    Args:
        answers: By id.
        text: How words are spelt.
        encoder: A Siamese bundle.
    """

    def __init__(self, answers: dict[str, str], text: TextConfig, encoder: Path | None) -> None:
        self.ids = list(answers)
        self._cut = SearchTokenizer(text).words
        with tempfile.TemporaryDirectory() as scratch:
            write_words(FolderWriter(Path(scratch)), [self._cut(each) for each in answers.values()])
            self._words = WordIndex(Path(scratch))
        self._matcher = None if encoder is None else load(encoder)
        self._vectors = None if encoder is None else self._embed(list(answers.values()))

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        matcher = self._matcher
        ids = matcher.pipeline.encode_ids(texts)
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        found = [None] * len(ids)
        for start in range(0, len(order), 32):
            part = order[start : start + 32]
            vectors = matcher.backend.encode([ids[place] for place in part])
            for place, vector in zip(part, vectors, strict=True):
                found[place] = vector
        return unit_rows(np.stack(found))

    def find(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Ids for each text, likeliest first: by words, or by both lists in turn."""
        asked = None if self._vectors is None else self._embed(texts)
        for number, text in enumerate(texts):
            lists = [self._by_words(text)]
            if asked is not None:
                scores = self._vectors @ asked[number]
                lists.append(np.argsort(-scores)[:DEPTH].tolist())
            merged = dict.fromkeys(place for rank in zip(*lists, strict=True) for place in rank)
            yield [self.ids[place] for place in merged]

    def _by_words(self, text: str) -> list[int]:
        words = self._cut(text)
        counts = {word: self._words.num_rows_with(word) for word in words}
        weights = query_weights(words, counts, len(self.ids))
        scores = self._words.scores(weights, len(self.ids))
        return np.argsort(-scores)[:DEPTH].tolist()


def pairs(
    data: Data, asked: Sequence[Question], recalled: Recall, draw: random.Random
) -> Iterator[tuple[str, str, str]]:
    """Questions with answers (1), and with texts that are none (0)."""
    found = recalled.find([question.text for question in asked])
    for question, ids in zip(asked, found, strict=True):
        gold = set(question.answers)
        for answer in question.answers:
            yield question.text, data.answers[answer], "1"
        hard = [key for key in ids if key not in gold]
        # What stands first among the wrong ones is often right and only not marked so.
        chosen = draw.sample(hard[2:], min(HARD, len(hard) - 2))
        others = [key for key in question.negatives if key in data.answers]
        chosen += draw.sample(others, min(GIVEN, len(others)))
        for key in chosen:
            yield question.text, data.answers[key], "0"


def write_pairs(data: Data, recalled: Recall, folder: Path) -> None:
    """The splits of a data folder; dev are the first of `questions_valid`."""
    draw = random.Random(1)
    folder.mkdir(parents=True)
    splits = {"train": data.train, "tune": data.tune, "dev": data.valid[:500]}
    for name, asked in splits.items():
        rows = [tuple(map(one_line, row)) for row in pairs(data, asked, recalled, draw)]
        lines = ["\t".join(row) for row in [("sentence1", "sentence2", "label"), *rows]]
        write_text(folder / f"{name}.tsv.xz", "\n".join(lines) + "\n")
        print(f"{folder / name}: {len(rows):,} pairs", file=sys.stderr)


def one_line(text: str) -> str:
    return " ".join(text.split())


def softquery(*words: object) -> None:
    command = [sys.executable, "-m", "softquery", *map(str, words)]
    print("$", " ".join(map(str, words)), file=sys.stderr)
    subprocess.run(command, check=True)


def train(recipe: str, data: Path, output: Path, options: argparse.Namespace) -> None:
    settings = SMALL if options.small else {}
    if options.language == "zh":
        settings = {**settings, "text.unit": "characters", "text.simplify": "true"}
        settings.setdefault("text.max_tokens", 300)
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    words += [word for setting in options.set for word in ("--set", setting)]
    words += [word for path in options.vectors or [] for word in ("--vectors", path)]
    softquery("train", recipe, "--data", data, "--output", output, *words)


def export(trained: Path, data: Path, output: Path, *, small: bool) -> None:
    tune = ["--data", data / "tune.tsv.xz"]
    softquery("export", trained, "--output", output, "--int8", *tune, "--gate", 1)
    if not small:  # which holds too few pairs back
        softquery("calibrate", output, *tune)


def run(options: argparse.Namespace) -> None:
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    data = read_data(options.data, options.language, most=40 if options.small else None)
    if options.small:
        kept = {key for q in (*data.train, *data.tune, *data.valid) for key in q.answers}
        kept |= {key for q in (*data.train, *data.tune, *data.valid) for key in q.negatives[:9]}
        data = Data({k: data.answers[k] for k in sorted(kept)}, data.train, data.tune, data.valid)
    unit = "characters" if options.language == "zh" else "words"
    text = TextConfig(unit=unit, simplify=options.language == "zh")
    encoder, reranker = work / "encoder", work / "reranker"
    encoder_data, reranker_data = work / "encoder-data", work / "reranker-data"
    trained = {name: work / f"{name}-trained" for name in ("encoder", "reranker")}
    rows = [{"id": key, "question": answer} for key, answer in data.answers.items()]
    steps: dict[str, Callable[[Path], object]] = {
        "encoder-data": lambda at: write_pairs(data, Recall(data.answers, text, None), at),
        "encoder-trained": lambda at: train("siamese-search", encoder_data, at, options),
        "encoder": lambda at: export(trained["encoder"], encoder_data, at, small=options.small),
        "reranker-data": lambda at: write_pairs(data, Recall(data.answers, text, encoder), at),
        "reranker-trained": lambda at: train("esim-search", reranker_data, at, options),
        "reranker": lambda at: export(trained["reranker"], reranker_data, at, small=options.small),
        "answers.sq": lambda at: build(rows, at, reranker, encoder),
    }
    for name, make in steps.items():
        if not (work / name).exists():
            print(f"== {name}", file=sys.stderr)
            make(work / name)
        if name == options.until:
            return
    report(Index.open(work / "answers.sq"), data.valid)


def build(rows: list[dict[str, str]], place: Path, model: Path, encoder: Path) -> None:
    from softquery.search import IndexSettings

    start = time.perf_counter()
    settings = IndexSettings(vectors=str(encoder.resolve()))
    index = Index.build(rows, place, model=model, settings=settings)
    seconds = time.perf_counter() - start
    total = sum(index.size_bytes().values())
    print(f"{len(index):,} rows in {seconds:.0f} s, {total / 1e6:,.0f} MB", file=sys.stderr)


def report(index: Index, asked: Sequence[Question]) -> None:
    """Every stage, against all answers and against the given negatives, as one JSON object."""
    rows = [
        Row({"query": each.text, "doc": key}, number, "questions_valid")
        for number, each in enumerate(asked, 2)
        for key in each.answers
    ]
    evaluation = evaluate_index(index, rows)
    found = evaluation.report()
    result = {
        "n": found["n"],
        "all": {stage: chosen(each) for stage, each in found["stages"].items()},
        "mrr_interval": found["mrr_interval"],
        "milliseconds": found["milliseconds"],
        "given": against_given(index, asked),
    }
    print(json.dumps(result, indent=1))


def chosen(metrics: dict[str, float]) -> dict[str, float]:
    wanted = ("mrr", *(f"found@{k}" for k in CUTS))
    return {name: round(metrics[name], 4) for name in wanted if name in metrics}


def against_given(index: Index, asked: Sequence[Question]) -> dict[str, dict[str, float]]:
    """Each question's answers among its 200 negatives; the first fifty are reranked."""
    place = {
        key: (n, row) for n, each in enumerate(index.segments) for row, key in enumerate(each.ids)
    }
    lists: dict[str, list[dict[str, float]]] = {}
    weight = index.models.settings.recall_weight
    for each in asked:
        masks = [np.zeros(len(segment), dtype=bool) for segment in index.segments]
        for key in (*each.answers, *each.negatives):
            if key in place:
                masks[place[key][0]][place[key][1]] = True
        recalled = recall(index.segments, index.models, each.text, 50, masks)
        judged = compared(index.segments, index.models, each.text, list(recalled.places))
        ranked = best_first(recalled.places, judged, weight)
        found = {
            "words": recalled.by_words,
            "vectors": recalled.by_vectors,
            "hybrid": list(recalled.places),
            "rerank": [key for key, _ in ranked],
        }
        relevant = dict.fromkeys(each.answers, 1.0)
        for stage, places in found.items():
            keys = [index.segments[number].ids[row] for number, row in places]
            lists.setdefault(stage, []).append(measures(keys, relevant, CUTS))
    result = {}
    for stage, every in lists.items():
        result[stage] = chosen(
            {name: float(np.mean([m[name] for m in every])) for name in every[0]}
        )
        low, high = mean_interval([m["mrr"] for m in every])
        result[stage]["mrr_low"], result[stage]["mrr_high"] = round(low, 4), round(high, 4)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    running, measuring = verbs.add_parser("run"), verbs.add_parser("measure")
    for each in (running, measuring):
        each.add_argument("data", type=Path)
        each.add_argument("work", type=Path)
        each.add_argument("--language", choices=("en", "zh"), default="en")
    running.add_argument("--vectors", type=Path, action="append")
    running.add_argument("--until", help="stop after this step")
    running.add_argument("--set", action="append", default=[], help="for both recipes")
    running.add_argument("--small", action="store_true", help="a few steps on a few questions")
    measuring.add_argument("--split", choices=("valid", "tune"), default="valid")
    measuring.add_argument("--recall-weight", type=float, help="in place of the index's own")
    measuring.add_argument("--questions", type=int, default=2000)
    options = parser.parse_args()
    if options.verb == "run":
        run(options)
    else:
        data = read_data(options.data, options.language)
        index = Index.open(options.work)
        if options.recall_weight is not None:
            settings = replace(index.models.settings, recall_weight=options.recall_weight)
            index.models.settings = settings
        report(index, (data.valid if options.split == "valid" else data.tune)[: options.questions])


if __name__ == "__main__":
    main()

"""Word vectors, ours beside gensim's: same corpus, same settings, one run; speed and quality.

    python benchmarks/word2vec.py --data FOLDER --tests EVAL --output word2vec.json
    python benchmarks/word2vec.py --data FOLDER --tests EVAL --contestants numba torch --epochs 1

FOLDER holds the text (.txt, .txt.xz, …), EVAL holds questions-words.txt, wordsim353.tsv and
simlex999.txt. The corpus is cut into words once; everybody trains on the same tokens. `gensim`
reads sentences one by one, `gensim-file` takes a `corpus_file`, which is faster; with several
workers its learning rate does not fall all the way. Words a second count every word of the text
that is in the vocabulary, and the training alone: neither reading nor compiling. Seeds go round in
turn, so that a busy machine is busy for all. gensim is a package that only this script needs.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from softquery.files import Corpus, WordVectors, find_shards, write_corpus
from softquery.files.numbering import END
from softquery.files.word_tests import read_graded_words, read_questions
from softquery.measure.words import sum_scores
from softquery.models import Word2VecConfig
from softquery.runtime import WordSpace
from softquery.text import TextConfig
from softquery.training.word2vec import WordTraining
from softquery.training.word2vec.engine import Engine, Subject
from softquery.training.word2vec.fit import STRETCH, WordFit

LONGEST = 10_000
METRICS = ("words_per_second", "analogies", "wordsim", "simlex")
Trainer = Callable[[Corpus, str, int, argparse.Namespace], tuple[list[str], np.ndarray, float]]


class Silent:
    """Watches a run and says nothing."""

    def begin(self, total_steps: int, done: int) -> None:
        """Nothing."""

    def step(self, done: int, facts: dict[str, float]) -> None:
        """Nothing."""

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        """Nothing."""


def ours(name: str) -> Trainer:
    def train(
        corpus: Corpus, architecture: str, seed: int, options: argparse.Namespace
    ) -> tuple[list[str], np.ndarray, float]:
        config = Word2VecConfig(
            vocab_size=len(corpus.words),
            embedding_size=options.size,
            architecture=architecture,  # type: ignore[arg-type]
        )
        training = WordTraining(
            seed=seed, epochs=options.epochs, threads=options.threads, checkpoint_seconds=1e9
        )
        subject = Subject.of(corpus.words, corpus.counts, config, training, STRETCH + LONGEST + 1)
        with tempfile.TemporaryDirectory() as folder:
            fit = WordFit(engine(name, subject), corpus, training, Path(folder))
            first = fit.engine.state()
            fit.engine.learn([fit.stretch(0)])  # compiled or recorded before the clock starts
            fit.engine.restore(first)
            progress = fit.run(Silent(), resume=False)
        vectors = fit.engine.state()["input"]
        return corpus.words, vectors, progress.words / progress.seconds

    return train


def engine(name: str, subject: Subject) -> Engine:
    if name == "torch":
        from softquery.training.word2vec.torch_engine import TorchEngine

        return TorchEngine(subject)
    from softquery.training.word2vec.numba_engine import NumbaEngine

    return NumbaEngine(subject)


def gensims(from_file: bool) -> Trainer:
    def train(
        corpus: Corpus, architecture: str, seed: int, options: argparse.Namespace
    ) -> tuple[list[str], np.ndarray, float]:
        from gensim.models import Word2Vec
        from gensim.models.word2vec import LineSentence

        text = str(corpus.path.with_suffix(".tokens"))
        source: dict[str, Any] = (
            {"corpus_file": text} if from_file else {"corpus_iterable": LineSentence(text)}
        )
        model = Word2Vec(
            vector_size=options.size,
            sg=int(architecture == "skipgram"),
            window=5,
            negative=5,
            min_count=1,
            sample=1e-3,
            alpha=0.025,
            min_alpha=1e-4,
            workers=options.threads,
            seed=seed,
        )
        model.build_vocab(**source)
        total = {"total_words": model.corpus_total_words} if from_file else {}
        start = time.perf_counter()
        model.train(**source, **total, total_examples=model.corpus_count, epochs=options.epochs)
        seconds = time.perf_counter() - start
        words = corpus.num_tokens * options.epochs
        return model.wv.index_to_key, model.wv.vectors, words / seconds

    return train


CONTESTANTS: dict[str, Trainer] = {
    "numba": ours("numba"),
    "torch": ours("torch"),
    "gensim": gensims(from_file=False),
    "gensim-file": gensims(from_file=True),
}


def quality(words: list[str], vectors: np.ndarray, tests: Path) -> dict[str, float]:
    """Points of 100: analogies by 3CosAdd, and Spearman's correlations."""
    space = WordSpace(WordVectors(words, vectors), text=TextConfig())
    sections = read_questions(tests / "questions-words.txt")
    total = sum_scores(space.answer(sections, restrict=300_000), "all")
    grades = {
        name: space.grade(read_graded_words(tests / file)).spearman or 0.0
        for name, file in (("wordsim", "wordsim353.tsv"), ("simlex", "simlex999.txt"))
    }
    return {
        "analogies": 100 * (total.accuracy or 0.0),
        "questions": total.n,
        **{name: 100 * value for name, value in grades.items()},
    }


def write_tokens(corpus: Corpus) -> None:
    """The corpus as gensim reads it: words between spaces, a sentence a line."""
    ids = corpus.ids()
    names = np.array([*corpus.words, "\n"], dtype=object)
    with corpus.path.with_suffix(".tokens").open("w", encoding="utf-8") as out:
        ends = np.flatnonzero(ids == END)
        for first in range(0, len(ends), 10_000):
            start = 0 if first == 0 else int(ends[first - 1]) + 1
            part = ids[start : int(ends[min(first + 10_000, len(ends)) - 1]) + 1]
            out.write(" ".join(names[part]).replace(" \n ", "\n").replace(" \n", "\n"))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means and spreads over seeds, and how many times as fast each is as gensim."""
    table: dict[str, Any] = {}
    for row in rows:
        table.setdefault(row["architecture"], {}).setdefault(row["contestant"], []).append(row)
    for contestants in table.values():
        for name, runs in contestants.items():
            contestants[name] = {
                metric: {
                    "mean": round(statistics.fmean(run[metric] for run in runs), 2),
                    "spread": round(max(r[metric] for r in runs) - min(r[metric] for r in runs), 2),
                }
                for metric in METRICS
            }
        for base in ("gensim", "gensim-file"):
            if base in contestants:
                speed = contestants[base]["words_per_second"]["mean"]
                for each in contestants.values():
                    ratio = each["words_per_second"]["mean"] / speed
                    each[f"times_{base}"] = round(ratio, 2)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of text files, or a file")
    parser.add_argument("--tests", type=Path, required=True, help="folder of the word tests")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS,
                        default=["numba", "gensim", "gensim-file"])  # fmt: skip
    parser.add_argument("--architectures", nargs="+", default=["skipgram", "cbow"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shards", type=int, help="read only so many files")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        files = find_shards(options.data)[: options.shards]
        text = TextConfig(max_tokens=LONGEST)
        corpus = write_corpus(
            files, text, Path(folder), min_count=5, processes=options.threads, say=print
        )
        seconds = time.perf_counter() - start
        print(f"{corpus.num_tokens:,} words, {len(corpus.words):,} different; {seconds:.1f} s")
        write_tokens(corpus)
        rows = []
        for architecture in options.architectures:
            for seed in options.seeds:
                for name in options.contestants:
                    words, vectors, speed = CONTESTANTS[name](corpus, architecture, seed, options)
                    found = {"words_per_second": speed, **quality(words, vectors, options.tests)}
                    row = {"architecture": architecture, "contestant": name, "seed": seed, **found}
                    rows.append(row)
                    print(json.dumps(row), flush=True)
    result = {
        "words": corpus.num_tokens,
        "vocabulary": len(corpus.words),
        "reading_seconds": round(seconds, 1),
        "settings": {"size": options.size, "epochs": options.epochs, "threads": options.threads},
        "summary": summary(rows),
        "runs": rows,
    }
    print(json.dumps(result["summary"], indent=1))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

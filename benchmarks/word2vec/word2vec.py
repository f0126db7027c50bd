"""Word vectors, ours beside gensim's: same corpus, same settings, one run; speed and quality.

    python benchmarks word2vec --data FOLDER --tests EVAL
    python benchmarks word2vec --data FOLDER --tests EVAL --contestants torch --output gpu.json

FOLDER has the text (.txt, .txt.xz, …) or what `softquery.files.write_corpus_file` made of it; EVAL
holds questions-words.txt, wordsim353.tsv and simlex999.txt. The text is cut into words once, and
everybody trains on the same tokens. The second line is for a machine with a GPU: beside each run of
the torch engine it takes the pace of the numba engine, once on all cores and once on `--threads`.

Every run is written down when it is done (a JSON, and a table beside it). Started again, the script
skips what is there. Seeds go round in turn, so that a busy machine is busy for all. Words a second
count every word of the text that is in the vocabulary, and the training alone: neither reading nor
compiling. gensim is a package that only this script needs.

`gensim` reads sentences one by one; `gensim-file` takes a `corpus_file`, which is faster, but tells
how far it is by what one worker has read, so that with W workers the learning rate falls only 1/W
of its way in each epoch. It ends higher than was asked for, which small corpora like.
`numba-as-file` is our engine with the final rate at which `gensim-file` really ends.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from softquery.files import (
    CorpusFile,
    VectorTable,
    find_shards,
    open_corpus_file,
    write_corpus_file,
    write_json,
    write_text,
)
from softquery.files.corpus_ids import END
from softquery.files.word_tests import read_graded_words, read_questions
from softquery.measure.word_scores import sum_scores
from softquery.models import Word2VecConfig
from softquery.runtime import WordVectors
from softquery.text import TextConfig
from softquery.training.word2vec import WordTraining, num_cores
from softquery.training.word2vec.fit import ROUND, STRETCH, WordFit
from softquery.training.word2vec.word2vec_engine import Subject, Word2VecEngine

HERE = Path(__file__).parent
LONGEST = 10_000
LR, FINAL_LR = 0.025, 1e-4
RESTRICT = 300_000
METRICS = ("words_per_second", "analogies", "wordsim", "simlex")
PACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """One run: who trains what, from which seed."""

    contestant: str
    architecture: str
    seed: int
    threads: int

    def is_done(self, rows: list[dict[str, Any]]) -> bool:
        """Whether it was written down."""
        mine = {name: getattr(self, name) for name in self.__slots__}
        return any({name: row[name] for name in mine} == mine for row in rows)


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of a run; where only the pace was taken, there are no vectors."""

    words_per_second: float
    words: list[str]
    vectors: np.ndarray | None


class Silent:
    """Watches a run and says nothing."""

    def begin(self, total_steps: int, done: int) -> None:
        """Nothing."""

    def step(self, done: int, facts: dict[str, float]) -> None:
        """Nothing."""

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        """Nothing."""


def train_ours(corpus: CorpusFile, job: Job, options: argparse.Namespace) -> Trained:
    with tempfile.TemporaryDirectory() as folder:
        fit = warm_fit(corpus, job, options, Path(folder))
        progress = fit.run(Silent(), resume=False)
    vectors = fit.engine.state()["input"]
    return Trained(progress.words / progress.seconds, corpus.words, vectors)


def take_pace(corpus: CorpusFile, job: Job, options: argparse.Namespace) -> Trained:
    """Words a second of some seconds, without the rest of a run."""
    with tempfile.TemporaryDirectory() as folder:
        fit = warm_fit(corpus, job, options, Path(folder))
        start, words, place = time.perf_counter(), 0, 0
        while (seconds := time.perf_counter() - start) < options.pace_seconds:
            stretches = round_from(fit, place)
            fit.engine.learn(stretches)
            words += sum(int(np.count_nonzero(each.ids >= 0)) for each in stretches)
            place += len(stretches)
    return Trained(words / seconds, [], None)


def warm_fit(corpus: CorpusFile, job: Job, options: argparse.Namespace, folder: Path) -> WordFit:
    """A run whose engine has been compiled or recorded before the clock starts."""
    config = Word2VecConfig(
        vocab_size=len(corpus.words),
        embedding_size=options.size,
        architecture=job.architecture,  # type: ignore[arg-type]
    )
    training = WordTraining(
        seed=job.seed,
        epochs=options.epochs,
        threads=job.threads,
        lr=LR,
        final_lr=rate_of_file(options) if job.contestant == "numba-as-file" else FINAL_LR,
        checkpoint_seconds=1e9,
    )
    subject = Subject.of(corpus.words, corpus.counts, config, training, STRETCH + LONGEST + 1)
    fit = WordFit(engine(job.contestant, subject), corpus, training, folder)
    with suppress(ImportError):  # the log's, which takes seconds
        import torch.utils.tensorboard  # noqa: F401
    first = fit.engine.state()
    fit.engine.learn(round_from(fit, 0))
    fit.engine.restore(first)
    return fit


def round_from(fit: WordFit, place: int) -> list[Any]:
    """The stretches that are learnt together, from a place on; behind the last is the first."""
    number = len(fit.cuts) - 1
    return [fit.stretch((place + each) % number) for each in range(min(ROUND, number))]


def engine(contestant: str, subject: Subject) -> Word2VecEngine:
    if contestant == "torch":
        from softquery.training.word2vec.torch_engine import TorchEngine

        return TorchEngine(subject)
    from softquery.training.word2vec.numba_engine import NumbaEngine

    return NumbaEngine(subject)


def rate_of_file(options: argparse.Namespace) -> float:
    """The learning rate at which gensim ends when it reads a `corpus_file`."""
    fallen: float = (options.epochs - 1 + 1 / options.threads) / options.epochs
    return LR - (LR - FINAL_LR) * fallen


def train_gensim(corpus: CorpusFile, job: Job, options: argparse.Namespace) -> Trained:
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence

    text = str(tokens_of(corpus))
    from_file = job.contestant == "gensim-file"
    source: dict[str, Any] = (
        {"corpus_file": text} if from_file else {"corpus_iterable": LineSentence(text)}
    )
    model = Word2Vec(
        vector_size=options.size,
        sg=int(job.architecture == "skipgram"),
        window=5,
        negative=5,
        min_count=1,
        sample=1e-3,
        alpha=LR,
        min_alpha=FINAL_LR,
        workers=job.threads,
        seed=job.seed,
    )
    model.build_vocab(**source)
    total = {"total_words": model.corpus_total_words} if from_file else {}
    start = time.perf_counter()
    model.train(**source, **total, total_examples=model.corpus_count, epochs=options.epochs)
    seconds = time.perf_counter() - start
    words = corpus.num_tokens * options.epochs
    return Trained(words / seconds, model.wv.index_to_key, model.wv.vectors)


Trainer = Callable[[CorpusFile, Job, argparse.Namespace], Trained]
CONTESTANTS: dict[str, Trainer] = {
    "numba": train_ours,
    "numba-as-file": train_ours,
    "numba-pace": take_pace,
    "torch": train_ours,
    "gensim": train_gensim,
    "gensim-file": train_gensim,
}


def quality(trained: Trained, tests: Path) -> dict[str, float | None]:
    """Points of 100: analogies by 3CosAdd, and Spearman's correlations."""
    if trained.vectors is None:
        return {}
    space = WordVectors(VectorTable(trained.words, trained.vectors), text=TextConfig())
    sections = read_questions(tests / "questions-words.txt")
    total = sum_scores(space.answer(sections, restrict=RESTRICT), "all")
    found = {"analogies": total.accuracy, "questions": total.n / 100}
    for name, file in (("wordsim", "wordsim353.tsv"), ("simlex", "simlex999.txt")):
        found[name] = space.grade(read_graded_words(tests / file)).spearman
    return {name: None if value is None else 100 * value for name, value in found.items()}


def tokens_of(corpus: CorpusFile) -> Path:
    """The corpus as gensim reads it: words between spaces, a sentence a line."""
    path = corpus.path.with_suffix(".tokens")
    if path.exists():
        return path
    ids = corpus.ids()
    names = np.array([*corpus.words, "\n"], dtype=object)
    ends = np.flatnonzero(ids == END)
    fresh = path.with_suffix(".partial")
    with fresh.open("w", encoding="utf-8") as out:
        for first in range(0, len(ends), 10_000):
            start = 0 if first == 0 else int(ends[first - 1]) + 1
            part = ids[start : int(ends[min(first + 10_000, len(ends)) - 1]) + 1]
            out.write(" ".join(names[part]).replace(" \n ", "\n").replace(" \n", "\n"))
    return fresh.rename(path)


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """All runs, those of one seed after those of another, contestants side by side."""
    for seed in options.seeds:
        for architecture in options.architectures:
            for contestant in options.contestants:
                job = Job(contestant, architecture, seed, options.threads)
                yield job
                if contestant == "torch":
                    for threads in sorted({options.threads, num_cores()}):
                        yield replace(job, contestant="numba-pace", threads=threads)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds with their spreads, by architecture and contestant."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        key = (row["architecture"], row["contestant"], row["threads"])
        groups.setdefault(key, []).append(row)
    found = []
    for (architecture, contestant, threads), runs in sorted(groups.items(), key=lambda g: g[0][0]):
        facts: dict[str, Any] = {
            "architecture": architecture,
            "contestant": contestant,
            "threads": threads,
            "seeds": len(runs),
        }
        for metric in METRICS:
            values = [run[metric] for run in runs if run.get(metric) is not None]
            if values:
                facts[metric] = round(statistics.fmean(values), 2)
                facts[f"{metric}_spread"] = round(max(values) - min(values), 2)
        found.append(facts)
    for facts in found:
        others = [o for o in found if o is not facts and o["architecture"] == facts["architecture"]]
        facts["times"] = {
            f"{other['contestant']} ({other['threads']})": round(
                facts["words_per_second"] / other["words_per_second"], 2
            )
            for other in others
        }
    return found


def table(result: dict[str, Any]) -> str:
    """The summary as Markdown, with how many times as fast each is as each other."""
    lines = [
        f"{result['corpus']['words']:,} words, {result['corpus']['vocabulary']:,} different; "
        f"{result['settings']['size']} dimensions, {result['settings']['epochs']} epoch(s); "
        f"{result['machine']['processor']}, {result['machine']['cores']} cores"
        + (f", {result['machine']['gpu']}" if result["machine"]["gpu"] else ""),
        "",
        "| | who (threads) | seeds | words/s | analogies | WordSim-353 | SimLex-999 | speed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for facts in result["summary"]:
        cells = [
            f"{facts[metric]:.2f} ({facts[f'{metric}_spread']:.2f})" if metric in facts else ""
            for metric in METRICS[1:]
        ]
        times = ", ".join(f"{ratio:.2f} × {name}" for name, ratio in facts["times"].items())
        who = f"{facts['contestant']} ({facts['threads']})"
        speed = f"{facts['words_per_second']:,.0f}"
        shown = [facts["architecture"], who, str(facts["seeds"]), speed, *cells, times]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join([*lines, "", "Means over seeds; in brackets, largest less smallest."]) + "\n"


@contextmanager
def numbered(options: argparse.Namespace) -> Iterator[CorpusFile]:
    """The corpus: ready, as it was left by an earlier start, or read now."""
    ready = open_corpus_file(options.data) if options.data.is_dir() else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if ready is not None and not os.access(options.data, os.W_OK):
            # gensim's tokens are written beside the numbers.
            link = folder / ready.path.name
            link.unlink(missing_ok=True)
            link.symlink_to(ready.path.resolve())
            ready = replace(ready, path=link)
        corpus = ready or open_corpus_file(folder) or read(options, folder)
        print(f"{corpus.num_tokens:,} words, {len(corpus.words):,} different", flush=True)
        yield corpus


def read(options: argparse.Namespace, folder: Path) -> CorpusFile:
    files = find_shards(options.data)[: options.shards]
    text = TextConfig(max_tokens=LONGEST)
    for stale in folder.glob("*.tokens"):
        stale.unlink()
    start = time.perf_counter()
    corpus = write_corpus_file(
        files, text, folder, min_count=5, processes=num_cores(), say=lambda line: print(line)
    )
    print(f"read in {time.perf_counter() - start:.1f} s")
    return corpus


def begun(options: argparse.Namespace, corpus: CorpusFile) -> dict[str, Any]:
    """What an earlier start wrote down, or an empty report."""
    report: dict[str, Any] = {
        "corpus": {"words": corpus.num_tokens, "vocabulary": len(corpus.words)},
        "settings": {"size": options.size, "epochs": options.epochs, "lr": LR, "window": 5,
                     "negatives": 5, "subsample": 1e-3, "min_count": 5},
        "machine": machine(),
        "summary": [],
        "runs": [],
    }  # fmt: skip
    if not options.output.exists():
        return report
    before: dict[str, Any] = json.loads(options.output.read_text(encoding="utf-8"))
    for part in ("corpus", "settings", "machine"):
        if before[part] != report[part]:
            sys.exit(f"{options.output} has another {part}: {before[part]}, now {report[part]}")
    return before


def machine() -> dict[str, Any]:
    import torch

    names = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    found = [line.partition(":")[2].strip() for line in names if line.startswith("model name")]
    return {
        "processor": found[0] if found else platform.processor(),
        "cores": num_cores(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def run_all(corpus: CorpusFile, options: argparse.Namespace) -> dict[str, Any]:
    """Do what is not yet done, and write down each run."""
    result = begun(options, corpus)
    for job in jobs(options):
        if job.is_done(result["runs"]):
            continue
        row: dict[str, Any] = {name: getattr(job, name) for name in Job.__slots__}
        row["load_before"] = os.getloadavg()[0]
        try:
            trained = CONTESTANTS[job.contestant](corpus, job, options)
        except ImportError as missing:
            print(f"{job.contestant} is left out: {missing}", file=sys.stderr)
            continue
        row["words_per_second"] = trained.words_per_second
        row |= quality(trained, options.tests)
        row["peak_gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        row = {
            key: round(each, 3) if isinstance(each, float) else each for key, each in row.items()
        }
        print(json.dumps(row), flush=True)
        result["runs"].append(row)
        result["summary"] = summary(result["runs"])
        write_json(options.output, result)
        write_text(options.output.with_suffix(".md"), table(result))
    return result


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="text, or a numbered corpus")
    parser.add_argument("--tests", type=Path, required=True, help="folder of the word tests")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS,
                        default=["numba", "gensim"])  # fmt: skip
    parser.add_argument("--architectures", nargs="+", default=["skipgram", "cbow"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2, help="of everybody, on the CPU")
    parser.add_argument("--shards", type=int, help="read only so many files")
    parser.add_argument("--work", type=Path, help="keep the numbered corpus here, to start again")
    parser.add_argument("--pace-seconds", type=float, default=PACE_SECONDS)
    parser.add_argument("--output", type=Path, default=HERE / "word2vec.json")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    with numbered(options) as corpus:
        print(table(run_all(corpus, options)))


if __name__ == "__main__":
    main()

"""Run a recipe for word vectors: read the corpus, train, and leave a bundle."""

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from softquery import __version__
from softquery.bundle import RECORDS, Card, CardData, make_card
from softquery.bundle.vectors import KIND, write_vector_bundle
from softquery.errors import InputError, MissingExtra, counted
from softquery.files import (
    CorpusFile,
    Phrases,
    find_shards,
    fingerprint,
    open_corpus_file,
    write_corpus_file,
)
from softquery.recipes import Word2VecRun
from softquery.running.corpus_words import suit_words
from softquery.running.run_folder import (
    check_places,
    clear_up,
    is_finished,
    kept_if_resumable,
    note_settings,
    partial_folder,
)
from softquery.running.run_options import RunOptions, Say
from softquery.training.word2vec import num_cores
from softquery.training.word2vec.fit import STRETCH, WordFit, WordProgress
from softquery.training.word2vec.word2vec_engine import Subject, Word2VecEngine


def train_word2vec(run: Word2VecRun, options: RunOptions) -> Path:
    """Train word vectors and write their bundle.

    Args:
        run: The recipe, with its overrides.
        options: Where it reads, writes and starts; its data are a file of text, or a folder of
            shards.
    """
    say, resume = options.say, options.resume
    target, folder = Path(options.output), partial_folder(options.output)
    if resume and is_finished(target, folder):
        clear_up(folder, target)
        return target
    check_places(target, folder, resume=resume)
    make_engine = _engine_maker(run)  # what is missing is reported before any work
    files = find_shards(options.data)
    run = suit_words(run, files, options.chosen, say)
    seen = fingerprint(files)
    with kept_if_resumable(folder, say):
        note_settings(folder, run.to_dict(), fingerprint=seen, resume=resume)
        corpus = (open_corpus_file(folder) if resume else None) or _read(run, files, folder, say)
        _report(corpus, say)
        settled = dataclasses.replace(
            run, model=dataclasses.replace(run.model, vocab_size=len(corpus.words))
        )
        subject = Subject.of(
            corpus.words, corpus.counts, settled.model, run.training, _longest_stretch(run)
        )
        engine = make_engine(subject)
        say(f"training on {engine.name}")
        fit = WordFit(engine, corpus, run.training, folder)
        try:
            progress = fit.run(options.observer, resume=resume)
        finally:
            with suppress(OSError):  # a full disk has been reported already
                fit.history.close()
        _finish(settled, corpus, subject, engine, progress, folder, target)
    clear_up(folder, target)
    say(f"bundle written: {target}")
    return target


def _engine_maker(run: Word2VecRun) -> Any:
    """The engine's class; its package may be missing."""
    chosen = run.training.engine
    if chosen == "auto":
        chosen = "torch" if torch.cuda.is_available() else "numba"
    if chosen == "torch":
        from softquery.training.word2vec.torch_engine import TorchEngine

        return TorchEngine
    try:
        from softquery.training.word2vec.numba_engine import NumbaEngine
    except ImportError as error:
        if error.name and error.name.split(".")[0] in ("numba", "llvmlite"):
            raise MissingExtra("train", needed_for="training word vectors on the CPU") from None
        raise
    return NumbaEngine


def _read(run: Word2VecRun, files: list[Path], folder: Path, say: Say) -> CorpusFile:
    words = run.vocabulary
    phrases = None
    if words.phrase_passes:
        phrases = Phrases(passes=words.phrase_passes, threshold=words.phrase_threshold)
    return write_corpus_file(
        files,
        run.text,
        folder,
        min_count=words.min_count,
        size=words.size,
        phrases=phrases,
        processes=run.training.threads or num_cores(),
        say=say,
    )


def _report(corpus: CorpusFile, say: Say) -> None:
    if corpus.num_overlong:
        many = counted(corpus.num_overlong, "word")
        say(f"{many} of more than 256 characters left out")
    say(
        f"vocabulary: {len(corpus.words):,} words, which make up {corpus.num_tokens:,} of "
        f"{corpus.num_read:,} words of text"
    )


def _longest_stretch(run: Word2VecRun) -> int:
    return STRETCH + run.text.max_tokens + 1


def _finish(
    run: Word2VecRun,
    corpus: CorpusFile,
    subject: Subject,
    engine: Word2VecEngine,
    progress: WordProgress,
    folder: Path,
    target: Path,
) -> None:
    table = engine.state()["input"]
    vectors = word_means(table, subject)
    if not np.isfinite(vectors).all():
        raise InputError("the vectors are not finite; lower training.lr", source=target)
    metrics = {
        "training": {
            "loss": round(progress.loss / max(1.0, progress.asked), 4),
            "words": len(corpus.words),
            "words_read": corpus.num_read,
            "epochs": run.training.epochs,
            "seconds": round(progress.seconds, 1),
            "words_per_second": round(progress.words / max(1e-9, progress.seconds)),
            "engine": engine.name,
            "seed": run.training.seed,
        }
    }
    further: dict[str, NDArray[np.generic]] = {}
    if run.model.num_buckets:
        further = {"ngrams": table[len(corpus.words) :], "buckets": subject.rows.buckets}
    write_vector_bundle(
        target,
        words=corpus.words,
        matrix=vectors,
        text=run.text,
        model={"name": run.model_name(), "config": dataclasses.asdict(run.model)},
        library_version=__version__,
        metrics=metrics,
        card=_card(run, corpus, metrics["training"], target.name),
        counts=corpus.counts,
        further=further,
        records=folder / RECORDS,
    )


def word_means(table: NDArray[np.float32], subject: Subject) -> NDArray[np.float32]:
    """Each word's vector: the mean of its own row and of its n-grams'."""
    rows = subject.rows
    if not len(rows.buckets):
        return table
    lengths = np.diff(rows.starts)
    total = np.add.reduceat(table[rows.rows], rows.starts[:-1], axis=0)
    return np.asarray(total / lengths[:, None], dtype=np.float32)


def _card(run: Word2VecRun, corpus: CorpusFile, facts: dict[str, Any], name: str) -> str:
    model, training = run.model, run.training
    card = Card(
        name=name,
        purpose=f"{run.summary[0].upper()}{run.summary[1:]}.",
        languages=["zh" if run.text.unit in ("characters", "jieba") else "en"],
        licence="unstated",
        data=[CardData(name="running text", rows=corpus.num_read, licence="unstated")],
        training={
            "recipe": run.name,
            "seed": training.seed,
            "architecture": model.architecture,
            "objective": model.objective,
            "width": model.embedding_size,
            "window": training.window,
            "epochs": training.epochs,
            "engine": facts["engine"],
            "seconds": facts["seconds"],
        },
        numbers=[],
        limits=[
            "One vector per word, whatever it means in a sentence.",
            "The vectors repeat the prejudices of their text.",
        ],
    )
    return make_card(card, kind=KIND)

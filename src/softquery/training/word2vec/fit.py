"""The loop of word2vec: epochs over a corpus, progress, checkpoints, and going on from one."""

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from softquery.bundle import RECORDS
from softquery.errors import BundleError, ConfigError
from softquery.files import CorpusFile
from softquery.training.loop import StopRequest
from softquery.training.plan import Observer
from softquery.training.run_records import NAME, History, load_tensors, save_tensors
from softquery.training.word2vec.word2vec_engine import Lesson, Stretch, Word2VecEngine
from softquery.training.word2vec.word_training import WordTraining

STRETCH: Final = 20_000
"""Words that one thread takes at a time."""
ROUND: Final = 64
"""Stretches after which all threads pause and the run may be saved."""


@dataclass(slots=True)
class WordProgress:
    """Where a run stands; saved with each checkpoint."""

    epoch: int = 0
    round: int = 0
    words: int = 0
    """Read so far, over all epochs."""
    loss: float = 0.0
    asked: float = 0.0
    seconds: float = 0.0
    stopped: bool = False
    """Whether an observer has ended the run."""
    rows: list[dict[str, float]] = field(default_factory=list)


class WordFit:
    """One run of word2vec.

    A stretch's randomness follows from the seed, the epoch and its number alone. So a run of one
    thread that was interrupted goes on to the same bits; with several threads it goes on as well,
    but no two runs of several threads are alike.

    Args:
        engine: The tables.
        corpus: What is read.
        training: How long and how.
        folder: Where checkpoints and logs are written.
    """

    def __init__(
        self, engine: Word2VecEngine, corpus: CorpusFile, training: WordTraining, folder: Path
    ) -> None:
        self.engine, self.training, self.folder = engine, training, folder
        self.ids = corpus.ids()
        self.cuts = corpus.stretches(STRETCH)
        self.num_words = corpus.num_tokens
        self.progress = WordProgress()
        self.history = History(folder / RECORDS)
        self._saved_at = self._began = time.monotonic()

    def run(self, observer: Observer, *, resume: bool) -> WordProgress:
        """Train to the end, from the checkpoint where there is one and `resume` is set."""
        if resume and (self.folder / NAME).exists():
            self._load()
        self._began = time.monotonic() - self.progress.seconds
        total = self.num_words * self.training.epochs
        observer.begin(total, self.progress.words)
        with StopRequest() as stop:
            while self.progress.epoch < self.training.epochs and not self.progress.stopped:
                for stretches in self._rounds():
                    self.progress.stopped = self._learn(stretches, observer)
                    if stop.asked:
                        self.save()
                        raise KeyboardInterrupt
                    if time.monotonic() - self._saved_at > self.training.checkpoint_seconds:
                        self.save()
                    if self.progress.stopped:
                        break
                self._end_epoch(observer)
        self.history.write(self.progress.rows)
        self.history.close()
        return self.progress

    def save(self) -> None:
        """Write everything that the run's future depends on."""
        self.progress.seconds = time.monotonic() - self._began
        tensors = {name: torch.from_numpy(table) for name, table in self.engine.state().items()}
        save_tensors(self.folder / NAME, tensors, asdict(self.progress))
        self.history.write(self.progress.rows)
        self._saved_at = time.monotonic()

    def _load(self) -> None:
        tensors, state = load_tensors(self.folder / NAME)
        try:
            self.progress = WordProgress(**state)
            self.engine.restore({name: table.numpy() for name, table in tensors.items()})
        except (TypeError, KeyError) as error:
            reason = f"written by another version ({error})"
            raise BundleError(f"{self.folder / NAME}: {reason}") from None

    def _rounds(self) -> Iterator[list[Stretch]]:
        """What is left of the epoch."""
        num_stretches = len(self.cuts) - 1
        for first in range(self.progress.round * ROUND, num_stretches, ROUND):
            last = min(first + ROUND, num_stretches)
            yield [self.stretch(number) for number in range(first, last)]

    def stretch(self, number: int) -> Stretch:
        """A stretch of the current epoch."""
        start, end = int(self.cuts[number]), int(self.cuts[number + 1])
        epoch, training = self.progress.epoch, self.training
        done = [(epoch + place / len(self.ids)) / training.epochs for place in (start, end)]
        seed = np.random.SeedSequence([training.seed, epoch, number]).generate_state(1, np.uint64)
        rates = (training.rate(done[0]), training.rate(done[1]))
        return Stretch(self.ids[start:end], rates, int(seed[0]))

    def _learn(self, stretches: list[Stretch], observer: Observer) -> bool:
        """Learn some stretches; whether the observer ends the run."""
        before = time.monotonic()
        lesson = self.engine.learn(stretches)
        words = sum(int(np.count_nonzero(each.ids >= 0)) for each in stretches)
        progress = self.progress
        progress.round += 1
        progress.words += words
        progress.loss += lesson.loss
        progress.asked += lesson.asked
        _refuse_divergence(lesson)
        facts = {
            "loss": lesson.loss / max(1.0, lesson.asked),
            "lr": stretches[-1].rates[1],
            "examples_per_second": words / max(1e-9, time.monotonic() - before),
        }
        self.history.add(progress.rows, {"step": progress.words, "epoch": progress.epoch, **facts})
        return bool(observer.step(progress.words, facts))

    def _end_epoch(self, observer: Observer) -> None:
        progress = self.progress
        progress.seconds = time.monotonic() - self._began
        facts: dict[str, Any] = {
            "loss": progress.loss / max(1.0, progress.asked),
            "examples_per_second": progress.words / max(1e-9, progress.seconds),
        }
        progress.stopped = bool(observer.epoch(progress.epoch, facts, False)) or progress.stopped
        progress.epoch, progress.round = progress.epoch + 1, 0
        if progress.epoch < self.training.epochs:
            progress.loss = progress.asked = 0.0


def _refuse_divergence(lesson: Lesson) -> None:
    if not math.isfinite(lesson.loss):
        raise ConfigError("the run diverged: the vectors are no longer finite; lower training.lr")

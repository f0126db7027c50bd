"""What both engines are: tables that learn from stretches of a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.models import Word2VecConfig
from softquery.training.word2vec.tables import WordRows, word_rows
from softquery.training.word2vec.word_training import WordTraining

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole sentences of the corpus.

    Attributes:
        ids: Words, -1 after each sentence.
        rates: The learning rate at its beginning and at its end.
        seed: Everything random in it follows from this.
    """

    ids: NDArray[np.int32]
    rates: tuple[float, float]
    seed: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of some stretches.

    Attributes:
        loss: Summed over the vectors that asked, where it was measured.
        asked: How many these were.
    """

    loss: float
    asked: float


class Word2VecEngine(Protocol):
    """Tables, and how they learn."""

    name: str
    """As a user would say it."""

    def learn(self, stretches: Sequence[Stretch]) -> Lesson:
        """Learn from stretches, in this order as far as there is one."""

    def state(self) -> dict[str, Floats]:
        """The tables by name, without padding; `input` holds the vectors."""

    def restore(self, state: dict[str, Floats]) -> None:
        """Take up tables that `state` gave."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What an engine must know of a run: the words, the model and the settings."""

    config: Word2VecConfig
    training: WordTraining
    counts: NDArray[np.int64]
    rows: WordRows
    longest: int
    """Ids of the longest stretch."""

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        counts: NDArray[np.int64],
        config: Word2VecConfig,
        training: WordTraining,
        longest: int,
    ) -> "Subject":
        """Prepare a vocabulary for training."""
        rows = word_rows(words, config)
        return cls(config=config, training=training, counts=counts, rows=rows, longest=longest)

    def first_state(self) -> dict[str, Floats]:
        """The tables that a run begins with: small random vectors ask, and nothing answers yet."""
        generator = np.random.default_rng(self.training.seed)
        size, num_words = self.config.embedding_size, len(self.counts)
        num_targets = num_words - (self.config.objective == "hierarchical")
        start = generator.random((self.rows.num_rows, size), dtype=np.float32)
        state = {
            "input": (2 * start - 1) / np.float32(size),
            "output": np.zeros((num_targets, size), dtype=np.float32),
        }
        if self.config.objective == "nce":
            state["bias"] = np.log(self.counts / self.counts.sum()).astype(np.float32)
        return state

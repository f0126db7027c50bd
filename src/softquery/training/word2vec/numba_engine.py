"""The CPU engine: compiled kernels, threads, and tables that all of them write to."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from softquery.errors import counted
from softquery.training.word2vec import kernels
from softquery.training.word2vec.memory_layout import Choices, ThreadMemory, Weights, WordStatistics
from softquery.training.word2vec.tables import (
    alias_table,
    huffman_tree,
    keep_chances,
    noise_chances,
)
from softquery.training.word2vec.word2vec_engine import Floats, Lesson, Stretch, Subject
from softquery.training.word2vec.word_training import num_cores

ARCHITECTURES: Final = {"skipgram": kernels.SKIP_GRAM, "cbow": kernels.CBOW}
OBJECTIVES: Final = {
    "negative": kernels.NEGATIVE,
    "nce": kernels.NCE,
    "hierarchical": kernels.HIERARCHICAL,
}
LINE: Final = 64
"""Bytes of a cache line."""


class NumbaEngine:
    """word2vec on the cores of a CPU.

    With several threads, who meets whom first is chance, and no two runs give the same bits
    (Hogwild, Niu et al. 2011). With one thread they do.

    Args:
        subject: What is learnt.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.threads = subject.training.threads or num_cores()
        self.name = f"numba, {counted(self.threads, 'thread')}"
        config, training = subject.config, subject.training
        self._num_blocks = -(-config.embedding_size // kernels.BLOCK)
        self._choices = Choices(
            ARCHITECTURES[config.architecture],
            OBJECTIVES[config.objective],
            training.window,
            training.num_negatives,
        )
        self._lexicon = build_lexicon(subject)
        self._weights: Any = None
        self.restore(subject.first_state())
        self._free: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self.threads):
            self._free.put(self._new_work())
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def learn(self, stretches: Sequence[Stretch]) -> Lesson:
        """Learn from stretches, as many at a time as there are threads."""
        lessons = list((self._pool.map if self._pool else map)(self._learn_one, stretches))
        return Lesson(sum(each[0] for each in lessons), sum(each[1] for each in lessons))

    def state(self) -> dict[str, Floats]:
        """Copies of the tables."""
        size = self.subject.config.embedding_size
        weights = self._weights
        state = {
            "input": weights.input[:, :size].copy(),
            "output": weights.output[:, :size].copy(),
        }
        return {**state, "bias": weights.bias.copy()} if len(weights.bias) else state

    def restore(self, state: dict[str, Floats]) -> None:
        """Lay tables out with rows that begin at a cache line."""
        width = self._num_blocks * kernels.BLOCK
        self._weights = Weights(
            _padded(state["input"], width),
            _padded(state["output"], width),
            state.get("bias", np.zeros(0, dtype=np.float32)).copy(),
        )

    def _learn_one(self, stretch: Stretch) -> tuple[float, int]:
        work = self._free.get()
        try:
            answer: tuple[float, int] = kernels.learn_stretch(
                stretch.ids,
                stretch.rates,
                np.uint64(stretch.seed),
                self._weights,
                self._lexicon,
                self._choices,
                work,
                (0,) * self._num_blocks,
            )
        finally:
            self._free.put(work)
        return answer

    def _new_work(self) -> Any:
        training, width = self.subject.training, self._num_blocks * kernels.BLOCK
        most_hidden = 2 * training.window
        longest_way = int(np.diff(self._lexicon.path_starts).max())
        most_targets = max(1 + training.num_negatives, longest_way) + kernels.TOGETHER
        scores = aligned((-(-most_hidden * most_targets // kernels.SCORES), kernels.SCORES))
        return ThreadMemory(
            np.zeros(self.subject.longest + 2, dtype=np.int32),
            np.zeros(most_hidden, dtype=np.int32),
            np.zeros(most_targets, dtype=np.int64),
            np.zeros(most_targets, dtype=np.float32),
            aligned((most_hidden, width)),
            aligned((most_hidden, width)),
            scores.reshape(-1),
            scores,
            np.zeros(most_hidden, dtype=np.int32),
            np.zeros(most_targets, dtype=np.int64),
            np.zeros(most_targets, dtype=np.float32),
        )


def build_lexicon(subject: Subject) -> Any:
    """What the kernels know of the words."""
    training, counts = subject.training, subject.counts
    noise = noise_chances(counts, training.noise_power)
    own, other = alias_table(noise)
    if subject.config.objective == "hierarchical":
        tree = huffman_tree(counts)
        ways = (tree.starts, tree.nodes, tree.turns)
    else:
        ways = (np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    return WordStatistics(
        _of_40_bits(keep_chances(counts, training.subsample)),
        subject.rows.starts,
        subject.rows.rows,
        _of_40_bits(own),
        other,
        np.log(training.num_negatives * noise).astype(np.float32),
        *ways,
    )


def aligned(shape: tuple[int, ...]) -> Floats:
    """Zeros that begin at a cache line."""
    number = int(np.prod(shape))
    memory = np.zeros(number + LINE // 4, dtype=np.float32)
    start = -memory.ctypes.data % LINE // 4
    return memory[start : start + number].reshape(shape)


def _padded(table: Floats, width: int) -> Floats:
    wide = aligned((len(table), width))
    wide[:, : table.shape[1]] = table
    return wide


def _of_40_bits(chances: NDArray[np.float64]) -> NDArray[np.uint64]:
    return np.asarray(np.round(chances * 2.0**40)).astype(np.uint64)

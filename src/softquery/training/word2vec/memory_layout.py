"""How the tables of the CPU engine lie in memory: what its kernels are handed.

D is the width of a vector, padded to whole cache lines.
"""

from typing import Any, NamedTuple


class Weights(NamedTuple):
    """The tables that are learnt."""

    input: Any
    """float32 [words and n-grams, D]: what a word brings along as context."""
    output: Any
    """float32 [words or inner nodes, D]: what a target answers to."""
    bias: Any
    """float32 [words]: of the targets, for NCE alone."""


class WordStatistics(NamedTuple):
    """What is known of the words."""

    keep: Any
    """uint64 [words]: a draw of 40 bits below it keeps the word."""
    row_starts: Any
    """int64 [words + 1]: where the rows of a word begin in `rows`."""
    rows: Any
    """int32: the input rows of each word: its own, then those of its n-grams."""
    chance: Any
    """uint64 [words]: alias table of the noise; a draw of 40 bits below it stays in its cell."""
    other: Any
    """int32 [words]: where it goes otherwise."""
    log_rate: Any
    """float32 [words]: log of the expected number of noise draws of a word, for NCE."""
    path_starts: Any
    """int64 [words + 1]: where the path of a word begins in `path_nodes`."""
    path_nodes: Any
    """int32: inner nodes from the root to each word."""
    path_turns: Any
    """float32: 1 where the path turns left there, 0 where it turns right."""


class Choices(NamedTuple):
    """Settings of a run."""

    architecture: int
    objective: int
    window: int
    num_negatives: int


class ThreadMemory(NamedTuple):
    """Memory of one thread."""

    text: Any
    context: Any
    targets: Any
    labels: Any
    hidden: Any
    moved: Any
    scores: Any
    score_blocks: Any
    """The same memory as `scores`, in rows of `SCORES`."""
    next_context: Any
    next_targets: Any
    next_labels: Any

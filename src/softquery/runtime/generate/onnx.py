"""Generators on ONNX Runtime: one graph reads a source, the other says one more token.

Whatever a decoder remembers goes in and out of its graph by name: `source_*` stays, `past_*` is
what the step before gave as `next_*`, and zeros (or nothing, along a time axis) before the first.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.decoding import (
    Candidates,
    Hypothesis,
    StepRequest,
    WatchedStep,
    candidates_of,
    decode,
    likelihood,
)
from softquery.runtime.batches import padded_ids
from softquery.runtime.generate.decoder_weights import LONGEST, fitting_weights
from softquery.runtime.generate.model import Ids, TextSearch
from softquery.runtime.graphs import OnnxGraphs

Arrays = dict[str, NDArray[Any]]
BATCH = 16
"""Sources that are decoded side by side; threads take whole batches."""
SHARING = 2
"""Threads that share a product. A step of few rows waits for its weights to come from memory, and
two cores fetch them faster than one; no number in an answer changes by it."""


class Session(Protocol):
    """What is used of an ONNX Runtime session."""

    def get_inputs(self) -> Sequence[Any]:
        """What the graph takes, each with `name` and `shape`."""

    def get_outputs(self) -> Sequence[Any]:
        """What the graph gives, each with `name` and `shape`."""

    def run(self, names: Sequence[str], given: Mapping[str, Any], /) -> Sequence[Any]:
        """These outputs for these inputs."""


class OnnxState(NamedTuple):
    """Where the decoder stands in every row, and which sentence each row belongs to."""

    source: Arrays
    past: Arrays
    sentences: NDArray[np.int64]


class OnnxStep:
    """A step of `softquery.decoding` over two graphs.

    Args:
        encode: The session that reads a source.
        step: The session that says one more token.
        vocab_size: V.
        weights: `"shown"` reports where each step looked, where the graph can say.
    """

    def __init__(
        self,
        encode: Session,
        step: Session,
        vocab_size: int,
        weights: Literal["hidden", "shown"] = "hidden",
    ) -> None:
        self._encode, self._step, self._vocab_size = encode, step, vocab_size
        self._inputs = {each.name: each.shape for each in self._step.get_inputs()}
        names = [each.name for each in self._step.get_outputs()]
        self.attends = "attention" in names
        """Whether a step can tell where it looked."""
        self._past = [name for name in self._inputs if name.startswith("past_")]
        self._asked = [name.replace("past_", "next_", 1) for name in self._past]
        self._asked.append("log_probabilities")
        if self.attends and weights == "shown":
            self._asked.append("attention")
        self._made = [each.name for each in self._encode.get_outputs()]

    @property
    def vocab_size(self) -> int:
        """V."""
        return self._vocab_size

    def showing(self) -> "OnnxStep":
        """The same step, which reports where it looked."""
        return OnnxStep(self._encode, self._step, self._vocab_size, "shown")

    def begin(self, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> OnnxState:
        """The state before the first token."""
        values = self._encode.run(self._made, {"ids": ids, "mask": mask})
        found: Arrays = dict(zip(self._made, values, strict=True))
        source = {name: found[name] for name in found if name.startswith("source_")}
        if "mask" in self._inputs:
            source["mask"] = mask
        past = {
            name: found[name] if name in found else _nothing(shape, len(ids))
            for name, shape in self._inputs.items()
            if name.startswith("past_")
        }
        return OnnxState(source, past, np.arange(len(ids)))

    def __call__(
        self, state: OnnxState, tokens: NDArray[np.int64], wanted: StepRequest
    ) -> Candidates[OnnxState]:
        """What may follow the last token of every row."""
        found = self._step.run(self._asked, {"tokens": tokens, **state.source, **state.past})
        count = len(self._past)
        past = dict(zip(self._past, found[:count], strict=True))
        best, likely = candidates_of(found[count], wanted)
        return Candidates(
            tokens=best,
            log_probabilities=likely,
            state=OnnxState(state.source, past, state.sentences),
            attention=found[count + 1] if len(self._asked) > count + 1 else None,
        )

    def reorder(self, state: OnnxState, rows: NDArray[np.int64]) -> OnnxState:
        """The state of these rows; that of the source is moved only if sentences come or go."""
        source, sentences = state.source, state.sentences[rows]
        if not np.array_equal(sentences, state.sentences):
            source = {name: value[rows] for name, value in source.items()}
        past = {name: value[rows] for name, value in state.past.items()}
        return OnnxState(source, past, sentences)


class OnnxGenerateBackend:
    """The `encode` and `step` graphs of an exported bundle.

    Args:
        bundle: With its `onnx/` folder.
        vocab_size: V.
        threads: Batches that are decoded at a time; None for one per core.
    """

    def __init__(self, bundle: Bundle, vocab_size: int, threads: int | None = None) -> None:
        config = bundle.config.model["config"]
        weights = fitting_weights(bundle)
        share = min(threads or os.cpu_count() or 1, SHARING)
        # The library's recurrent operators lose more by sharing their short steps than they win.
        reading = 1 if "cell" in config else share
        self._graphs = OnnxGraphs(
            bundle.path,
            {"encode": weights, "step": weights},
            threads,
            shared={"encode": reading, "step": share},
        )
        self.name, self.threads = self._graphs.name, self._graphs.threads
        sessions = self._graphs.sessions
        self.step = OnnxStep(sessions["encode"], sessions["step"], vocab_size)
        learned = config.get("positions") == "learned"
        most = config["max_length"] - 1 if learned else LONGEST - 1
        self.max_length = None if "cell" in config else most
        """Positions end; recurrent decoders do not."""
        self._graphs.try_out(lambda: self.log_likelihoods([[2, 3]], [[2, 3]]))

    @property
    def attends(self) -> bool:
        """Whether its decoder looks at the source."""
        return self.step.attends

    def write(
        self,
        sources: Ids,
        search: TextSearch,
    ) -> list[list[Hypothesis]]:
        """Texts for each source, best first; sources of like length side by side."""
        is_shown = search.weights == "shown" or search.strategy.ranking.coverage > 0
        plain = self.step.showing() if is_shown else self.step
        step: Any = plain if search.tell is None else WatchedStep(plain, search.tell)
        found: list[list[Hypothesis]] = [[] for _ in sources]

        def some(rows: Sequence[int]) -> None:
            ids, mask = padded_sources([sources[row] for row in rows])
            texts = decode(
                step,
                self.step.begin(ids, mask),
                len(rows),
                strategy=search.strategy,
                rules=[search.rules[row] for row in rows],
                source_mask=mask > 0,
                numbers=[search.numbers[row] for row in rows],
            )
            for row, each in zip(rows, texts, strict=True):
                found[row] = [_trimmed(one, len(sources[row]), search.weights) for one in each]

        self._graphs.beside(some, _batches([len(source) for source in sources]))
        return found

    def log_likelihoods(self, sources: Ids, targets: Ids) -> NDArray[np.float64]:
        """Log P(target | source) of every row, the end included."""
        found = np.zeros(len(sources))

        def some(rows: Sequence[int]) -> None:
            ids, mask = padded_sources([sources[row] for row in rows])
            texts = [list(targets[row])[1:-1] for row in rows]
            scores = likelihood(self.step, self.step.begin(ids, mask), texts)
            found[list(rows)] = [each.log_probability for each in scores]

        self._graphs.beside(some, _batches([len(target) for target in targets]))
        return found


def _batches(lengths: list[int]) -> list[list[int]]:
    """Rows of like length together, the longest first, which is decoded for longest."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    return [order[start : start + BATCH] for start in range(0, len(order), BATCH)]


def padded_sources(sources: Ids) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Ids [N, S] and a mask [N, S] of 1 and 0."""
    ids, lengths = padded_ids(sources)
    return ids, (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.float32)


def _nothing(shape: Sequence[Any], num_rows: int) -> NDArray[np.float32]:
    """Zeros for a state, no keys for a cache: axes without a size are time, but for the first."""
    sizes = [size if isinstance(size, int) else 0 for size in shape[1:]]
    return np.zeros((num_rows, *sizes), np.float32)


def _trimmed(found: Hypothesis, length: int, weights: Literal["hidden", "shown"]) -> Hypothesis:
    """Attention to the source's own tokens, where it was asked for."""
    attention = found.attention
    if attention is None or weights == "hidden":
        return replace(found, attention=None)
    return replace(found, attention=attention[..., :length])

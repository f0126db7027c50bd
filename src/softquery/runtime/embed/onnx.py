"""A biLM's graphs on ONNX Runtime: `read` tokens by themselves, and `context` for a direction."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import BundleError
from softquery.runtime.batches import Floats, length_batches
from softquery.runtime.embed.backend import Characters, ContextState, DirectionState, zero_state
from softquery.runtime.embed.elmo import DIRECTIONS, BiLmSizes
from softquery.runtime.graphs import OnnxGraphs
from softquery.text import spell_sentences

READ, CONTEXT = "read", "context"
"""The names of the graphs."""
BATCH = 32
"""The most sentences that a direction reads side by side."""
TOKENS = 32 * BATCH
"""The most tokens of a batch, padding included, unless one sentence alone has more."""


class OnnxEmbedBackend:
    """The `read` graph, and the `context` graph once for each direction.

    Work is cut into batches, and the threads take whole batches of one direction, so that even a
    single sentence keeps two of them busy.

    Args:
        folder: The bundle, with its `onnx/` folder.
        sizes: The biLM's.
        weights: Those of the reader and of each direction, as
            `softquery.runtime.embed.elmo.bilm_weights` gives them.
        threads: How many batches are computed at a time; None for one per core.
    """

    def __init__(
        self,
        folder: Path,
        sizes: BiLmSizes,
        weights: Sequence[dict[str, NDArray[Any]]],
        threads: int | None = None,
    ) -> None:
        self._ways = [f"{CONTEXT}:{direction}" for direction in DIRECTIONS]
        named = dict(zip((READ, *self._ways), weights, strict=True))
        self._graphs = OnnxGraphs(folder, named, threads)
        self.name, self._sizes = self._graphs.name, sizes
        self._try_out(sizes.max_characters)

    def initial_state(self, num_streams: int) -> ContextState:
        """Zeros, from which so many streams are read."""
        sizes = self._sizes
        return zero_state(sizes.num_layers, num_streams, sizes.width, sizes.hidden_size)

    def read(self, groups: Sequence[Characters]) -> list[Floats]:
        """Vectors of tokens by themselves, group by group."""

        def read_group(characters: Characters) -> Floats:
            feed = {"characters": characters.astype(np.int32)}
            vectors: Floats = self._graphs.run(READ, ["vectors"], feed)[0]
            return vectors

        return self._graphs.beside(read_group, groups)

    def contextualise(
        self, sentences: Sequence[Floats], state: ContextState | None = None
    ) -> tuple[list[Floats], ContextState | None]:
        """Every LSTM layer of sentences that were read, each by itself."""
        start = state or self.initial_state(len(sentences))
        lengths = [len(sentence) for sentence in sentences]
        batches = length_batches(lengths, most=BATCH, most_tokens=TOKENS)

        def run(task: tuple[int, list[int]]) -> tuple[list[Floats], DirectionState]:
            way, rows = task
            read = [sentences[row][:: -1 if way else 1] for row in rows]
            return self._run(self._ways[way], read, start[way].of(rows))

        tasks = [(way, rows) for rows in batches for way in (0, 1)]
        results = iter(self._graphs.beside(run, tasks))
        found: list[Floats] = [np.empty(0, np.float32)] * len(sentences)
        last = self.initial_state(len(sentences))
        for rows, ahead, back in zip(batches, results, results, strict=True):
            for place, row in enumerate(rows):
                found[row] = _joined(ahead[0], back[0], place, lengths[row])
            for whole, part in zip(last, (ahead[1], back[1]), strict=True):
                whole.hidden[:, rows], whole.cell[:, rows] = part
        return found, None if state is None else self._clipped(last)

    def _clipped(self, state: ContextState) -> ContextState:
        """A state as the model was taught to go on from; clipped already where every step is."""
        ways = [
            DirectionState(
                *(
                    _within(values, limit)
                    for values, limit in zip(way, self._sizes.carried_clips, strict=True)
                )
            )  # fmt: skip
            for way in state
        ]
        return ContextState(*ways)

    def _run(
        self, way: str, sentences: Sequence[Floats], state: DirectionState
    ) -> tuple[list[Floats], DirectionState]:
        """Layers [T, B, P] of one direction, in its reading order."""
        lengths = np.array([len(sentence) for sentence in sentences])
        steps = np.zeros((max(1, lengths.max()), len(sentences), self._sizes.width), np.float32)
        for place, sentence in enumerate(sentences):
            steps[: len(sentence), place] = sentence
        is_real = np.arange(len(steps))[:, None] < lengths
        names = [f"layer_{place + 1}" for place in range(self._sizes.num_layers)]
        *layers, hidden, cell = self._graphs.run(
            way,
            [*names, "last_hidden", "last_cell"],
            {"vectors": steps, "is_real": is_real[..., None], **state._asdict()},
        )
        return layers, DirectionState(hidden, cell)

    def _try_out(self, longest: int) -> None:
        """Read one word."""
        characters, _ = spell_sentences([["a"]], longest)
        (layers,), _ = self._graphs.try_out(lambda: self.contextualise(self.read([characters[0]])))
        if layers.shape != (self._sizes.num_layers, characters.shape[1], 2 * self._sizes.width):
            raise BundleError(f"{self._graphs.place}: the graphs do not fit config.json")


def _within(values: Floats, limit: float) -> Floats:
    return np.clip(values, -limit, limit) if limit else values


def _joined(ahead: list[Floats], back: list[Floats], place: int, length: int) -> Floats:
    """Both directions of one sentence side by side: [L, T, 2 P]."""
    width = ahead[0].shape[-1]
    whole = np.empty((len(ahead), length, 2 * width), np.float32)
    for layer, (left, right) in enumerate(zip(ahead, back, strict=True)):
        whole[layer, :, :width] = left[:length, place]
        whole[layer, :, width:] = right[:length, place][::-1]
    return whole

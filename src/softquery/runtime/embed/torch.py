"""A biLM in torch, on a CPU or a GPU, with the shape of every context backend."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from softquery.models import Elmo
from softquery.models.elmo import BiLmState
from softquery.nn import LstmState
from softquery.runtime.batches import Floats, length_batches, padded_rows
from softquery.runtime.embed.backend import Characters, ContextState, zero_state
from softquery.runtime.torch_device import TorchModel

BATCH = 64
"""The most sentences that are read side by side."""
TOKENS = 64 * BATCH
"""The most tokens of a batch, padding included, unless one sentence alone has more."""


class TorchEmbedBackend:
    """A biLM as a torch module, in evaluation mode; `TorchModel` has the other arguments."""

    def __init__(self, model: Elmo, device: str | None = None, threads: int | None = None) -> None:
        self._torch = TorchModel(lambda: model, device, threads)
        self.model, self.name = self._torch.module, self._torch.name

    def initial_state(self, num_streams: int) -> ContextState:
        """Zeros, from which so many streams are read."""
        config = self.model.config
        return zero_state(
            config.num_layers, num_streams, config.projection_size, config.hidden_size
        )

    @torch.inference_mode()
    def read(self, groups: Sequence[Characters]) -> list[Floats]:
        """Vectors of tokens by themselves, group by group."""
        return [_array(self.model.read_tokens(self._torch.put(group))) for group in groups]

    @torch.inference_mode()
    def contextualise(
        self, sentences: Sequence[Floats], state: ContextState | None = None
    ) -> tuple[list[Floats], ContextState | None]:
        """Every LSTM layer of sentences that were read, each by itself."""
        lengths = [len(sentence) for sentence in sentences]
        found: list[Floats] = [np.empty(0, np.float32)] * len(sentences)
        last = self.initial_state(len(sentences))
        for rows in length_batches(lengths, most=BATCH, most_tokens=TOKENS):
            vectors, counts = padded_rows([sentences[row] for row in rows])
            output = self.model.contextualise(
                self._torch.put(vectors),
                self._torch.mask(counts, vectors.shape[1]),
                None if state is None else self._state(state, rows),
            )
            layers = output.layers[1:].cpu().numpy()
            for place, row in enumerate(rows):
                found[row] = layers[:, place, : lengths[row]]
            if output.state is not None:
                _put(last, output.state, rows)
        return found, None if state is None else last

    def _state(self, state: ContextState, rows: Sequence[int]) -> BiLmState:
        ways = [LstmState(*(self._torch.put(part) for part in way.of(rows))) for way in state]
        return BiLmState(*ways)


def _put(whole: ContextState, part: BiLmState, rows: Sequence[int]) -> None:
    """Write the state of some streams into that of all."""
    for into, way in zip(whole, part, strict=True):
        into.hidden[:, rows], into.cell[:, rows] = (_array(each) for each in way)


def _array(values: Tensor) -> Floats:
    array: Floats = values.cpu().numpy()
    return array

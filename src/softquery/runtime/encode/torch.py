"""Sentence encoders in torch, on a CPU or a GPU."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from softquery.bundle import Bundle
from softquery.data import Tokens
from softquery.errors import BundleError
from softquery.models import models_of
from softquery.runtime.batches import Floats, Ids, length_batches, padded_ids
from softquery.runtime.encode.backend import Item, Result
from softquery.runtime.torch_device import TorchModel
from softquery.runtime.torch_models import load_task_model

BATCH, TOKENS = 256, 1 << 14
"""The most sentences of a batch, and the most tokens, padding included."""
KIND = "sentence-encoder"


class TorchEncodeBackend:
    """A sentence encoder as a torch module; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self._torch = TorchModel(lambda: load_encoder_model(bundle), device, threads)
        self.model, self.name = self._torch.module, self._torch.name
        self.device = self._torch.device
        self.output_size = int(self._run([[0]]).shape[1])

    def vectors(self, sentences: Ids) -> Floats:
        """Vectors [N, E] of sentences; those of like length share a batch."""
        found = np.empty((len(sentences), self.output_size), dtype=np.float32)
        lengths = [len(sentence) for sentence in sentences]
        for rows in length_batches(lengths, most=BATCH, most_tokens=TOKENS):
            found[rows] = self._run([sentences[row] for row in rows])
        return found

    def beside(self, act: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Act on every item, one after the other: torch's threads are its own."""
        return [act(item) for item in items]

    @torch.inference_mode()
    def _run(self, sentences: Ids) -> Floats:
        ids, lengths = padded_ids(sentences)
        tokens = Tokens(self._torch.put(ids), self._torch.mask(lengths, ids.shape[1]))
        vectors: Floats = self.model.encode(tokens).vectors.float().cpu().numpy()
        return vectors


def load_encoder_model(bundle: Bundle) -> Any:
    """The sentence encoder of a bundle with its weights, in evaluation mode."""
    if bundle.config.model["name"] not in models_of(KIND):
        raise BundleError(f"{bundle.path}: expected a sentence encoder, found another model")
    return load_task_model(bundle)

"""Logits by torch, on a CPU or a GPU."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.data import Pairs, Sentences
from softquery.errors import ConfigError
from softquery.runtime.network import load_model, pair_logits


class TorchBackend:
    """A bundle's model as a torch module on one device.

    Args:
        bundle: The model folder.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
    """

    def __init__(self, bundle: Bundle, device: str | None = None) -> None:
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self.device = torch.device(chosen)
            self.model = load_model(bundle).to(self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"device {chosen!r} cannot be used: {reason}") from None

    def logits(
        self, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]
    ) -> NDArray[np.float32]:
        """One row of logits a pair, in the order of the pairs."""
        pairs = Pairs(Sentences.pack(first), Sentences.pack(second), torch.zeros(len(first)))
        answers: NDArray[np.float32] = pair_logits(self.model, pairs.to(self.device)).numpy()
        return answers

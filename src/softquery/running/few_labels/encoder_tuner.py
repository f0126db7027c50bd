"""Fine-tune a sentence encoder by labels: texts of one label move together. Needs torch.

Tunstall et al., "Efficient Few-Shot Learning Without Prompts", 2022 (SetFit), Section 3.1: first
the encoder by contrast, then a head on it. The table of sub-words stays as it is: what few texts
say of their words would be lost on all others.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from softquery.data import Tokens
from softquery.recipes.few_labels import EncoderTuning
from softquery.running.few_labels.head_encoder import HeadEncoder
from softquery.runtime.batches import Floats, padded_ids
from softquery.runtime.classify.sentence_head import WindowedVectors
from softquery.runtime.encode.torch import TorchEncodeBackend
from softquery.runtime.graph_weights import TABLES
from softquery.tasks import LabelContrast

Ids = NDArray[np.int64]
WARM_UP = 0.1
"""Share of the steps in which the rate rises."""
LARGEST_NORM = 1.0


class EncoderTuner:
    """An encoder that can be fine-tuned again and again, each time from where it was.

    Args:
        encoder: Where it starts.
        settings: How it is tuned.
        seed: Of what is drawn.
    """

    def __init__(self, encoder: HeadEncoder, settings: EncoderTuning, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._backend = TorchEncodeBackend(encoder.bundle)
        self._model: nn.Module = self._backend.model
        self._start = {name: each.clone() for name, each in self._model.state_dict().items()}
        self._windows = WindowedVectors(
            encoder=self._backend, window=encoder.texts.window, has_marks=encoder.texts.has_marks
        )

    def tune(self, texts: Sequence[Sequence[int]], gold: Ids) -> None:
        """Tune by these texts and their labels, from the start on.

        Args:
            texts: As ids.
            gold: Their class ids.
        """
        self._model.load_state_dict(self._start)
        loss, num_steps = LabelContrast(temperature=self._settings.temperature), self._steps(gold)
        windows = [self._windows.windows(text) for text in texts]
        generator = np.random.default_rng(self._seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            optimizer = torch.optim.AdamW(self._bending(), lr=self._settings.lr, weight_decay=0.0)
            self._model.train()
            for step in range(num_steps):
                rows = drawn_rows(gold, self._settings.batch_size, generator)
                parts = [windows[row][generator.integers(len(windows[row]))] for row in rows]
                vectors = self._model.encode(self._tokens(parts)).vectors  # type: ignore[operator]
                found = loss.loss(vectors, torch.from_numpy(gold[rows]).to(vectors.device))
                for group in optimizer.param_groups:
                    group["lr"] = self._settings.lr * rate_share(step, num_steps)
                optimizer.zero_grad()
                found.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self._bending(), LARGEST_NORM)
                optimizer.step()
        self._model.eval()

    def vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Vectors [N, D] of texts, as the encoder is now."""
        return self._windows.of(texts)

    def weights(self) -> dict[str, NDArray[Any]]:
        """Its weights as they are now, by torch's names."""
        return {name: each.cpu().numpy().copy() for name, each in self._model.state_dict().items()}

    def _steps(self, gold: Ids) -> int:
        return self._settings.steps_for(len(gold))

    def _bending(self) -> list[nn.Parameter]:
        return [each for name, each in self._model.named_parameters() if not name.endswith(TABLES)]

    def _tokens(self, parts: Sequence[Sequence[int]]) -> Tokens:
        ids, lengths = padded_ids(parts)
        put = torch.from_numpy(ids).to(self._backend.device)
        mask = torch.arange(ids.shape[1]) < torch.from_numpy(lengths)[:, None]
        return Tokens(put, mask.to(put.device))


def drawn_rows(gold: Ids, size: int, generator: np.random.Generator) -> Ids:
    """Rows of a batch: about as many of each label, and at least two of each that is there.

    >>> gold = np.array([0] * 98 + [1, 1])
    >>> np.bincount(gold[drawn_rows(gold, 8, np.random.default_rng(0))]).tolist()
    [4, 4]
    """
    labels = generator.permutation(np.unique(gold))[: max(2, size // 2)]
    each = max(2, size // len(labels))
    return np.concatenate(
        [
            generator.choice(own, each, replace=len(own) < each)
            for own in (np.flatnonzero(gold == label) for label in labels)
        ]
    )


def rate_share(step: int, num_steps: int) -> float:
    """What share of the highest rate a step has.

    >>> [round(rate_share(step, 20), 2) for step in (0, 1, 10, 19)]
    [0.5, 0.95, 0.5, 0.05]
    """
    return min(1.0, (step + 1) / max(1.0, WARM_UP * num_steps)) * (1 - step / num_steps)

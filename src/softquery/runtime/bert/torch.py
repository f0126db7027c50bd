"""A BERT in torch, with a head or without, on a CPU or a GPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softquery.bundle import Bundle
from softquery.data import Tokens
from softquery.errors import BundleError
from softquery.models import BertClassifier, BertTagger
from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import BertRow, padded, row_batches, unpadded
from softquery.runtime.tag.backend import Chain
from softquery.runtime.torch_device import TorchModel
from softquery.runtime.torch_models import load_bert_head, load_encoder


class TorchBertHead:
    """An encoder with its head; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self._torch = TorchModel(lambda: load_bert_head(bundle), device, threads)
        self.model, self.name = self._torch.module, self._torch.name
        self.path, self.chain = bundle.path, None
        if isinstance(self.model, BertTagger) and self.model.crf is not None:
            parts = self.model.crf()
            self.chain = Chain(*(part.detach().float().cpu().numpy() for part in parts))

    @torch.inference_mode()
    def answers(self, rows: Sequence[BertRow]) -> list[Floats]:
        """What the head says of each row: [C], or [T, C] where every piece is judged."""
        found: list[Floats] = [np.empty(0, dtype=np.float32)] * len(rows)
        for places in row_batches(rows, on_gpu=self._torch.device.type == "cuda"):
            some = [rows[place] for place in places]
            scores = self.model.scores(*_given(self._torch, some)).float().cpu().numpy()
            for place, answer in zip(places, unpadded(scores, some), strict=True):
                found[place] = answer
        return found

    @torch.inference_mode()
    def looks(self, row: BertRow) -> Floats:
        """Whom the first piece of one row asked in the highest layer: [T]."""
        if not isinstance(self.model, BertClassifier):
            raise BundleError(f"{self.path}: this model weighs no words, so it shows none")
        weights: Floats = self.model.looks(_given(self._torch, [row])[0])[0].float().cpu().numpy()
        return weights


class TorchBertEncoder:
    """A bare encoder: the states of pieces on every layer; arguments as of `TorchBertHead`."""

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self._torch = TorchModel(lambda: load_encoder(bundle), device, threads)
        self.name = self._torch.name

    @torch.inference_mode()
    def states(self, rows: Sequence[BertRow]) -> list[Floats]:
        """Of each row: [L, T, D]."""
        found: list[Floats] = [np.empty((0, 0, 0), dtype=np.float32)] * len(rows)
        for places in row_batches(rows):
            given = _given(self._torch, [rows[place] for place in places])
            layers = self._torch.module.encode(*given).layers
            states = torch.stack(layers).float().cpu().numpy()
            for number, place in enumerate(places):
                found[place] = states[:, number, : len(rows[place].ids)]
        return found


def _given(on: TorchModel[Any], rows: Sequence[BertRow]) -> tuple[Tokens, Tensor]:
    """Rows as an encoder takes them: tokens, and the segment of each."""
    fed = padded(rows)
    mask = on.mask(fed["lengths"], fed["ids"].shape[1])
    return Tokens(on.put(fed["ids"]), mask), on.put(fed["segments"])

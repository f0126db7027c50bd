"""Words for masks in torch, on a CPU or a GPU."""

from collections.abc import Sequence

import numpy as np
import torch

from softquery.bundle import Bundle
from softquery.data import Tokens
from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import padded, row_batches
from softquery.runtime.fill.backend import MaskedRow, by_row, flat_places
from softquery.runtime.torch_device import TorchModel
from softquery.runtime.torch_models import load_encoder


class TorchFillBackend:
    """An encoder with its head; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self._torch = TorchModel(lambda: load_encoder(bundle), device, threads)
        self.name = self._torch.name

    @torch.inference_mode()
    def logits(self, rows: Sequence[MaskedRow]) -> list[Floats]:
        """Logits of all pieces at the places of each row: [M, V]."""
        found: list[Floats] = [np.empty((0, 0), dtype=np.float32)] * len(rows)
        for places in row_batches([each.row for each in rows]):
            some = [rows[place] for place in places]
            for place, answer in zip(places, self._answered(some), strict=True):
                found[place] = answer
        return found

    def _answered(self, rows: Sequence[MaskedRow]) -> list[Floats]:
        fed, on = padded([each.row for each in rows]), self._torch
        tokens = Tokens(on.put(fed["ids"]), on.mask(fed["lengths"], fed["ids"].shape[1]))
        states = on.module.encode(tokens, on.put(fed["segments"])).states.flatten(0, 1)  # [B T, D]
        asked = on.put(np.array(flat_places(rows), dtype=np.int64))
        logits: Floats = on.module.word_logits(states[asked]).float().cpu().numpy()
        return by_row(logits, rows)

"""A BERT with a head in torch, on a CPU or a GPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from softquery.bundle import Bundle
from softquery.data import Tokens
from softquery.errors import BundleError
from softquery.models import BertClassifier, BertTagger
from softquery.runtime.bert.rows import BertRow, Floats, batches, padded, unpadded
from softquery.runtime.tag.decode_tags import Chain
from softquery.runtime.torch_device import on_device
from softquery.runtime.torch_models import load_bert_head


class TorchBert:
    """An encoder with its head as a torch module on one device.

    Args:
        bundle: The model folder.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
        threads: How many threads torch may use, in the whole process; None leaves it as it is.
    """

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self.model, self.device = on_device(lambda: load_bert_head(bundle), device, threads)
        self.path = bundle.path
        self.chain = None
        if isinstance(self.model, BertTagger) and self.model.crf is not None:
            parts = self.model.crf()
            self.chain = Chain(*(part.detach().float().cpu().numpy() for part in parts))

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    @torch.inference_mode()
    def answers(self, rows: Sequence[BertRow]) -> list[Floats]:
        """What the head says of each row: [C], or [T, C] where every piece is judged."""
        found: list[Floats] = [np.empty(0, dtype=np.float32)] * len(rows)
        for places in batches(rows):
            some = [rows[place] for place in places]
            scores = self.model.scores(*self._given(some)).float().cpu().numpy()
            for place, answer in zip(places, unpadded(scores, some), strict=True):
                found[place] = answer
        return found

    @torch.inference_mode()
    def looks(self, row: BertRow) -> Floats:
        """Whom the first piece of one row asked in the highest layer: [T]."""
        if not isinstance(self.model, BertClassifier):
            raise BundleError(f"{self.path}: this model weighs no words, so it shows none")
        weights: Floats = self.model.looks(self._given([row])[0])[0].float().cpu().numpy()
        return weights

    def _given(self, rows: Sequence[BertRow]) -> tuple[Tokens, Any]:
        fed = {name: torch.from_numpy(each).to(self.device) for name, each in padded(rows).items()}
        places = torch.arange(fed["ids"].shape[1], device=self.device)
        return Tokens(fed["ids"], places < fed["lengths"].unsqueeze(1)), fed["segments"]

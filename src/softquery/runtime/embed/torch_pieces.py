"""A bare encoder in torch: the states of pieces on every layer."""

from collections.abc import Sequence

import numpy as np
import torch

from softquery.bundle import Bundle
from softquery.data import Tokens
from softquery.runtime.bert.rows import BertRow, Floats, batches, padded
from softquery.runtime.torch_device import on_device
from softquery.runtime.torch_models import load_encoder


class TorchPieces:
    """A pretrained encoder as a torch module on one device.

    Args:
        bundle: The model folder.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
        threads: How many threads torch may use, in the whole process; None leaves it as it is.
    """

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self.model, self.device = on_device(lambda: load_encoder(bundle), device, threads)

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    @torch.inference_mode()
    def states(self, rows: Sequence[BertRow]) -> list[Floats]:
        """Of each row: [layers, pieces, width]."""
        found: list[Floats] = [np.empty((0, 0, 0), dtype=np.float32)] * len(rows)
        for places in batches(rows):
            given = padded([rows[place] for place in places])
            fed = {name: torch.from_numpy(each).to(self.device) for name, each in given.items()}
            mask = torch.arange(fed["ids"].shape[1], device=self.device) < fed["lengths"][:, None]
            layers = self.model.encode(Tokens(fed["ids"], mask), fed["segments"]).layers
            states = torch.stack(layers).float().cpu().numpy()
            for number, place in enumerate(places):
                found[place] = states[:, number, : len(rows[place].ids)]
        return found

"""Generators in torch, on a CPU or a GPU."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from softquery.bundle import Bundle
from softquery.data import Sentences, Translations, in_order
from softquery.decoding import Hypothesis, WatchedStep, decode
from softquery.errors import BundleError
from softquery.models import Seq2Seq, TorchStep, Transformer
from softquery.runtime.generate.model import Ids, TextSearch
from softquery.runtime.torch_device import TorchModel, evaluating
from softquery.runtime.torch_models import load_task_model
from softquery.tasks import TokenLikelihood, token_losses

BATCH = 64
"""Sources that are decoded side by side."""
MEASURED = 128
"""Targets that are measured side by side."""


def load_generator_model(
    bundle: Bundle, device: str | None, threads: int | None
) -> Seq2Seq | Transformer:
    """A bundle's model on its device, in evaluation mode."""

    def load() -> Seq2Seq | Transformer:
        model = load_task_model(bundle)
        if not isinstance(model, (Seq2Seq, Transformer)):
            raise BundleError(f"{bundle.path}: expected a generator, found a {bundle.config.kind}")
        return model

    return TorchModel(load, device, threads).module


class TorchGenerateBackend:
    """A generator as a torch module.

    Args:
        model: On its device; put into evaluation mode for as long as it generates.
        batch_size: Sources that are decoded side by side.
    """

    def __init__(self, model: Any, batch_size: int = BATCH) -> None:
        self.model, self.batch_size = model, batch_size

    @property
    def device(self) -> torch.device:
        """Where the model lies."""
        parameter: torch.Tensor = next(self.model.parameters())
        return parameter.device

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    @property
    def attends(self) -> bool:
        """Whether its decoder looks at the source."""
        return getattr(self.model.config, "context", "attention") == "attention"

    @property
    def max_length(self) -> int | None:
        """Learned positions end."""
        config = self.model.config
        return config.max_length - 1 if getattr(config, "positions", "") == "learned" else None

    @torch.inference_mode()
    def write(
        self,
        sources: Ids,
        search: TextSearch,
    ) -> list[list[Hypothesis]]:
        """Texts for each source, best first; sources of like length side by side."""
        coverage = search.strategy.ranking.coverage
        shown: Literal["hidden", "shown"] = "shown" if coverage else search.weights
        packed = Sentences.pack(sources).to(self.device)
        lengths = packed.lengths.cpu()
        found: list[list[Hypothesis]] = [[] for _ in sources]
        with evaluating(self.model) as model:
            plain = TorchStep(model, weights=shown)
            step: Any = plain if search.tell is None else WatchedStep(plain, search.tell)
            for slot in in_order(lengths, batch_size=self.batch_size, pad_multiple=1):
                rows = slot.rows.tolist()
                tokens = packed.pad(slot.rows.to(self.device), slot.length)
                texts = decode(
                    step,
                    plain.begin(tokens),
                    len(rows),
                    strategy=search.strategy,
                    rules=[search.rules[row] for row in rows],
                    source_mask=tokens.mask.cpu().numpy(),
                    numbers=[search.numbers[row] for row in rows],
                )
                for row, each in zip(rows, texts, strict=True):
                    found[row] = [_trimmed(one, int(lengths[row])) for one in each]
        return found

    @torch.inference_mode()
    def log_likelihoods(self, sources: Ids, targets: Ids) -> NDArray[np.float64]:
        """Log P(target | source) of every row, the end included."""
        rows = Translations(Sentences.pack(sources), Sentences.pack(targets)).to(self.device)
        found = np.zeros(len(rows))
        with evaluating(self.model) as model:
            for slot in in_order(rows.lengths().cpu(), batch_size=MEASURED):
                batch = rows.batch(slot.rows.to(self.device), slot.length)
                lost = token_losses(model(batch), batch).double().sum(dim=1)
                found[slot.rows.numpy()] = -lost.cpu().numpy()
        return found


@torch.inference_mode()
def token_likelihood(model: nn.Module, rows: Translations) -> TokenLikelihood:
    """How likely the model finds every target, on the device where both lie."""
    total = TokenLikelihood()
    device = next(model.parameters()).device
    with evaluating(model) as ready:
        for slot in in_order(rows.lengths().cpu(), batch_size=MEASURED):
            batch = rows.batch(slot.rows.to(device), slot.length)
            total.add(ready(batch), batch)
    return total


def _trimmed(found: Hypothesis, length: int) -> Hypothesis:
    """Attention to the source's own tokens, without the padding beside them."""
    if found.attention is None:
        return found
    return replace(found, attention=found.attention[..., :length])

"""Pairs as the training loop wants them: batches to learn from, and a held-back set to steer by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from softquery.data import PairBatch, Pairs, PieceBatch, PiecePairs, Slot, bucketed
from softquery.errors import ConfigError
from softquery.measure import accuracy, auc, spearman
from softquery.recipes.run import Files
from softquery.runtime.torch_models import pair_logits
from softquery.tasks import PairClassification, PairTask


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """The training pairs of a run and the share of them that was held back."""

    train: Pairs | PiecePairs
    tune: Pairs | PiecePairs
    lengths: Tensor
    """Of the training pairs, on the CPU, where batches are planned."""
    task: PairTask
    files: Files
    seed: int

    def slots(self, epoch: int) -> Sequence[Slot]:
        """The epoch's batches."""
        return bucketed(
            self.lengths,
            batch_size=self.files.batch_size,
            seed=self.seed,
            epoch=epoch,
            pad_multiple=self.files.pad_multiple,
        )

    def make_batch(self, rows: Tensor, length: int) -> PairBatch | PieceBatch:
        """The pairs of these rows, each twice where two passes are to agree."""
        task = self.task
        if not isinstance(task, PairClassification):
            return self.train.batch(rows, length)
        twice = task.consistency > 0
        batch = self.train.batch(rows.repeat(2) if twice else rows, length)
        if not task.symmetric:
            return batch
        places = torch.arange(batch.size, device=rows.device)
        return batch.swapped(places >= len(rows) if twice else places % 2 == 1)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The metric that steers, and the held-back loss."""
        logits = pair_logits(model, self.tune)
        if not logits.isfinite().all():
            raise ConfigError(
                "the run diverged: the model's answers are no longer finite; "
                "lower optim.lr, or raise optim.eps or schedule.warmup_steps"
            )
        gold = self.tune.label.cpu()
        probabilities = self.task.probabilities(logits).numpy()
        if isinstance(self.task, PairClassification) and self.task.steers_by == "auc":
            score = float(np.nan_to_num(auc(gold.numpy(), probabilities[:, 1])))
        elif isinstance(self.task, PairClassification):
            score = accuracy(gold.numpy(), probabilities.argmax(axis=1))
        else:
            # Undefined for a model that answers all alike; that is as bad as no correlation.
            score = float(np.nan_to_num(spearman(gold.numpy(), probabilities[:, 0])))
        loss = self.task.loss_of_logits(logits, gold)
        return {f"tune_{self.task.steers_by}": score, "tune_loss": float(loss)}

"""Texts with a class each as the training loop wants them: batches, and a set to steer by."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from softquery.data import (
    DocumentBatch,
    Documents,
    Slot,
    TextBatch,
    Texts,
    bucketed,
    document_slots,
)
from softquery.errors import ConfigError
from softquery.recipes.run import Files, Run
from softquery.runtime.classify.torch import class_logits
from softquery.tasks import TextClassification

NO_LIMIT = 2**62


@dataclass(frozen=True, kw_only=True)
class ClassifyPlan:
    """The training texts of a run and the share of them that was held back."""

    train: Texts | Documents
    tune: Texts | Documents
    sizes: Tensor
    """Of the training texts, on the CPU, where batches are planned: lengths, or shapes."""
    task: TextClassification
    files: Files
    seed: int

    @classmethod
    def of(
        cls, run: Run, task: TextClassification, train: Texts | Documents, tune: Texts | Documents
    ) -> "ClassifyPlan":
        """The plan of a run, from splits that lie on the device."""
        if isinstance(train, Texts):
            sizes = train.lengths().cpu()
        else:
            sizes = train.shapes(run.data.pad_multiple)
        return cls(
            train=train,
            tune=tune,
            sizes=sizes,
            task=task,
            files=run.data,
            seed=run.training.seed,
        )

    def slots(self, epoch: int) -> Sequence[Slot]:
        """The epoch's batches."""
        files = self.files
        if isinstance(self.train, Texts):
            return bucketed(
                self.sizes,
                batch_size=files.batch_size,
                seed=self.seed,
                epoch=epoch,
                pad_multiple=files.pad_multiple,
            )
        return document_slots(
            self.sizes,
            batch_size=files.batch_size,
            num_tokens=files.num_tokens or NO_LIMIT,
            seed=self.seed,
            epoch=epoch,
        )

    def make_batch(self, rows: Tensor, length: int) -> TextBatch | DocumentBatch:
        """The texts of these rows, each twice where two passes are to agree."""
        return self.train.batch(rows.repeat(2) if self.task.consistency > 0 else rows, length)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The metric that steers, accuracy, and the held-back loss."""
        logits = class_logits(model, self.tune)
        if not logits.isfinite().all():
            raise ConfigError(
                "the run diverged: the model's answers are no longer finite; "
                "lower optim.lr, or raise optim.eps or schedule.warmup_steps"
            )
        gold = self.tune.label.cpu()  # type: ignore[union-attr]
        predicted = logits.argmax(dim=1)
        accuracy = float((predicted == gold).double().mean())
        return {
            f"tune_{self.task.steers_by}": self.task.score(gold.numpy(), predicted.numpy()),
            "tune_accuracy": accuracy,
            "tune_loss": float(self.task.loss_of_logits(logits, gold)),
        }

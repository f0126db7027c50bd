"""Sentences as the training loop wants them: batches, and how the run is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from softquery.data import Slot, TextBatch, Texts, WordPieceBatch, WordPieces, bucketed
from softquery.recipes.run import Files


@dataclass(frozen=True, kw_only=True)
class TagPlan:
    """The training sentences of a run, and what is done with those that were held back."""

    train: Texts | WordPieces
    lengths: Tensor
    """Of the training sentences, on the CPU, where batches are planned."""
    files: Files
    seed: int
    measured: Callable[[nn.Module], dict[str, float]]

    def slots(self, epoch: int) -> Sequence[Slot]:
        """The epoch's batches."""
        return bucketed(
            self.lengths,
            batch_size=self.files.batch_size,
            seed=self.seed,
            epoch=epoch,
            pad_multiple=self.files.pad_multiple,
        )

    def make_batch(self, rows: Tensor, length: int) -> TextBatch | WordPieceBatch:
        """The sentences of these rows."""
        return self.train.batch(rows, length)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The metric that steers comes first."""
        return self.measured(model)

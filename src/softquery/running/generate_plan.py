"""Sources and targets as the training loop wants them: batches of like length and size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from softquery.data import Slot, TranslationBatch, Translations, budgeted
from softquery.recipes.run import Files


@dataclass(frozen=True, kw_only=True)
class GeneratePlan:
    """The training rows of a run, and what is done with those that were held back."""

    train: Translations
    lengths: Tensor
    """Of the training rows, on the CPU, where batches are planned."""
    target_lengths: Tensor
    batch_tokens: int
    files: Files
    seed: int
    measured: Callable[[nn.Module], dict[str, float]]

    def slots(self, epoch: int) -> Sequence[Slot]:
        """The epoch's batches: few shapes, so that each can be recorded."""
        return budgeted(
            self.lengths,
            num_tokens=self.batch_tokens,
            seed=self.seed,
            epoch=epoch,
            pad_multiple=self.files.pad_multiple,
        )

    def make_batch(self, rows: Tensor, length: int) -> TranslationBatch:
        """The sources and targets of these rows."""
        return self.train.batch(rows, length)

    def num_tokens(self, slot: Slot) -> int:
        """Tokens that are learnt to be said, the ends included."""
        return int(self.target_lengths[slot.rows].sum()) - len(slot.rows)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The metric that steers comes first."""
        return self.measured(model)

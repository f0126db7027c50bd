"""Questions as the training loop wants them: batches, and how the run is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from softquery.data import PieceBatch, PieceWindows, QuestionBatch, Questions, Slot, bucketed
from softquery.recipes.run import Files


@dataclass(frozen=True, kw_only=True)
class ReadPlan:
    """The training windows of a run, and what is done with the questions that were held back."""

    train: Questions | PieceWindows
    lengths: Tensor
    """Of the contexts, on the CPU, where batches are planned."""
    question_length: int | None
    """To which all questions are padded: a recorded step then has one shape a context length. None
    where a question and its context are one row."""
    twice: bool
    """Whether batches hold each window twice, for two passes that are to agree."""
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

    def make_batch(self, rows: Tensor, length: int) -> QuestionBatch | PieceBatch:
        """The windows of these rows, each twice where two passes are to agree."""
        rows = rows.repeat(2) if self.twice else rows
        if isinstance(self.train, PieceWindows):
            return self.train.batch(rows, length)
        return self.train.batch(rows, length, question_length=self.question_length or 1)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """The metric that steers comes first."""
        return self.measured(model)

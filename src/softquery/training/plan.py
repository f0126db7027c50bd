"""What the training loop is given: batches, a measurement, and who watches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, nn

from softquery.data import Slot

Loss = Callable[[Any, Any], Tensor]
"""From a model's output and its batch to the mean loss."""


class Memory(Protocol):
    """Tensors that outlive a step, such as the states of LSTMs that read on and on.

    They belong to a run as its weights do: a checkpoint holds them. With several processes, each
    keeps its own share, so that the sum over processes is the whole.
    """

    def begin(self, epoch: int) -> None:
        """An epoch begins; forget what it does not go on from."""

    def keep(self, output: Any, batch: Any) -> None:
        """Keep what the next batch starts from; called once per batch, before its backward pass."""

    def tensors(self) -> dict[str, Tensor]:
        """All there is to save: this process's share, zeros elsewhere."""

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the whole that was saved."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan:
    """What is trained on, and how the run is measured."""

    slots: Callable[[int], Sequence[Slot]]
    """The batches of an epoch, a function of the run's seed and the epoch alone."""
    make_batch: Callable[[Tensor, int], Any]
    """From rows and a padded length to the batch, on the device of the rows."""
    measure: Callable[[nn.Module], dict[str, float]]
    """Metrics on held-back data; the first one steers the run, and more is better. Where epochs
    tie, `tune_loss` decides, if it is among them."""
    num_tokens: Callable[[Slot], int] | None = None
    """Tokens of a batch, where speed is shown in tokens."""
    memory: Memory | None = None
    """Where batches start from what earlier ones left."""
    shaped_by_content: bool = False
    """Whether batches must be made before their shapes are known, so that no recording can."""


class Observer(Protocol):
    """Who watches a run: a progress bar, callbacks, or nobody; who says True ends it early."""

    def begin(self, total_steps: int, done: int) -> None:
        """The run starts, or goes on, at step `done`."""

    def step(self, done: int, facts: dict[str, float]) -> bool | None:
        """A step is done; `facts` hold the latest loss, rate and speed."""

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> bool | None:
        """An epoch was measured."""


def remembering(loss: Loss, memory: Memory) -> Loss:
    """The loss of a batch, with what the next batch starts from put aside first."""

    def keep_then_lose(output: Any, batch: Any) -> Tensor:
        memory.keep(output, batch)
        return loss(output, batch)

    return keep_then_lose

"""What some plans add to the loop: a memory, a count of tokens, shapes that follow the content."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from softquery.data import Slot

Loss = Callable[[Any, Any], Tensor]


class Memory(Protocol):
    """Tensors that outlive a step, such as the state of LSTMs that read on and on.

    They belong to a run as its weights do: a checkpoint holds them. Of several processes each keeps
    its own share, so that the sum over processes is the whole.
    """

    def begin(self, epoch: int) -> None:
        """An epoch begins; forget what it does not go on from."""

    def keep(self, output: Any, batch: Any) -> None:
        """Keep what the next batch starts from; called once a batch, before its backward pass."""

    def tensors(self) -> dict[str, Tensor]:
        """All there is to save: this process's share, zeros elsewhere."""

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the whole that was saved."""


@runtime_checkable
class Remembering(Protocol):
    """A plan whose batches start from what earlier ones left."""

    memory: Memory


@runtime_checkable
class CountsTokens(Protocol):
    """A plan whose speed is told in tokens."""

    def num_tokens(self, slot: Slot) -> int:
        """Tokens of a batch."""


@runtime_checkable
class ShapedByContent(Protocol):
    """A plan whose batches must be made before their shapes are known."""

    shaped_by_content: bool


def is_shaped_by_content(plan: object) -> bool:
    """Whether no recording can make this plan's batches."""
    return isinstance(plan, ShapedByContent) and plan.shaped_by_content


def memory_of(plan: object) -> Memory | None:
    """The memory of a plan, where it has one."""
    return plan.memory if isinstance(plan, Remembering) else None


def remembering(loss: Loss, memory: Memory | None) -> Loss:
    """The loss of a batch, with what the next one starts from put aside first."""
    if memory is None:
        return loss
    kept = memory

    def keep_then_lose(output: Any, batch: Any) -> Tensor:
        kept.keep(output, batch)
        return loss(output, batch)

    return keep_then_lose

"""Streams as the training loop wants them: windows in reading order, and a state carried along."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softquery.data import Slot, StreamBatch, Streams, StreamSlots
from softquery.errors import ConfigError
from softquery.models import BiLmState, Elmo, LanguageModelOutput
from softquery.nn import LstmState
from softquery.runtime.embed.evaluate import text_likelihood


class StreamMemory:
    """The state of every stream between two steps; zeros at the beginning of the text.

    Args:
        state: Zeros for all streams.
        rounds: Epochs in which the text is read once.
        is_first: Whether this process speaks for streams that none has read since a resumption.
    """

    def __init__(self, state: BiLmState, *, rounds: int, is_first: bool = True) -> None:
        self._state = {
            f"{way}.{name}": getattr(getattr(state, way), name)
            for way in BiLmState._fields
            for name in LstmState._fields
        }
        self._rounds, self._is_first = rounds, is_first
        device = state.forwards.hidden.device
        self._owned = torch.zeros(state.forwards.hidden.shape[1], dtype=torch.bool, device=device)
        self._restored = False

    def begin(self, epoch: int) -> None:
        """Forget everything where the text begins anew."""
        if epoch % self._rounds == 0:
            for values in self._state.values():
                values.zero_()

    def of(self, streams: Tensor) -> BiLmState:
        """The state of some streams."""
        ways = [
            LstmState(*(self._state[f"{way}.{name}"][:, streams] for name in LstmState._fields))
            for way in BiLmState._fields
        ]
        return BiLmState(*ways)

    @torch.no_grad()
    def keep(self, output: LanguageModelOutput, batch: StreamBatch) -> None:
        """Put aside the state that the batch's streams ended in."""
        if output.state is None:
            raise ValueError("a model without a state has nothing to carry on")
        if self._restored:  # from now on, each process speaks for what it reads
            self._owned.zero_()
            self._restored = False
        self._owned.index_fill_(0, batch.streams, True)  # a recording takes no scalar otherwise
        for name, values in self._state.items():
            way, part = name.split(".")
            found = getattr(getattr(output.state, way), part).detach()
            values[:, batch.streams] = found.to(values.dtype)

    def tensors(self) -> dict[str, Tensor]:
        """This process's share, zeros for the streams of others."""
        owned = self._owned.view(1, -1, 1)
        return {name: values * owned for name, values in self._state.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the states of all streams."""
        for name, values in self._state.items():
            values.copy_(tensors[name])
        self._owned.fill_(self._is_first)
        self._restored = True


def scattered(places: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
    """Numbers in [0, 1) that follow from places in the text, whichever process reads them.

    >>> share = scattered(torch.arange(20_000)) < 0.1
    >>> 0.09 < share.double().mean() < 0.11
    tensor(True)
    """
    for factor in (2654435761, 0x45D9F3B, 0x45D9F3B):
        places = places * factor & 0xFFFFFFFF
        places = places ^ places >> 16
    return places.double() / 2**32


@dataclass(frozen=True, kw_only=True)
class StreamPlan:
    """The training text of a run and the part of it that was held back."""

    train: Streams
    tune: Streams
    memory: StreamMemory
    unroll: int
    rounds: int
    """Epochs that make a pass over the text."""
    fresh_share: float = 0.0
    """Streams that begin anew at each window, on average: a model learns to set out from zero."""
    shaped_by_content: ClassVar[bool] = True

    def slots(self, epoch: int) -> Sequence[Slot]:
        """The windows of one epoch: a pass over the text, or one of the rounds it is cut into."""
        count = self.train.num_steps(self.unroll) // self.rounds
        return StreamSlots(self.train, epoch % self.rounds * count, count, self.unroll)

    def num_tokens(self, slot: Slot) -> int:
        """Words that a step reads, in each direction."""
        return len(slot.rows) * slot.length

    def make_batch(self, rows: Tensor, length: int) -> StreamBatch:
        """The windows at these places, with the state that was carried to them."""
        batch = self.train.batch(rows, length)
        state = self.memory.of(batch.streams)
        if self.fresh_share:
            goes_on = (scattered(rows) >= self.fresh_share).unsqueeze(-1)
            state = BiLmState(*(LstmState(*(v * goes_on for v in way)) for way in state))
        return batch._replace(state=state)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Log-likelihood of a held-back word, which steers, and perplexities."""
        if not isinstance(model, Elmo):
            raise TypeError(f"expected an Elmo, got {type(model).__name__}")
        found = text_likelihood(model, self.tune)
        if not found.is_finite:
            raise ConfigError(
                "the run diverged: the model's answers are no longer finite; "
                "lower optim.lr, or raise optim.eps or schedule.warmup_steps"
            )
        report = found.report()
        shown = ("perplexity", "perplexity_forwards", "perplexity_backwards")
        return {"tune_log_likelihood": found.mean, **{f"tune_{n}": report[n] for n in shown}}

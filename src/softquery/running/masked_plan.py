"""Documents as the training loop wants them: excerpts drawn anew each epoch, short, then long."""

from dataclasses import dataclass, field, replace

import numpy as np
from torch import Tensor, nn

from softquery.data import (
    DocumentText,
    MaskedBatch,
    MaskedText,
    Masking,
    Slot,
    bin_rows,
    bin_slots,
)
from softquery.errors import ConfigError
from softquery.models import Bert
from softquery.recipes.bert_run import DocumentFiles
from softquery.runtime.embed.evaluate import masked_scores, measured_slots
from softquery.tasks import MaskedScores
from softquery.training import Training


@dataclass(kw_only=True)
class MaskedPlan:
    """The training text of a run and the part of it that was held back."""

    text: MaskedText
    train: DocumentText
    tune: DocumentText
    files: DocumentFiles
    pairs: bool
    """Whether sequences are pairs of texts."""
    training: Training
    """For the seed, and for when long sequences begin."""
    _kept: dict[tuple[int, int], list[Slot]] = field(default_factory=dict)

    @property
    def shaped_by_content(self) -> bool:
        """Whether no recording can make the batches: where the text stays on the disk."""
        return self.text.ids.device != self.text.ordinary.device

    def slots(self, epoch: int) -> list[Slot]:
        """The batches of one epoch: short sequences, and from some step on long ones.

        Attention to all tokens grows with the square of the length, so that most of the time goes
        to short ones (Section A.2). An epoch is a pass over the text, or one of the rounds that the
        pass is cut into; every epoch has as many steps as the first.
        """
        count = len(self._cut(0, self.files.length))
        num_short = min(max(0, self._num_short_steps(count) - epoch * count), count)
        found = _times(self._cut(epoch, self.files.length), count)[:num_short]
        if num_short < count:
            found += _times(self._cut(epoch, self.files.long_length), count)[num_short:]
        return found

    def num_tokens(self, slot: Slot) -> int:
        """Tokens that a step reads, the little filling included."""
        return len(slot.rows) * slot.length

    def make_batch(self, rows: Tensor, length: int) -> MaskedBatch:
        """The bins that these rows describe, with words hidden."""
        return self.text.batch(rows, length)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Log-likelihood of a hidden word, which steers, and each objective's measures.

        Where long sequences are learnt, they count as much as short ones: else the best weights
        would be those from before they were met.
        """
        if not isinstance(model, Bert):
            raise TypeError(f"expected a Bert, got {type(model).__name__}")
        lengths = [self.files.length, *([self.files.long_length] if self.files.long_share else [])]
        found = [self.scores(model, self.tune, length) for length in lengths]
        if not all(each.is_finite for each in found):
            raise ConfigError(
                "the run diverged: the model's answers are no longer finite; "
                "lower optim.lr, or raise optim.eps or schedule.warmup_steps"
            )
        shown = {name: value for name, value in found[0].report().items() if "_" in name}
        if self.files.long_share:
            shown["long_mlm_loss"] = -found[-1].mean
        steering = sum(each.mean for each in found) / len(found)
        return {"tune_log_likelihood": steering, **{f"tune_{n}": v for n, v in shown.items()}}

    def scores(self, model: Bert, documents: DocumentText, length: int) -> MaskedScores:
        """All of some documents, hidden in the common way and always the same."""
        text = replace(self.text, ids=documents.ids, masking=Masking())
        slots = measured_slots(documents, length, pairs=self.pairs)
        return masked_scores(model, text.batch, slots)

    def _num_short_steps(self, steps_per_epoch: int) -> int:
        total = self.training.max_epochs * steps_per_epoch
        if self.training.max_steps is not None:
            total = min(total, self.training.max_steps)
        return total - round(self.files.long_share * total)

    def _cut(self, epoch: int, length: int) -> list[Slot]:
        """An epoch in batches of one length; those of the first and the latest one are kept."""
        key = (epoch, length)
        if key not in self._kept:
            for old in [old for old in self._kept if old[0] not in (0, epoch)]:
                del self._kept[old]
            self._kept[key] = self._drawn(epoch, length)
        return self._kept[key]

    def _drawn(self, epoch: int, length: int) -> list[Slot]:
        draw = np.random.default_rng([self.training.seed, epoch, length])
        part = self.train.part(epoch % self.files.rounds, self.files.rounds)
        found = part.pairs(length - 3, draw) if self.pairs else part.excerpts(length - 2)
        rows = bin_rows(found, length, salt=int(draw.integers(1 << 32)), draw=draw)
        if self.text.ordinary.is_cuda:
            rows = rows.pin_memory()  # or every step would wait for the one before it
        return bin_slots(rows, length, max(1, self.files.num_tokens // length))


def _times(slots: list[Slot], count: int) -> list[Slot]:
    """So many of them, from the beginning again where they are too few."""
    return [slots[place % len(slots)] for place in range(count)] if slots else []

"""Which word is hidden here, or comes next, and does this text follow that one?"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softquery.data import NONE, MaskedBatch
from softquery.models import MaskedOutput


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskedLanguageModel:
    """Predict hidden words from both sides, and whether two texts follow each other.

    From left to right nothing is hidden, and every next word is predicted.
    """

    left_to_right: bool = False
    name: ClassVar[str] = "masked-language-model"
    steers_by: ClassVar[str] = "log_likelihood"

    def loss(self, output: MaskedOutput, batch: MaskedBatch) -> Float[Tensor, ""]:
        """The sum of both mean losses (Devlin et al. 2019, A.2)."""
        words = -log_probabilities(output, batch).sum() / (batch.targets != NONE).sum().clamp(min=1)
        if output.follows is None:
            return words
        follows = F.cross_entropy(
            output.follows.float(), batch.follows, ignore_index=NONE, reduction="sum"
        )
        return words + follows / (batch.follows != NONE).sum().clamp(min=1)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": "left-to-right-language-model" if self.left_to_right else self.name}


def log_probabilities(output: MaskedOutput, batch: MaskedBatch) -> Float[Tensor, " M"]:
    """Log-probability of each hidden word; 0 at places that only fill up."""
    logits = output.logits.float()
    return -F.cross_entropy(logits, batch.targets, ignore_index=NONE, reduction="none")


@dataclass(slots=True)
class MaskedScores:
    """Sums over batches, and what can be said from them of each objective."""

    left_to_right: bool = False
    """Whether the words are those that come next, and not hidden ones."""
    log_likelihood: float = 0.0
    num_words: int = 0
    num_right: int = 0
    next_loss: float = 0.0
    num_pairs: int = 0
    num_pairs_right: int = 0

    def add(self, output: MaskedOutput, batch: MaskedBatch) -> None:
        """Count one batch."""
        counts = batch.targets != NONE
        self.log_likelihood += float(log_probabilities(output, batch).detach().double().sum())
        self.num_words += int(counts.sum())
        best = output.logits.argmax(dim=-1)
        self.num_right += int(((best == batch.targets) & counts).sum())
        if output.follows is not None:
            is_pair = batch.follows != NONE
            found = output.follows.detach().float()
            lost = F.cross_entropy(found, batch.follows, ignore_index=NONE, reduction="sum")
            self.next_loss += float(lost.double())
            self.num_pairs += int(is_pair.sum())
            self.num_pairs_right += int(((found.argmax(dim=1) == batch.follows) & is_pair).sum())

    @property
    def mean(self) -> float:
        """Log-likelihood of a word in nats."""
        return self.log_likelihood / max(1, self.num_words)

    @property
    def perplexity(self) -> float:
        """Of the words that were predicted.

        >>> round(MaskedScores(log_likelihood=-2 * math.log(8), num_words=2).perplexity, 6)
        8.0
        """
        return math.exp(min(-self.mean, 700.0))

    @property
    def is_finite(self) -> bool:
        """Whether the model gave every hidden word a probability."""
        return math.isfinite(self.log_likelihood)

    def report(self) -> dict[str, float | int]:
        """Loss and accuracy of each objective; `n` counts the words that were predicted.

        Only from left to right do the probabilities of all words multiply to that of the text,
        whose perplexity is therefore told.

        >>> scores = MaskedScores(log_likelihood=-3.0, num_words=2, num_right=1)
        >>> scores.report()
        {'mlm_loss': 1.5, 'mlm_accuracy': 0.5, 'n': 2}
        >>> sorted(MaskedScores(log_likelihood=-3.0, num_words=2, left_to_right=True).report())
        ['lm_accuracy', 'lm_loss', 'n', 'perplexity']
        """
        if self.left_to_right:
            return {
                "lm_loss": -self.mean,
                "perplexity": self.perplexity,
                "lm_accuracy": self.num_right / max(1, self.num_words),
                "n": self.num_words,
            }
        found: dict[str, float | int] = {
            "mlm_loss": -self.mean,
            "mlm_accuracy": self.num_right / max(1, self.num_words),
        }
        if self.num_pairs:
            found["nsp_loss"] = self.next_loss / self.num_pairs
            found["nsp_accuracy"] = self.num_pairs_right / self.num_pairs
            found["pairs"] = self.num_pairs
        return {**found, "n": self.num_words}

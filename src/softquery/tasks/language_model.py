"""What comes next, read from either side: the loss of pretraining, and perplexity.

The softmax itself, in full, sampled, adaptive or spelt out, is a layer of the model, for it has
weights (`softquery.nn.WordSoftmax`, `AdaptiveSoftmax`).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor

from softquery.data import StreamBatch
from softquery.models import LanguageModelOutput
from softquery.text import BOS_ID, EOS_ID, UNK_ID


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageModel:
    """Predict each word from those before it, and from those after it."""

    name: ClassVar[str] = "language-model"
    steers_by: ClassVar[str] = "log_likelihood"

    def loss(self, output: LanguageModelOutput, batch: StreamBatch) -> Float[Tensor, ""]:
        """Mean negative log-likelihood over both directions (Peters et al. 2018, Section 3.1)."""
        return -0.5 * (output.forwards.mean() + output.backwards.mean())

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name}


@dataclass(slots=True)
class Likelihood:
    """Sums of log-likelihood over a text, and what can be said from them.

    `<unk>` stands for all words outside of the vocabulary and counts as one word like any other.
    The end of a line that a direction meets counts; the one from which it sets out next, which is
    no news, does not.
    """

    forwards: float = 0.0
    backwards: float = 0.0
    num_forwards: int = 0
    num_backwards: int = 0
    num_unknown: int = 0
    """Of the words that were predicted forwards."""

    def add(self, output: LanguageModelOutput, batch: StreamBatch) -> None:
        """Count one batch."""
        ahead, back = batch.forward_targets != BOS_ID, batch.backward_targets != EOS_ID
        self.forwards += float(output.forwards.double()[ahead].sum())
        self.backwards += float(output.backwards.double()[back].sum())
        self.num_forwards += int(ahead.sum())
        self.num_backwards += int(back.sum())
        self.num_unknown += int((batch.forward_targets == UNK_ID).sum())

    @property
    def mean(self) -> float:
        """Log-likelihood of a word in nats, mean of both directions."""
        return 0.5 * (
            self.forwards / max(1, self.num_forwards) + self.backwards / max(1, self.num_backwards)
        )

    @property
    def is_finite(self) -> bool:
        """Whether the model gave every word a probability."""
        return math.isfinite(self.forwards) and math.isfinite(self.backwards)

    def report(self) -> dict[str, float | int]:
        """Perplexities with what they depend on.

        >>> half = Likelihood(forwards=-2 * math.log(4), num_forwards=2,
        ...                   backwards=-2 * math.log(9), num_backwards=2, num_unknown=1)
        >>> {name: round(value, 3) for name, value in half.report().items()}
        {'perplexity': 6.0, 'perplexity_forwards': 4.0, 'perplexity_backwards': 9.0, \
'unknown_share': 0.5, 'n': 2}
        """
        return {
            "perplexity": _exp(-self.mean),
            "perplexity_forwards": _exp(-self.forwards / max(1, self.num_forwards)),
            "perplexity_backwards": _exp(-self.backwards / max(1, self.num_backwards)),
            "unknown_share": self.num_unknown / max(1, self.num_forwards),
            "n": self.num_forwards,
        }


def _exp(nats: float) -> float:
    """A perplexity that no float can hold is the largest one."""
    return math.exp(min(nats, 700.0))

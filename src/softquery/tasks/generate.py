"""What is to be written for a text: the loss of teacher forcing, and perplexity."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softquery.data import TranslationBatch
from softquery.models import GeneratorOutput
from softquery.text import PAD_ID


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """Predict each token of the target from the source and the tokens before it."""

    name: ClassVar[str] = "generate"
    steers_by: ClassVar[str] = "log_likelihood"
    smoothing: float = 0.1
    """Share of probability that the loss spreads over the vocabulary (Szegedy et al. 2016, Section
    7; Vaswani et al. 2017, Section 5.4)."""

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")

    def loss(self, output: GeneratorOutput, batch: TranslationBatch) -> Float[Tensor, ""]:
        """Mean smoothed cross-entropy of a token, the end included; padding does not count."""
        return F.cross_entropy(
            output.logits.flatten(end_dim=1).float(),
            batch.labels.flatten(),
            ignore_index=PAD_ID,
            label_smoothing=self.smoothing,
        )

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name}


@dataclass(slots=True)
class TokenLikelihood:
    """Sums over many targets, and what can be said from them; nothing is smoothed.

    The end of a target counts as a token: to know when to stop is part of the answer.
    """

    log_likelihood: float = 0.0
    num_tokens: int = 0
    num_right: int = 0
    """Tokens that were the likeliest ones."""
    num_targets: int = 0

    def add(self, output: GeneratorOutput, batch: TranslationBatch) -> None:
        """Count one batch."""
        labels, logits = batch.labels, output.logits.float()
        is_real = labels != PAD_ID
        lost = F.cross_entropy(
            logits.flatten(end_dim=1), labels.flatten(), ignore_index=PAD_ID, reduction="none"
        )
        self.log_likelihood -= float(lost.double().sum())
        self.num_tokens += int(is_real.sum())
        self.num_right += int(((logits.argmax(dim=-1) == labels) & is_real).sum())
        self.num_targets += batch.size

    @property
    def mean(self) -> float:
        """Log-likelihood of a token in nats."""
        return self.log_likelihood / max(1, self.num_tokens)

    def report(self) -> dict[str, float | int]:
        """Perplexity per token with what it depends on.

        >>> two = TokenLikelihood(log_likelihood=-4 * math.log(8), num_tokens=4, num_right=3,
        ...                       num_targets=2)
        >>> {name: round(value, 3) for name, value in two.report().items()}
        {'perplexity': 8.0, 'token_accuracy': 0.75, 'num_tokens': 4, 'n': 2}
        """
        return {
            "perplexity": math.exp(min(-self.mean, 700.0)),
            "token_accuracy": self.num_right / max(1, self.num_tokens),
            "num_tokens": self.num_tokens,
            "n": self.num_targets,
        }

"""What is to be written for a text: the loss of teacher forcing, and perplexity."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softquery.data import TranslationBatch
from softquery.measure import BleuTokens
from softquery.models import GeneratorOutput
from softquery.text import PAD_ID

Steer = Literal["log_likelihood", "bleu"]
Form = Literal["free", "couplet"]


Vocabularies = Literal["shared", "separate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateSettings:
    """How sources and targets stand in files, make batches, and how targets are searched for."""

    key: ClassVar[str] = "writing"
    """Under which it stands in `--set` and in `run.json`."""
    languages: tuple[str, ...] = ()
    """Endings of two files that stand line by line, the source's first: `de,en` for train.de and
    train.en. Without them, rows have `source` and `target`."""
    vocabularies: Vocabularies = "shared"
    """One for both sides, or one for each, of `vocabulary.size` entries."""
    batch_tokens: int = 4096
    """Tokens of a batch on either side, padding included."""
    beam: int = 5
    """Width of the search by which dev is measured, beside greedy."""
    length_penalty: float = 1.0
    """Of that search; see `softquery.decoding.Ranking`."""

    def __post_init__(self) -> None:
        if len(self.languages) not in (0, 2) or len(set(self.languages)) != len(self.languages):
            raise ValueError(f"languages must be two endings, or none, got {self.languages}")
        if self.vocabularies not in get_args(Vocabularies):
            raise ValueError(
                f"vocabularies must be one of {get_args(Vocabularies)}, got {self.vocabularies!r}"
            )
        if self.batch_tokens < 1 or self.beam < 1 or not self.length_penalty >= 0:
            raise ValueError(
                "batch_tokens and beam must be positive, and length_penalty not negative"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """Predict each token of the target from the source and the tokens before it."""

    name: ClassVar[str] = "generate"
    smoothing: float = 0.1
    """Share of probability that the loss spreads over the vocabulary (Szegedy et al. 2016, Section
    7; Vaswani et al. 2017, Section 5.4)."""
    steer: Steer = "log_likelihood"
    """What the run is steered by: held-back tokens' log-likelihood, or BLEU of greedy answers."""
    bleu: BleuTokens = "13a"
    """How sacrebleu cuts texts into words; `"none"` measures no BLEU."""
    form: Form = "free"
    """`"couplet"` for lines that keep to the form of the line that they answer."""

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        for name, choices in (("steer", Steer), ("bleu", BleuTokens), ("form", Form)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(
                    f"{name} must be one of {get_args(choices)}, got {getattr(self, name)!r}"
                )
        if self.steer == "bleu" and self.bleu == "none":
            raise ValueError("a run cannot be steered by BLEU where none is measured")

    @property
    def steers_by(self) -> str:
        """The metric by which the best weights are chosen."""
        return self.steer

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
        return {"name": self.name, "bleu": self.bleu, "form": self.form}

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "Generation":
        """The task that a bundle's config names."""
        return cls(bleu=config.get("bleu", "13a"), form=config.get("form", "free"))


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
        lost = token_losses(output, batch)
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


def token_losses(output: GeneratorOutput, batch: TranslationBatch) -> Float[Tensor, "B T"]:
    """What each token of the targets cost, in nats; padding costs nothing."""
    lost = F.cross_entropy(
        output.logits.float().flatten(end_dim=1),
        batch.labels.flatten(),
        ignore_index=PAD_ID,
        reduction="none",
    )
    return lost.view_as(batch.labels)

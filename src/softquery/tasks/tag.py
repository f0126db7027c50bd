"""A tag for every word: loss and metric, with tags scored one by one or as a chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softquery.answers import TagSet
from softquery.data import TextBatch, WordPieceBatch
from softquery.measure import TagReport
from softquery.models import TagOutput
from softquery.nn import log_likelihood

Tags = Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TagSettings:
    """How tags are written in files, and how they are learnt."""

    key: ClassVar[str] = "tags"
    """Under which it stands in `--set` and in `run.json`."""
    given: Literal["auto", "plain", "iob1", "iob2", "bioes", "bmes"] = "auto"
    """`"auto"` looks at the training file; `"plain"` tags stand for no spans."""
    learnt: Literal["iob1", "iob2", "bioes", "bmes"] = "bioes"
    decoding: Literal["legal", "any"] = "legal"
    """Whether only sequences of tags that the scheme allows are answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagging:
    """Every word has one of several tags."""

    name: ClassVar[str] = "tag"
    tags: TagSet

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags."""
        return self.tags.labels

    @property
    def output_size(self) -> int:
        """One logit a tag."""
        return len(self.tags.labels)

    @property
    def steers_by(self) -> str:
        """F1 of spans; accuracy of words where tags stand for none."""
        return "f1" if self.tags.has_spans else "accuracy"

    def loss(self, output: TagOutput, batch: TextBatch | WordPieceBatch) -> Float[Tensor, ""]:
        """Negative log-likelihood of a sentence's tags, mean over sentences.

        With transitions it is that of the whole sequence (Lample et al. 2016, Section 2.2), without
        them the sum over its words.
        """
        if batch.label is None:
            raise ValueError("a loss needs tags, and this batch has none")
        if output.transitions is not None:
            chances = log_likelihood(output.logits, batch.label, output.mask, output.transitions)
            return -chances.mean()
        logits = output.logits.flatten(end_dim=1).float()
        losses = F.cross_entropy(logits, batch.label.flatten(), reduction="none")
        return (losses.view_as(batch.label) * output.mask).sum(dim=1).mean()

    def report(self, gold: Tags, predicted: Tags, *, num_samples: int = 1000) -> dict[str, Any]:
        """Spans found whole, and words, both in tags of the model's own scheme."""
        if not self.tags.has_spans:
            return TagReport.of(gold, predicted, num_samples=num_samples).to_dict()
        return TagReport.of(
            gold,
            predicted,
            gold_spans=[self.tags.spans(tags) for tags in gold],
            predicted_spans=[self.tags.spans(tags) for tags in predicted],
            num_samples=num_samples,
        ).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name, **self.tags.to_dict()}

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "Tagging":
        """The task that a bundle's config names."""
        return cls(tags=TagSet.from_dict(config))

"""The part of a context that answers a question: loss, and how answers are measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softquery.answers import ReadingRules
from softquery.data import PieceBatch, QuestionBatch
from softquery.measure import ReadReport
from softquery.nn import SpanOutput
from softquery.tasks.agreement import check_consistency, disagreement


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadSettings(ReadingRules):
    """How questions are answered, and how that is learnt."""

    key: ClassVar[str] = "reading"
    """Under which it stands in `--set` and in `run.json`."""
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout (R-Drop)."""

    def __post_init__(self) -> None:
        ReadingRules.__post_init__(self)
        if self.consistency != 0:
            check_consistency(self.consistency)

    @property
    def rules(self) -> ReadingRules:
        """What a bundle says of itself."""
        given = {each.name: getattr(self, each.name) for each in fields(ReadingRules)}
        return ReadingRules(**given)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanReading:
    """Every question is answered by a span of its context, or by none where that is learnt."""

    name: ClassVar[str] = "read"
    output_size: ClassVar[int] = 2
    steers_by: ClassVar[str] = "f1"
    rules: ReadingRules
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout; batches then hold each
    window twice (R-Drop, Liang et al. 2021, Section 2.1)."""

    def __post_init__(self) -> None:
        if self.consistency != 0:
            check_consistency(self.consistency)

    def loss(self, output: SpanOutput, batch: QuestionBatch | PieceBatch) -> Float[Tensor, ""]:
        """Negative log-likelihood of beginning and end, mean over windows (Seo et al. 2017, Eq. 5).

        "No answer" is a place before the first word, where it is learnt. Where two passes are to
        agree, how far they disagree about either end is added.
        """
        if batch.label is None:
            raise ValueError("a loss needs answers, and this batch has none")
        first, last = batch.label.unbind(dim=1)
        start, end = output.start, output.end
        if output.none is not None:
            nowhere = output.none.float().expand(len(first), 2)
            start = torch.cat([nowhere[:, :1], start], dim=1)
            end = torch.cat([nowhere[:, 1:], end], dim=1)
            first, last = first + 1, last + 1
        loss = F.cross_entropy(start, first) + F.cross_entropy(end, last)
        if self.consistency == 0:
            return loss
        return loss + self.consistency * (disagreement(start) + disagreement(end))

    def report(
        self,
        gold: Sequence[Sequence[str]],
        predicted: Sequence[str | None],
        *,
        num_samples: int = 1000,
    ) -> dict[str, Any]:
        """Exact match and F1, with intervals."""
        counting = self.rules.counting
        found = ReadReport.of(predicted, gold, counting=counting, num_samples=num_samples)
        return found.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name, **self.rules.to_dict()}

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "SpanReading":
        """The task that a bundle's config names."""
        return cls(rules=ReadingRules.from_dict(config))

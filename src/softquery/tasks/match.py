"""What two sentences are to each other: classes (two or many), or a grade.

Both tasks answer the same questions: how many logits they need, how a label is read and written,
the loss, the probabilities, and which metric a run is steered by. They hold no parameters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from softquery.answers import parse_class, parse_distribution, parse_grade
from softquery.data import PairBatch, PieceBatch
from softquery.measure import GradedReport, MatchReport
from softquery.models import PairOutput


def _labels_of(batch: PairBatch | PieceBatch) -> Tensor:
    if batch.label is None:
        raise ValueError("a loss needs labels, and this batch has none")
    return batch.label


def disagreement(logits: Float[Tensor, "B C"]) -> Float[Tensor, ""]:
    """How far two passes over the same pairs differ: the mean of both Kullback-Leibler divergences.

    The first half of the rows is one pass, the second half the other (Liang et al. 2021, Eq. 2).
    """
    one, other = logits.log_softmax(dim=-1).chunk(2)
    return 0.5 * (
        F.kl_div(one, other, reduction="batchmean", log_target=True)
        + F.kl_div(other, one, reduction="batchmean", log_target=True)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PairClassification:
    """A pair belongs to one of several classes.

    >>> PairClassification(labels=("0", "1")).parse_label("1")
    1
    """

    name: ClassVar[str] = "match"
    steers_by: ClassVar[str] = "accuracy"
    labels: tuple[str, ...]
    smoothing: float = 0.0
    """Label smoothing of the loss (Szegedy et al. 2016, Section 7)."""
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout; batches then hold each
    pair twice (R-Drop, Liang et al. 2021, Section 2.1)."""
    symmetric: bool = False
    """The answer does not depend on which sentence comes first: training shows both orders, and of
    two passes that are to agree the second reads the pair the other way round."""

    def __post_init__(self) -> None:
        if len(set(self.labels)) < 2 or len(set(self.labels)) != len(self.labels):
            raise ValueError(f"labels must be two or more different names, got {self.labels}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")

    @property
    def output_size(self) -> int:
        """One logit a class."""
        return len(self.labels)

    def parse_label(self, text: str) -> int:
        """The class id of a label, or `ValueError` naming the ones that are known."""
        return parse_class(text, self.labels)

    def parse_distribution(self, text: str) -> list[float]:
        """A distribution over the classes, in their order, or `ValueError` saying what is wrong."""
        return parse_distribution(text, self.labels)

    def loss(self, output: PairOutput, batch: PairBatch | PieceBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy, smoothed where asked, plus the two passes' disagreement.

        Labels may be classes or distributions (Hinton et al. 2015, Section 2).
        """
        label = _labels_of(batch)
        loss = F.cross_entropy(output.logits, label, label_smoothing=self.smoothing)
        if self.consistency == 0:
            return loss
        return loss + self.consistency * disagreement(output.logits)

    def loss_of_logits(
        self, logits: Float[Tensor, "B C"], label: Int[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy without smoothing, for measuring."""
        return F.cross_entropy(logits, label)

    def probabilities(self, logits: Float[Tensor, "B C"]) -> Float[Tensor, "B C"]:
        """A distribution over the classes."""
        return logits.float().softmax(dim=-1)

    def report(self, gold: NDArray[Any], probabilities: NDArray[Any]) -> dict[str, Any]:
        """Accuracy and its kin."""
        return MatchReport.of(gold, probabilities, self.labels).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name, "labels": list(self.labels)}


@dataclass(frozen=True, kw_only=True, slots=True)
class PairGrading:
    """A pair has a grade between `low` and `high`, as in semantic similarity.

    >>> PairGrading(low=0, high=5).parse_label("2.5")
    0.5
    """

    name: ClassVar[str] = "grade"
    steers_by: ClassVar[str] = "spearman"
    low: float = 0.0
    high: float = 5.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low must be under high, got {self.low} and {self.high}")

    @property
    def output_size(self) -> int:
        """One logit."""
        return 1

    def parse_label(self, text: str) -> float:
        """The grade as a share of the scale, or `ValueError` naming the scale."""
        return parse_grade(text, self.low, self.high)

    def loss(self, output: PairOutput, batch: PairBatch | PieceBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy of the squashed logit against the grade's share of the scale."""
        return self.loss_of_logits(output.logits, _labels_of(batch))

    def loss_of_logits(
        self, logits: Float[Tensor, "B 1"], label: Float[Tensor, " B"]
    ) -> Float[Tensor, ""]:
        """The same, without a batch."""
        return F.binary_cross_entropy_with_logits(logits.squeeze(-1), label.to(logits.dtype))

    def probabilities(self, logits: Float[Tensor, "B 1"]) -> Float[Tensor, "B 1"]:
        """The grade's share of the scale."""
        return torch.sigmoid(logits.float())

    def report(self, gold: NDArray[Any], probabilities: NDArray[Any]) -> dict[str, Any]:
        """Correlation with the gold grades."""
        return GradedReport.of(gold, probabilities[:, 0]).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name, "low": self.low, "high": self.high}


PairTask = PairClassification | PairGrading


def task_from_dict(config: Mapping[str, Any]) -> PairTask:
    """The task that a bundle's config names.

    >>> task_from_dict({"name": "match", "labels": ["0", "1"]}).output_size
    2
    """
    name = config.get("name")
    try:
        if name == PairClassification.name:
            return PairClassification(labels=tuple(config["labels"]))
        if name == PairGrading.name:
            return PairGrading(low=config["low"], high=config["high"])
    except KeyError as error:
        raise ValueError(f"task {name} lacks {error}") from None
    raise ValueError(f"task must be match or grade, got {name!r}")

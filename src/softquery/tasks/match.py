"""What two sentences are to each other: classes (two or many), or a grade.

Both tasks answer the same questions: how many logits they need, how a label is read and written,
the loss, the probabilities, and which metric a run is steered by. They hold no parameters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int, Shaped
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from softquery.answers import parse_class, parse_distribution, parse_grade
from softquery.data import NO_LABEL, PairBatch, PieceBatch
from softquery.measure import GradedReport, MatchReport
from softquery.models import PairOutput
from softquery.tasks.agreement import check_consistency, disagreement

TEMPERATURE = 0.05
"""By which cosines are divided when a sentence looks for its partner in the batch."""


def _labels_of(batch: PairBatch | PieceBatch) -> Tensor:
    if batch.label is None:
        raise ValueError("a loss needs labels, and this batch has none")
    return batch.label


def contrast_in_batch(output: PairOutput, label: Shaped[Tensor, "B *C"]) -> Float[Tensor, ""]:
    """How well each first sentence of a pair that belongs together finds its second in the batch.

    Cross-entropy over the cosines with every second sentence, scaled by 1 / 0.05: those of other
    pairs and of pairs that do not belong together are what it must not find (van den Oord et al.
    2018, Eq. 4; in batches as Henderson et al. 2017).
    """
    if output.first_vector is None or output.second_vector is None:
        raise ValueError("contrast needs one vector per sentence, as siamese gives it")
    first, second = (
        F.normalize(vector.float(), dim=-1)
        for vector in (output.first_vector, output.second_vector)
    )
    scores = first @ second.T / TEMPERATURE  # [B, B]
    own = torch.arange(len(scores), device=scores.device)
    losses = F.cross_entropy(scores, own, reduction="none")
    # Weighed, not chosen, so that shapes stay as they are; a teacher's opinion weighs as well.
    together = (label == 1).to(losses.dtype) if label.ndim == 1 else label[:, 1]
    return (losses * together).sum() / together.sum().clamp(min=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairClassification:
    """A pair belongs to one of several classes.

    >>> PairClassification(labels=("0", "1")).parse_label("1")
    1
    """

    name: ClassVar[str] = "match"
    labels: tuple[str, ...]
    steers_by: Literal["accuracy", "auc"] = "accuracy"
    """By which held-back metric the best weights are chosen; `"auc"` for two classes that are to be
    ranked, and of which one is rare."""
    smoothing: float = 0.0
    """Label smoothing of the loss (Szegedy et al. 2016, Section 7)."""
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout; batches then hold each
    pair twice (R-Drop, Liang et al. 2021, Section 2.1)."""
    contrast: float = 0.0
    """Weight of finding one's partner among all second sentences of the batch: for vectors that are
    to be searched. Two classes, of which the second one belongs together."""
    symmetric: bool = False
    """The answer does not depend on which sentence comes first: training shows both orders, and of
    two passes that are to agree the second reads the pair the other way round."""

    def __post_init__(self) -> None:
        if len(set(self.labels)) < 2 or len(set(self.labels)) != len(self.labels):
            raise ValueError(f"labels must be two or more different names, got {self.labels}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        if self.consistency != 0:
            check_consistency(self.consistency)
        if self.contrast < 0 or (self.contrast and len(self.labels) != 2):
            raise ValueError("contrast must be 0 or more, and is for two labels")
        if self.steers_by not in ("accuracy", "auc"):
            raise ValueError(f"steers_by must be accuracy or auc, got {self.steers_by!r}")
        if self.steers_by == "auc" and len(self.labels) != 2:
            raise ValueError(f"auc is for two labels, got {len(self.labels)}")

    @property
    def output_size(self) -> int:
        """One logit per class."""
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
        return loss + self.further_loss(output, label)

    def further_loss(
        self, output: PairOutput, label: Shaped[Tensor, "B *C"]
    ) -> Float[Tensor, ""] | float:
        """What is learnt besides the label: to find one's partner, and to agree with oneself."""
        further: Tensor | float = 0.0
        if self.contrast > 0:
            further = further + self.contrast * contrast_in_batch(output, label)
        if self.consistency > 0:
            further = further + self.consistency * disagreement(output.logits)
        return further

    def gold_losses(
        self, logits: Float[Tensor, "B C"], label: Int[Tensor, " B"]
    ) -> Float[Tensor, " B"]:
        """The cross-entropy of each pair; 0 where there is no label."""
        return F.cross_entropy(
            logits, label, label_smoothing=self.smoothing, ignore_index=NO_LABEL, reduction="none"
        )

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
        """The loss of logits against shares of the scale."""
        return F.binary_cross_entropy_with_logits(logits.squeeze(-1), label.to(logits.dtype))

    def further_loss(self, output: PairOutput, label: Shaped[Tensor, "B *C"]) -> float:
        """Nothing is learnt besides the grade."""
        return 0.0

    def gold_losses(
        self, logits: Float[Tensor, "B 1"], label: Float[Tensor, " B"]
    ) -> Float[Tensor, " B"]:
        """The cross-entropy of each pair; 0 where there is no grade."""
        known = ~label.isnan()
        losses = F.binary_cross_entropy_with_logits(
            logits.squeeze(-1), label.nan_to_num().to(logits.dtype), reduction="none"
        )
        return losses.where(known, torch.zeros_like(losses))

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


def centred(logits: Float[Tensor, "B C"]) -> Float[Tensor, "B C"]:
    """Logits of classes less their mean, which says nothing; one logit as it is.

    >>> centred(torch.tensor([[1.0, 2.0, 6.0]])).tolist(), centred(torch.tensor([[4.0]])).tolist()
    ([[-2.0, -1.0, 3.0]], [[4.0]])
    """
    return logits if logits.shape[-1] == 1 else logits - logits.mean(dim=-1, keepdim=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillSettings:
    """How a matcher learns from a teacher's logits."""

    key: ClassVar[str] = "distill"
    gold_weight: float = 1.0
    """Of the cross-entropy of pairs that have a label of their own, beside the teacher's opinion
    of them."""
    most_tuned: int = 10_000
    """About the most pairs that are held back to steer by."""

    def __post_init__(self) -> None:
        if not 0 <= self.gold_weight < float("inf"):
            raise ValueError(f"gold_weight must not be negative, got {self.gold_weight}")
        if self.most_tuned < 1:
            raise ValueError(f"most_tuned must be at least 1, got {self.most_tuned}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PairDistillation:
    """The student's logits approach a teacher's (Ba & Caruana 2014, Section 2.2).

    The squared error of the logits, less the mean of each pair's, since a constant that is added
    to all of them changes no probability. Where a pair has a label, its cross-entropy is added.

    Use when: a cross-encoder's logits of many unlabelled pairs are at hand. Compare:
    `PairClassification` takes a teacher's probabilities in place of labels, which say nothing
    about how far behind the classes are that it rules out.
    """

    task: PairTask
    """What the logits mean; with the teacher's labels."""
    gold_weight: float = 1.0

    def loss(self, output: PairOutput, batch: PairBatch | PieceBatch) -> Float[Tensor, ""]:
        """The mean over the pairs, with what the task learns besides labels."""
        if batch.taught is None:
            raise ValueError("a loss needs the teacher's logits, and this batch has none")
        loss = F.mse_loss(centred(output.logits), centred(batch.taught))
        if self.gold_weight > 0:
            gold = self.task.gold_losses(output.logits, _labels_of(batch))
            loss = loss + self.gold_weight * gold.mean()
        return loss + self.task.further_loss(output, self.task.probabilities(batch.taught))


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

"""What a text is: one of several classes, such as a sentiment, a topic, or a relation in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from softquery.answers import parse_class, parse_distribution
from softquery.data import DocumentBatch, TextBatch
from softquery.measure import ClassMetric, ClassReport, class_score, relations_of
from softquery.models import ClassOutput
from softquery.tasks.agreement import check_consistency, disagreement


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassifySettings:
    """How classes of texts are learnt, where they are the ones found in the training file."""

    key: ClassVar[str] = "classes"
    """Under which it stands in `--set` and in `run.json`."""
    metric: ClassMetric = "accuracy"
    """By which the run is steered."""
    smoothing: float = 0.0
    """Label smoothing of the loss."""
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout (R-Drop)."""

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        check_consistency(self.consistency)


@dataclass(frozen=True, kw_only=True, slots=True)
class TextClassification:
    """A text belongs to one of several classes.

    >>> TextClassification(labels=("negative", "positive")).parse_label("positive")
    1
    """

    name: ClassVar[str] = "classify"
    labels: tuple[str, ...]
    smoothing: float = 0.0
    """Label smoothing of the loss (Szegedy et al. 2016, Section 7)."""
    consistency: float = 0.0
    """Weight of the agreement between two passes with different dropout; batches then hold each
    text twice (R-Drop, Liang et al. 2021, Section 2.1)."""
    metric: ClassMetric = "accuracy"
    """By which a run is steered; `"relation_f1"` reads labels as relations with a direction."""

    def __post_init__(self) -> None:
        if len(set(self.labels)) < 2 or len(set(self.labels)) != len(self.labels):
            raise ValueError(f"labels must be two or more different names, got {self.labels}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        check_consistency(self.consistency)
        if self.metric not in get_args(ClassMetric):
            known = ", ".join(get_args(ClassMetric))
            raise ValueError(f"metric must be one of {known}, got {self.metric!r}")
        if self.metric == "relation_f1" and not relations_of(self.labels):
            raise ValueError(f"labels must name a relation, got {self.labels}")

    @property
    def steers_by(self) -> str:
        """The metric."""
        return self.metric

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

    def loss(self, output: ClassOutput, batch: TextBatch | DocumentBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy, smoothed where asked, plus the two passes' disagreement.

        Labels may be classes or a teacher's distributions (Hinton et al. 2015, Section 2).
        """
        if batch.label is None:
            raise ValueError("a loss needs labels, and this batch has none")
        loss = F.cross_entropy(output.logits, batch.label, label_smoothing=self.smoothing)
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

    def score(self, gold: NDArray[Any], predicted: NDArray[Any]) -> float:
        """The metric of predicted class ids."""
        return class_score(gold, predicted, self.labels, self.metric)

    def report(self, gold: NDArray[Any], probabilities: NDArray[Any]) -> dict[str, Any]:
        """Accuracy and its kin, and what else the run is steered by."""
        return ClassReport.of(gold, probabilities, self.labels, metric=self.metric).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name, "labels": list(self.labels), "metric": self.metric}

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> "TextClassification":
        """The task that a bundle's config names."""
        return cls(labels=tuple(config["labels"]), metric=config.get("metric", "accuracy"))

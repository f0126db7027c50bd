"""A vector for a sentence: learnt from the vectors that a larger model, the teacher, gives.

B sentences, E width of a vector, P width of a prefix of it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn import functional as F

from softquery.data import TaughtBatch
from softquery.models import SentenceOutput


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """A text's partner is to be nearer than every other text (Henderson et al. 2017, Section 4.4).

    Use when: pairs that mean the same are known. Compare: `SentenceDistillation` alone learns what
    the teacher sees; this learns what the pairs say.

    Differs from paper: other texts that the teacher sees about as near as the partner may mean the
    same, and do not count.
    """

    weight: float = 1.0
    temperature: float = 0.05
    margin: float = 0.05
    """How much nearer, in the teacher's eyes, the partner must be than a text that counts ..."""
    floor: float = 0.6
    """... but a text whose cosine is lower than this counts in any case."""

    def loss(
        self, found: Float[Tensor, "B E"], wanted: Float[Tensor, "B E"], num_sides: int
    ) -> Float[Tensor, ""]:
        """The mean over the texts of the first block.

        Args:
            found: The student's vectors, in blocks.
            wanted: The teacher's.
            num_sides: How many blocks: texts, their partners, and negatives.

        >>> same = torch.eye(2).repeat(2, 1)
        >>> round(float(Contrast(temperature=1.0).loss(same, same, 2)), 3)  # softmax of 1 and 0
        0.313
        """
        count = len(found) // num_sides
        scores = found[:count] @ found[count:].T / self.temperature  # [A, B - A]
        seen = wanted[:count] @ wanted[count:].T
        own = torch.eye(count, len(seen.T), dtype=torch.bool, device=seen.device)
        partner = seen.diagonal()[:, None]
        doubtful = (seen > (partner - self.margin).clamp(min=self.floor)) & ~own
        answers = torch.arange(count, device=seen.device)
        return self.weight * F.cross_entropy(scores.masked_fill(doubtful, -torch.inf), answers)


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelContrast:
    """Texts of a label are to be nearer to each other than to those of other labels.

    Supervised contrastive learning (Khosla et al. 2020, Eq. 2), in place of SetFit's squared error
    of the cosines of drawn pairs (Tunstall et al. 2022, Section 3.1): all pairs of a batch count.

    Use when: few labelled texts are to bend a sentence encoder. Compare: `Contrast` knows pairs
    that mean the same, and no labels.
    """

    temperature: float = 0.1

    def loss(self, vectors: Float[Tensor, "B E"], labels: Int64[Tensor, "B"]) -> Float[Tensor, ""]:
        """The mean over texts of which another one of the batch has the label.

        >>> one, other = torch.eye(2)
        >>> texts, labels = torch.stack([one, one, other, other]), torch.tensor([0, 0, 1, 1])
        >>> round(float(LabelContrast(temperature=1.0).loss(texts, labels)), 3)  # e / (e + 2)
        0.551
        """
        own = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        scores = (vectors @ vectors.T / self.temperature).masked_fill(own, -torch.inf)
        same = (labels[:, None] == labels[None]) & ~own  # [B, B]
        chances = scores.log_softmax(dim=-1).masked_fill(~same, 0)
        counts = same.sum(dim=-1)
        return -(chances.sum(dim=-1) / counts.clamp(min=1))[counts > 0].mean()


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceDistillation:
    """The student's vectors approach the teacher's, one by one and in their likeness to others.

    Use when: a teacher's vectors of many unlabelled texts are at hand. Compare: `PairGrading`
    learns likeness from labelled pairs.

    The cosine to the teacher's vector (Reimers & Gurevych 2020, Section 2, with cosine for the
    squared distance) is what remains to be learnt of a text by itself. How alike texts of a batch
    are is compared as a distribution over the other texts, as the teacher's and the student's
    softmax of cosines see it (Fang et al. 2021, Section 3.2, with the batch for its queue). The
    second term is taken for every prefix, so that a vector can be cut (Kusupati et al. 2022,
    Eq. 1). A softmax does not see by how much all cosines of a row are too high; where thresholds
    matter, a third term compares the cosines themselves, each as much as its texts are alike.

    >>> SentenceDistillation(output_size=384, prefixes=(128,)).widths
    (128, 384)
    """

    name: ClassVar[str] = "encode"
    output_size: int
    """Width of a vector."""
    prefixes: tuple[int, ...] = ()
    """Widths at which a vector may be cut, besides its own."""
    cosine_weight: float = 10.0
    likeness_weight: float = 1.0
    closeness_weight: float = 0.0
    """Of the squared differences between the cosines of near texts."""
    temperature: float = 0.05
    """Of both softmaxes; the lower, the more the nearest texts count."""
    contrast: Contrast | None = None
    """What batches of pairs teach besides."""

    def __post_init__(self) -> None:
        if list(self.prefixes) != sorted(set(self.prefixes)):
            raise ValueError(f"prefixes must grow, got {self.prefixes}")
        if self.prefixes and not 0 < self.prefixes[0] <= self.prefixes[-1] < self.output_size:
            raise ValueError(
                f"prefixes must lie between 0 and the width {self.output_size}, got {self.prefixes}"
            )
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}")
        if min(self.cosine_weight, self.likeness_weight, self.closeness_weight) < 0:
            raise ValueError("the weights of the terms must not be negative")

    @property
    def steers_by(self) -> str:
        """The mean cosine between the student's vectors and the teacher's."""
        return "cosine"

    @property
    def widths(self) -> tuple[int, ...]:
        """Every width at which vectors are compared, the whole one last."""
        return (*self.prefixes, self.output_size)

    def loss(self, output: SentenceOutput, batch: TaughtBatch) -> Float[Tensor, ""]:
        """The mean of the terms over the batch."""
        if batch.vectors is None:
            raise ValueError("a loss needs the teacher's vectors, and this batch has none")
        found, wanted = output.vectors, batch.vectors
        loss = found.new_zeros(())
        if self.cosine_weight:  # otherwise both may lie in spaces of their own, of any width
            loss = self.cosine_weight * (1 - (found * wanted).sum(dim=-1)).mean()
        if self.contrast is not None and batch.num_sides > 1:
            loss = loss + self.contrast.loss(found, wanted, batch.num_sides)
        compares = self.likeness_weight > 0 or self.closeness_weight > 0
        if not compares or len(found) < 3:  # with one other text there is no choice
            return loss
        seen = _others(wanted @ wanted.T)
        target = (seen / self.temperature).softmax(dim=-1)
        for width in self.widths:
            part = F.normalize(found[:, :width], dim=-1)
            cosines = _others(part @ part.T)
            scores = (cosines / self.temperature).log_softmax(dim=-1)
            term = self.likeness_weight * F.kl_div(scores, target, reduction="batchmean")
            if self.closeness_weight:
                apart = (target * (cosines - seen).square()).sum(dim=-1).mean()
                term = term + self.closeness_weight * apart
            loss = loss + term / len(self.widths)
        return loss

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a bundle's config."""
        return {"name": self.name, "prefixes": list(self.prefixes)}


def _others(scores: Float[Tensor, "B B"]) -> Float[Tensor, "B B-1"]:
    """Each row without its own column.

    >>> import torch
    >>> _others(torch.arange(9.0).view(3, 3)).tolist()
    [[1.0, 2.0], [3.0, 5.0], [6.0, 7.0]]
    """
    size = len(scores)
    # In rows of one more, every own column comes last; nothing here depends on values, so that a
    # step can be recorded.
    return scores.flatten()[1:].view(size - 1, size + 1)[:, :-1].reshape(size, size - 1)

"""Which word stands between these? A yes or no for each word that is proposed."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from softquery.data import Windows
from softquery.models import WindowOutput


@dataclass(frozen=True, kw_only=True, slots=True)
class WordPrediction:
    """Distinguish the word of a window from others.

    The same sum serves three objectives, which differ in who is proposed and in the offsets of the
    scores: negative sampling (Mikolov et al. 2013b, Equation 4), noise-contrastive estimation
    (Mnih & Teh 2012, Section 3) and hierarchical softmax (Mikolov et al. 2013b, Equation 3), where
    every turn on the way to the word is a yes or no.
    """

    name: ClassVar[str] = "vectors"

    def loss(self, output: WindowOutput, windows: Windows) -> Float[Tensor, ""]:
        """-log of the probability of all answers, for each vector that asks, on average."""
        label = windows.label[:, None].expand_as(output.scores)
        each = F.binary_cross_entropy_with_logits(output.scores, label, reduction="none")
        return (each * output.mask).sum() / output.mask.any(dim=-1).sum().clamp(min=1)

"""Windows of a corpus as tensors.

B windows, C words around, R rows of a word, T targets.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Windows:
    """Words around, and what they are asked about.

    Attributes:
        rows: Input rows of each word around: its own, and those of its n-grams.
        row_mask: Which of them are there.
        targets: Output rows.
        target_mask: Which of them are there.
        label: 1 for a target that is right, else 0.
        offset: What is added to a target's scores: 0, and for NCE the negative log of how often
            noise is expected to draw it.
    """

    rows: Int[Tensor, "B C R"]
    row_mask: Bool[Tensor, "B C R"]
    targets: Int[Tensor, "B T"]
    target_mask: Bool[Tensor, "B T"]
    label: Float[Tensor, "B T"]
    offset: Float[Tensor, "B T"]

"""Two passes over the same rows, with different dropout, that are to agree (R-Drop)."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def check_consistency(weight: float) -> None:
    """Refuse a weight that the agreement of two passes cannot have."""
    if not weight >= 0:
        raise ValueError(f"consistency must not be negative, got {weight}")


def disagreement(logits: Float[Tensor, "B C"]) -> Float[Tensor, ""]:
    """How far two passes over the same rows differ: the mean of both Kullback-Leibler divergences.

    The first half of the rows is one pass, the second half the other (Liang et al. 2021, Eq. 2).
    """
    one, other = logits.log_softmax(dim=-1).chunk(2)
    return 0.5 * (
        F.kl_div(one, other, reduction="batchmean", log_target=True)
        + F.kl_div(other, one, reduction="batchmean", log_target=True)
    )

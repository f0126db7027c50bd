"""The softmax over the true next word and sampled words, with a backward pass of its own.

The matrix of N states against S words is by far the largest thing of a pretraining step. Left to
autograd, it is written and read a dozen times, most of them in float32; here it is written twice
and read four times, in the dtype of the states.

N states, D width, S sampled words.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

MULTIPLE = 8
"""Rows of the matrix are padded to a multiple of it, which suits matrix products on GPUs."""


def log_share(
    states: Float[Tensor, "N D"],
    came: Float[Tensor, "N D"],
    others: Float[Tensor, "S D"],
    came_offset: Float[Tensor, " N"],
    others_offset: Float[Tensor, " S"],
    hits: Int[Tensor, " N"],
) -> Float[Tensor, " N"]:
    """Log of the true word's share among itself and all sampled words.

    Args:
        states: States that predict the next word.
        came: The vector of the true word after each state.
        others: The vectors of the sampled words.
        came_offset: Added to the logit of each true word.
        others_offset: Added to the logits of the sampled words.
        hits: Place of the true word among the sampled ones, which is left out; S for none.
    """
    with torch.autocast(states.device.type, enabled=False):
        found: Tensor = _LogShare.apply(  # type: ignore[no-untyped-call]
            states, came, others, came_offset, others_offset, hits
        )
    return found


class _LogShare(torch.autograd.Function):
    """Keeps the matrix of shares, from which all gradients follow: share − [is the true word]."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        came: Tensor,
        others: Tensor,
        came_offset: Tensor,
        others_offset: Tensor,
        hits: Tensor,
    ) -> Tensor:
        count = len(others)
        own = (states.float() * came.float()).sum(dim=-1) + came_offset
        # Columns: the sampled words, one that `hits` points to for none, the true word, padding.
        logits = states.new_full((len(states), -(-(count + 2) // MULTIPLE) * MULTIPLE), -torch.inf)
        torch.addmm(others_offset.to(states.dtype), states, others.t(), out=logits[:, :count])
        logits.scatter_(1, hits.unsqueeze(1), -torch.inf)
        logits[:, count + 1] = own
        shares = torch.softmax(logits, dim=-1)
        share = shares[:, count + 1].float()
        ctx.save_for_backward(states, came, others, shares, share)
        return share.clamp(min=torch.finfo(share.dtype).tiny).log()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states, came, others, shares, share = ctx.saved_tensors
        gradient = gradients[0]
        against = shares[:, : len(others)]
        up = gradient * (1 - share)  # [N]
        up_wide, down_wide = up.unsqueeze(1), -gradient.unsqueeze(1)
        to_states = (against @ others) * down_wide + came * up_wide
        to_others = against.t() @ (states * down_wide).to(states.dtype)
        to_offset = (down_wide.t().to(states.dtype) @ against).squeeze(0)
        return (
            to_states.to(states.dtype),
            (states * up_wide).to(came.dtype),
            to_others,
            up,
            to_offset.to(up.dtype),
            None,
        )

"""The softmax over a word that came and words that were drawn, with a backward pass of its own.

The matrix of N states against S words is by far the largest thing of a pretraining step. Left to
autograd, it is written and read a dozen times, most of them in float32; here it is written twice
and read four times, in the dtype of the states.

N states, D width, S drawn words.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

MULTIPLE = 8
"""Rows of the matrix are filled up to a multiple of it, which matrix products on GPUs like."""


def log_share(
    states: Float[Tensor, "N D"],
    came: Float[Tensor, "N D"],
    others: Float[Tensor, "S D"],
    came_offset: Float[Tensor, " N"],
    others_offset: Float[Tensor, " S"],
    hits: Int[Tensor, " N"],
) -> Float[Tensor, " N"]:
    """Log of the share that the word that came has against itself and all drawn words.

    Args:
        states: What foresees.
        came: The vector of the word that came after each state.
        others: The vectors of the drawn words.
        came_offset: Added to the logit of each word that came.
        others_offset: Added to the logits of the drawn words.
        hits: Place of the word that came among the drawn ones, which is left out; S for none.
    """
    with torch.autocast(states.device.type, enabled=False):
        found: Tensor = _LogShare.apply(  # type: ignore[no-untyped-call]
            states, came, others, came_offset, others_offset, hits
        )
    return found


class _LogShare(torch.autograd.Function):
    """The matrix is kept as shares, from which all gradients follow: share − [it came]."""

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
        # Columns: the drawn words, one to which misses point, the word that came, filling.
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

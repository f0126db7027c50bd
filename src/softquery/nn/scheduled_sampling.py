"""Scheduled sampling: in training, now and then, a decoder reads the word it would have said."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


class ScheduledSampling(nn.Module):
    """Tosses the coins of Bengio et al. (2015), Section 2.4: the true word, or one's own.

    The share of own words rises linearly from 0 over the first `rise` training steps (the paper's
    linear decay of ε), which are counted here and saved with the weights. Nothing is asked of the
    data, so that a step can be recorded as a CUDA graph.

    Args:
        share: The largest share of own words, in [0, 1].
        rise: Training steps until it is reached; 0 for at once.
    """

    steps: Tensor

    def __init__(self, share: float, rise: int = 0) -> None:
        super().__init__()
        if not 0 <= share <= 1 or rise < 0:
            raise ValueError(
                f"share must be in [0, 1] and rise not negative, got {share} and {rise}"
            )
        self.share, self.rise = share, rise
        self.register_buffer("steps", torch.zeros(()))

    def toss(self, like: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """True where the own word is read; counts a training step."""
        risen = (self.steps / self.rise).clamp(max=1.0) if self.rise else 1.0
        share = self.share * risen
        self.steps += 1
        return torch.rand(like.shape, device=like.device) < share

    def draw(self, logits: Float[Tensor, "B V"]) -> Int[Tensor, " B"]:
        """Draw a word from the model's distribution."""
        noise = torch.empty_like(logits, dtype=torch.float32).exponential_().log()
        return (logits.detach().float() - noise).argmax(dim=-1)

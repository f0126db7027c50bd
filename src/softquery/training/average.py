"""A running average of the weights, which generalises better than the last step's."""

import torch
from torch import Tensor, nn


class WeightAverage:
    """Exponential moving average of a model's parameters (Polyak & Juditsky 1992).

    What is frozen is its own average. Every operation stays on the device, so that it can be part
    of a recorded step.

    Args:
        model: The model that is trained.
        decay: Share of the average that each step keeps, in (0, 1).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        if not 0 < decay < 1:
            raise ValueError(f"average_decay must be between 0 and 1, got {decay}")
        self.decay = decay
        learnt = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
        self.names = [name for name, _ in learnt]
        self.live = [parameter for _, parameter in learnt]
        self.shadow = [parameter.detach().clone() for parameter in self.live]
        device = self.live[0].device
        self._keep = torch.tensor(decay, device=device)
        self._take = torch.tensor(1 - decay, device=device)

    def prepare(self, step: int) -> None:
        """Let the first steps weigh more: the average must not remember the random start."""
        keep = min(self.decay, (1 + step) / (10 + step))
        self._keep.fill_(keep)
        self._take.fill_(1 - keep)

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the current weights."""
        taken = torch._foreach_mul([parameter.detach() for parameter in self.live], self._take)
        torch._foreach_mul_(self.shadow, self._keep)
        torch._foreach_add_(self.shadow, taken)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the average and the live weights; calling it again undoes it."""
        for parameter, shadow in zip(self.live, self.shadow, strict=True):
            kept = parameter.detach().clone()
            parameter.copy_(shadow)
            shadow.copy_(kept)

    def state(self) -> dict[str, Tensor]:
        """The average, by parameter name."""
        return dict(zip(self.names, self.shadow, strict=True))

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take up an average that `state` gave."""
        for name, shadow in zip(self.names, self.shadow, strict=True):
            shadow.copy_(state[name])

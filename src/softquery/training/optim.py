"""The optimiser and the learning rate: values first, then what torch needs of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import nn

Decay = Literal["none", "linear", "cosine", "inverse_sqrt"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Optim:
    """Adam, or AdamW where there is weight decay (Kingma & Ba 2015; Loshchilov & Hutter 2019)."""

    lr: float = 4e-4
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decayed: Literal["all", "matrices"] = "all"
    """`"matrices"` spares biases and normalisations, as BERT's own code does."""
    clip_norm: float = 10.0
    """Largest norm of the gradient over all parameters; 0 switches clipping off."""

    def __post_init__(self) -> None:
        if not self.lr > 0:
            raise ValueError(f"lr must be positive, got {self.lr}")
        for name in ("eps", "weight_decay", "clip_norm"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.decayed not in ("all", "matrices"):
            raise ValueError(f"decayed must be all or matrices, got {self.decayed!r}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be in [0, 1), got {self.betas}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """How the learning rate moves: warm-up, decay by step, and a cut when the metric stalls."""

    warmup_steps: int = 0
    decay: Decay = "none"
    plateau_factor: float = 0.5
    """What the rate is multiplied by after an epoch that did not improve; 1 switches it off."""
    plateau_patience: int = 0
    """Epochs without improvement that are forgiven before each cut."""

    def __post_init__(self) -> None:
        if self.decay not in get_args(Decay):
            raise ValueError(f"decay must be one of {get_args(Decay)}, got {self.decay!r}")
        for name in ("warmup_steps", "plateau_patience"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 < self.plateau_factor <= 1:
            raise ValueError(f"plateau_factor must be in (0, 1], got {self.plateau_factor}")

    def scale(self, step: int, total_steps: int) -> float:
        """The factor at a step (counted from 0), plateau aside.

        >>> schedule = Schedule(warmup_steps=2, decay="linear")
        >>> [schedule.scale(step, 6) for step in range(7)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
        """
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        if self.decay == "none":
            return 1.0
        if self.decay == "inverse_sqrt":
            return math.sqrt(max(self.warmup_steps, 1) / (step + 1))
        done = (step - self.warmup_steps) / max(1, total_steps - self.warmup_steps)
        left = max(0.0, 1.0 - done)
        return left if self.decay == "linear" else 0.5 * (1 - math.cos(math.pi * left))


def build_optimizer(
    optim: Optim, parameters: Iterable[nn.Parameter], device: torch.device
) -> torch.optim.AdamW:
    """AdamW over the parameters that ask for gradients.

    On a GPU the learning rate is a tensor there, so that a recorded step reads the current one.
    """
    on_gpu = device.type == "cuda"
    return torch.optim.AdamW(
        _groups(optim, [parameter for parameter in parameters if parameter.requires_grad]),
        lr=torch.tensor(optim.lr, device=device) if on_gpu else optim.lr,
        betas=optim.betas,
        eps=optim.eps,
        weight_decay=optim.weight_decay,
        fused=on_gpu,
        capturable=on_gpu,
    )


def _groups(optim: Optim, parameters: list[nn.Parameter]) -> list[Any]:
    """All parameters, or two groups of them where some do not decay."""
    if not optim.weight_decay or optim.decayed == "all":
        return parameters
    matrices = [parameter for parameter in parameters if parameter.ndim > 1]
    others = [parameter for parameter in parameters if parameter.ndim <= 1]
    return [{"params": matrices}, {"params": others, "weight_decay": 0.0}]


def set_learning_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the rate of every group, in place where it is a tensor."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(lr)
        else:
            group["lr"] = lr

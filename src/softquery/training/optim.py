"""The optimiser and the learning rate: values first, then what torch needs of them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import nn

from softquery.errors import ConfigError

Decay = Literal["none", "linear", "cosine", "inverse_sqrt"]
SCALE = "scale"
"""Of a group of parameters: its rate by the run's."""


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
    layer_decay: float = 1.0
    """What the rate is multiplied by from the task's own layers to the highest of a pretrained
    encoder, and from each of these to the one below (Howard & Ruder 2018, Section 3.2); 1 for one
    rate."""

    def __post_init__(self) -> None:
        if not self.lr > 0:
            raise ValueError(f"lr must be positive, got {self.lr}")
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"layer_decay must be in (0, 1], got {self.layer_decay}")
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
    warmup_share: float = 0.0
    """Share of all steps that warm up, where that is more of them."""
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
        if not 0 <= self.warmup_share < 1:
            raise ValueError(f"warmup_share must be in [0, 1), got {self.warmup_share}")
        if not 0 < self.plateau_factor <= 1:
            raise ValueError(f"plateau_factor must be in (0, 1], got {self.plateau_factor}")

    def scale(self, step: int, total_steps: int) -> float:
        """The factor at a step (counted from 0), plateau aside.

        >>> schedule = Schedule(warmup_steps=2, decay="linear")
        >>> [schedule.scale(step, 6) for step in range(7)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
        """
        warmup_steps = max(self.warmup_steps, round(self.warmup_share * total_steps))
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if self.decay == "none":
            return 1.0
        if self.decay == "inverse_sqrt":
            return math.sqrt(max(warmup_steps, 1) / (step + 1))
        done = (step - warmup_steps) / max(1, total_steps - warmup_steps)
        left = max(0.0, 1.0 - done)
        return left if self.decay == "linear" else 0.5 * (1 - math.cos(math.pi * left))


def build_optimizer(
    optim: Optim,
    parameters: Iterable[nn.Parameter],
    device: torch.device,
    *,
    above: Sequence[int] | None = None,
) -> torch.optim.AdamW:
    """AdamW over the parameters that ask for gradients.

    On a GPU the learning rate is a tensor there, so that a recorded step reads the current one.

    Args:
        optim: The settings.
        parameters: Of the model.
        device: Where they lie.
        above: How many layers lie above each of the parameters, where rates decay by layer.
    """
    on_gpu = device.type == "cuda"
    optimizer = torch.optim.AdamW(
        _groups(optim, list(parameters), above),
        lr=torch.tensor(optim.lr, device=device) if on_gpu else optim.lr,
        betas=optim.betas,
        eps=optim.eps,
        weight_decay=optim.weight_decay,
        fused=on_gpu,
        capturable=on_gpu,
    )
    for group in optimizer.param_groups:
        if on_gpu:  # each group has a rate of its own
            group["lr"] = group["lr"].clone()
    return optimizer


def layers_above(optim: Optim, model: nn.Module) -> list[int] | None:
    """How many layers lie above each parameter; None where one rate is for all.

    A pretrained encoder knows, by itself or inside a model of a task.

    Raises:
        ConfigError: There is none, or it is frozen.
    """
    if optim.layer_decay == 1:
        return None
    path, encoder = next(
        (each for each in model.named_modules() if hasattr(each[1], "layers_above")), ("", None)
    )
    if encoder is None or not any(each.requires_grad for each in encoder.parameters()):
        raise ConfigError("optim.layer_decay is for a BERT or a tuned biLM inside; leave it at 1")
    above: Callable[[str], int] = encoder.layers_above
    prefix = f"{path}." if path else ""
    return [
        above(name.removeprefix(prefix)) if name.startswith(prefix) else 0
        for name, _ in model.named_parameters()
    ]


def _groups(optim: Optim, parameters: list[nn.Parameter], above: Sequence[int] | None) -> list[Any]:
    """All parameters that learn, or groups of them where decay or rates differ."""
    depths = above or [0] * len(parameters)
    learnt = [each for each in zip(parameters, depths, strict=True) if each[0].requires_grad]
    spares = bool(optim.weight_decay) and optim.decayed == "matrices"
    if not spares and above is None:
        return [parameter for parameter, _ in learnt]
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for parameter, depth in learnt:
        groups.setdefault((depth, spares and parameter.ndim <= 1), []).append(parameter)
    ordered = sorted(groups.items(), key=lambda each: each[0])
    return [
        {
            "params": some,
            **({"weight_decay": 0.0} if spared else {}),
            **({} if above is None else {SCALE: optim.layer_decay**depth}),
        }
        for (depth, spared), some in ordered
    ]


def set_learning_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the rate of every group, in place where it is a tensor."""
    for group in optimizer.param_groups:
        scaled = lr * group.get(SCALE, 1.0)
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(scaled)
        else:
            group["lr"] = scaled

"""The loop, its steps, and how a run is resumed."""

from softquery.training.checkpoint import load_tensors
from softquery.training.loop import (
    BEST,
    FitResult,
    Observer,
    Plan,
    Trainer,
    Training,
    launch,
    leave,
)
from softquery.training.optim import Optim, Schedule
from softquery.training.run_log import draw_curves

__all__ = [
    "BEST",
    "Trainer",
    "FitResult",
    "Observer",
    "Optim",
    "Plan",
    "Schedule",
    "Training",
    "draw_curves",
    "launch",
    "leave",
    "load_tensors",
]

"""The loop, its steps, and how a run is resumed."""

from softquery.training.checkpoint import load_tensors
from softquery.training.logs import draw_curves
from softquery.training.loop import BEST, Fit, Fitted, Observer, Plan, Training, launch, leave
from softquery.training.optim import Optim, Schedule

__all__ = [
    "BEST",
    "Fit",
    "Fitted",
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

"""The loop, its steps, and how a run is resumed."""

from softquery.training.loop import (
    BEST,
    Trainer,
    TrainerState,
    Training,
    launch,
    leave,
)
from softquery.training.optim import Optim, Schedule
from softquery.training.plan import Loss, Observer, TrainingPlan, remembering
from softquery.training.run_records import draw_curves, epoch_means, load_tensors

__all__ = [
    "BEST",
    "Trainer",
    "Loss",
    "Observer",
    "Optim",
    "Schedule",
    "TrainerState",
    "Training",
    "TrainingPlan",
    "draw_curves",
    "epoch_means",
    "launch",
    "leave",
    "load_tensors",
    "remembering",
]

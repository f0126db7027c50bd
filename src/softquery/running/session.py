"""Where a run takes place: its folders and its processes, from the first check to the last step."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric
from torch import Tensor, nn

from softquery.running.adapter import Say
from softquery.running.options import RunOptions
from softquery.running.run_folder import check_places, kept_if_resumable, partial_folder
from softquery.running.run_record import clear_up, is_finished, note_settings
from softquery.training import (
    FitResult,
    Observer,
    Optim,
    Plan,
    Schedule,
    Trainer,
    Training,
    launch,
    leave,
)


@dataclass(frozen=True, kw_only=True)
class TrainOutcome:
    """How the loop ended."""

    fitted: FitResult
    rows: list[dict[str, float]]
    """What was measured after every epoch."""

    def facts(self, seed: int) -> dict[str, Any]:
        """The part of `metrics.json` that every run has."""
        return {
            "epochs": self.fitted.num_epochs,
            "best_epoch": self.fitted.best_epoch + 1,
            "steps": self.fitted.num_steps,
            "seconds": round(self.fitted.seconds, 1),
            "seed": seed,
        }


@dataclass(frozen=True, kw_only=True)
class Session:
    """The folders of a run and the processes that it is done by."""

    target: Path
    """The bundle, once it is complete."""
    folder: Path
    """Where everything lies until then."""
    resume: bool
    fabric: Fabric
    say: Say
    """Told what happens; what other processes than the first say is not heard."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes."""
        return self.fabric.is_global_zero

    def kept(self) -> AbstractContextManager[None]:
        """Around the run: what fails before the first checkpoint leaves nothing behind."""
        return kept_if_resumable(self.folder, self.say) if self.is_first else nullcontext()

    def note(self, settings: dict[str, Any], fingerprint: str) -> None:
        """Write down what the run is, or make sure that it is the one that was interrupted."""
        note_settings(self.folder, settings, fingerprint=fingerprint, resume=self.resume)

    def fit(
        self,
        model: nn.Module,
        plan: Plan,
        observer: Observer,
        *,
        loss: Callable[[Any, Any], Tensor],
        optim: Optim,
        schedule: Schedule,
        training: Training,
    ) -> TrainOutcome:
        """Train, from where an interrupted run stopped."""
        fit = Trainer(
            self.fabric,
            model,
            plan,
            loss=loss,
            optim=optim,
            schedule=schedule,
            training=training,
            folder=self.folder,
        )
        try:
            fitted = fit.run(observer, resume=self.resume)
        finally:
            with suppress(OSError):  # a full disk has been told of already
                fit.history.close()
        return TrainOutcome(fitted=fitted, rows=fit.progress.rows)

    def clear(self) -> None:
        """Remove what the run needed on its way; the bundle is complete."""
        clear_up(self.folder, self.target)
        self.say(f"bundle written: {self.target}")

    def leave(self) -> Path:
        """Part from the other processes once all are done."""
        leave(self.fabric)
        return self.target


def enter(training: Training, job: RunOptions) -> Session | None:
    """Check the places of a run and start its processes.

    Args:
        training: For precision and seed.
        job: For the rest.

    Returns:
        None where the bundle is complete, and only the clearing up had been interrupted.
    """
    target, folder = Path(job.output), partial_folder(job.output)
    finished = job.resume and is_finished(target, folder)
    if not finished:
        check_places(target, folder, resume=job.resume)
    fabric = launch(devices=job.devices, precision=training.precision, seed=training.seed)
    lines: Say = job.say if fabric.is_global_zero else (lambda line: None)
    if not finished:
        return Session(target=target, folder=folder, resume=job.resume, fabric=fabric, say=lines)
    if fabric.is_global_zero:
        clear_up(folder, target)
    return None

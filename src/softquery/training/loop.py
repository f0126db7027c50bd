"""The one training loop. It knows neither model nor task: a plan, a loss and a folder suffice.

Everything that the future of a run depends on is either a function of (seed, epoch) or in the
checkpoint, so a run that was killed goes on to the same weights.
"""

import atexit
import logging
import math
import signal
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, get_args

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from softquery.bundle import RECORDS
from softquery.data import Slot
from softquery.errors import BundleError
from softquery.training.average import WeightAverage
from softquery.training.optim import (
    Optim,
    Schedule,
    build_optimizer,
    layers_above,
    set_learning_rate,
)
from softquery.training.plan import Loss, Observer, TrainingPlan, remembering
from softquery.training.run_records import (
    NAME,
    History,
    checkpoint_tensors,
    epoch_means,
    load_checkpoint,
    save_tensors,
)
from softquery.training.sharding import ShardedStrategy, check_steps, gathered, shard, whole
from softquery.training.steps import BatchGraphedStep, EagerStep, GraphedStep, seed_share

BEST = "best.safetensors"
TUNE_LOSS = "tune_loss"
"""The metric that decides between epochs which the first one calls equal; less is better."""
HEARING = 0.5
"""Seconds within which a signal that came while torch waited for another process arrives."""
Precision = Literal["32-true", "bf16-mixed"]
Sharding = Literal["none", "full"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """How long, how precisely, and how often to look."""

    seed: int = 1
    max_epochs: int = 30
    max_steps: int | None = None
    patience: int = 4
    """Epochs without improvement after which the run stops."""
    accumulate: int = 1
    """Parts into which each batch is cut to save memory."""
    precision: Precision = "32-true"
    sharding: Sharding = "none"
    """Whether several processes divide weights, gradients and moments (FSDP), or each has all."""
    average_decay: float = 0.0
    """Decay of the running average of the weights that is measured and kept; 0 for none."""
    graphs: Literal["auto", "off"] = "auto"
    """Record steps as CUDA graphs where one GPU allows it."""
    log_every: int = 100
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("max_epochs", "patience", "accumulate", "log_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.max_steps is not None and self.max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {self.max_steps}")
        if self.sharding not in get_args(Sharding):
            raise ValueError(f"sharding must be none or full, got {self.sharding!r}")
        if not 0 <= self.average_decay < 1:
            raise ValueError(f"average_decay must be in [0, 1), got {self.average_decay}")


@dataclass(slots=True)
class TrainerState:
    """Where a run stands; saved with each checkpoint."""

    epoch: int = 0
    slot: int = 0
    step: int = 0
    loss_sum: float = 0.0
    loss_steps: int = 0
    best: float = -math.inf
    best_loss: float = math.inf
    """The loss on the tune set at the best epoch, which decides between equal metrics."""
    best_epoch: int = -1
    bad_epochs: int = 0
    plateau_scale: float = 1.0
    seconds: float = 0.0
    stopped: bool = False
    """Whether an observer has ended the run; it is then measured once more."""
    rows: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def from_saved(cls, saved: dict[str, Any], source: Path) -> "TrainerState":
        """Take up what a checkpoint holds."""
        try:
            return cls(**saved)
        except TypeError as error:
            raise BundleError(f"{source}: written by another version ({error})") from None

    def facts(self, seed: int) -> dict[str, Any]:
        """The part of `metrics.json` that every run has."""
        return {
            "epochs": self.epoch,
            "best_epoch": self.best_epoch + 1,
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "seed": seed,
        }


class StopRequest:
    """Lets Ctrl-C and SIGTERM stop a run after its current step, so that its state is whole.

    While entered, the first such signal sets `asked`; a second one acts as ever.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in self.SIGNALS}
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._restore()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


class Trainer:
    """One run of the loop.

    Args:
        fabric: Launched already.
        model: The bare model; it is set up here.
        plan: The data.
        loss: Mean loss of an output and a batch.
        optim: The optimiser's settings.
        schedule: The learning rate's course.
        training: How long and how.
        folder: Where checkpoints and logs are written.
    """

    def __init__(
        self,
        fabric: Fabric,
        model: nn.Module,
        plan: TrainingPlan,
        *,
        loss: Loss,
        optim: Optim,
        schedule: Schedule,
        training: Training,
        folder: Path,
    ) -> None:
        self.fabric, self.plan, self.folder = fabric, plan, folder
        self.memory = plan.memory
        self.optim, self.schedule, self.training = optim, schedule, training
        self.bare = self.trained = model.to(fabric.device)
        self.is_sharded = training.sharding == "full" and fabric.world_size > 1
        if self.is_sharded:
            check_steps(training.average_decay)
            self.trained = shard(self.bare, fabric)
        optimizer = build_optimizer(
            optim, self.trained.parameters(), fabric.device, above=layers_above(optim, self.bare)
        )
        self.model, self.optimizer = fabric.setup(
            self.trained, optimizer, move_to_device=not self.is_sharded
        )
        self.average = (
            WeightAverage(self.bare, training.average_decay) if training.average_decay else None
        )
        kind = EagerStep
        if training.graphs == "auto" and GraphedStep.serves(fabric, training.accumulate):
            kind = BatchGraphedStep if plan.shaped_by_content else GraphedStep
        self.take_step = kind(
            fabric,
            self.model,
            self.optimizer,
            make_batch=plan.make_batch,
            loss=loss if plan.memory is None else remembering(loss, plan.memory),
            clip_norm=optim.clip_norm,
            accumulate=training.accumulate,
            average=self.average,
        )
        self.state = TrainerState()
        self.history = History(folder / RECORDS if fabric.is_global_zero else None)
        self._saved_at = self._began = time.monotonic()
        self._stop_wished = False

    def run(self, observer: Observer, *, resume: bool) -> TrainerState:
        """Train to the end, from the checkpoint where there is one and `resume` is set.

        Returns:
            Where the run ended; the best weights are in `BEST` in its folder.
        """
        if resume and (self.folder / NAME).exists():
            saved = load_checkpoint(
                self.folder, self.trained, self.optimizer, self.average, self.memory
            )
            self.state = TrainerState.from_saved(saved, self.folder / NAME)
            self.take_step.loss_sum.fill_(self.state.loss_sum)
        self._began -= self.state.seconds
        total = self._total_steps()
        observer.begin(total, self.state.step)
        try:
            self._run(observer, total)
            self.history.close()
        finally:
            with suppress(OSError):  # a full disk has been reported already
                self.history.close()
        self.state.seconds = self._seconds()
        return self.state

    def _run(self, observer: Observer, total: int) -> None:
        with StopRequest() as stop:
            try:
                while not self._finished(total):
                    self._epoch(observer, total, stop)
                    self.measure(observer)
                    self._save()
                    # Until then the next step hears it; here the first process speaks for all.
                    if self._finished(total) and self.fabric.broadcast(stop.asked):
                        self.history.close()
                        raise KeyboardInterrupt
            except RuntimeError:
                if self.fabric.is_global_zero:
                    raise
                time.sleep(HEARING)
                if stop.asked:  # the first process has stopped, and the exchange with it broke off
                    raise KeyboardInterrupt from None
                raise

    def _total_steps(self) -> int:
        total = self.training.max_epochs * len(self.plan.slots(0))
        limit = self.training.max_steps
        return total if limit is None else min(total, limit)

    def _finished(self, total: int) -> bool:
        state = self.state
        # A checkpoint after the last step but before its measurement is not the end yet.
        done = (state.step >= total or state.stopped) and state.slot == 0
        return done or state.bad_epochs >= self.training.patience

    def _epoch(self, observer: Observer, total: int, stop: StopRequest) -> None:
        state = self.state
        self.model.train()
        slots = self.plan.slots(state.epoch)
        if self.memory is not None and state.slot == 0:
            self.memory.begin(state.epoch)
        while state.slot < len(slots) and state.step < total and not state.stopped:
            set_learning_rate(self.optimizer, self._learning_rate(state.step, total))
            if self.average is not None:
                self.average.prepare(state.step)
            if self.fabric.world_size > 1:
                seed_share(self.training.seed, state.step, self.fabric.global_rank)
            self.take_step(slots[state.slot])
            state.slot += 1
            state.step += 1
            state.loss_steps += 1
            if state.step % self.training.log_every == 0:
                self._log(total, slots[state.slot - 1])
            if observer.step(state.step, self.history.latest):
                self._wish_to_stop()
            if stop.asked and self.fabric.is_global_zero:
                if not self._saves_together:  # the others are elsewhere; the last checkpoint stays
                    self._save()
                self.history.close()
                raise KeyboardInterrupt
            if self._is_time_to_save():
                self._save()
        if state.loss_steps:  # short epochs have a loss to show, too
            self._log(total, slots[state.slot - 1])

    def _wish_to_stop(self) -> None:
        """End the run after this step, or where processes must agree, after this epoch."""
        if self.fabric.world_size == 1:
            self.state.stopped = True
        else:
            self._stop_wished = True

    def _learning_rate(self, step: int, total: int) -> float:
        scale = self.schedule.scale(step, total)
        return self.optim.lr * self.state.plateau_scale * scale

    @property
    def _shares_memory(self) -> bool:
        """Whether each process holds a share of the memory, which must be saved at one step."""
        return self.memory is not None and self.fabric.world_size > 1

    @property
    def _saves_together(self) -> bool:
        """Whether a checkpoint is put together from all processes."""
        return self._shares_memory or self.is_sharded

    def _is_time_to_save(self) -> bool:
        """By this process's clock; by the slowest one's, seldom asked, where all must agree."""
        due = time.monotonic() - self._saved_at > self.training.checkpoint_seconds
        if not self._saves_together:
            return due
        if self.state.step % self.training.log_every:
            return False
        asked = torch.tensor(float(due), device=self.fabric.device)
        votes: Tensor = self.fabric.all_reduce(asked, reduce_op="sum")  # type: ignore[assignment]
        return float(votes) == self.fabric.world_size

    def _log(self, total: int, slot: Slot) -> None:
        """Read the loss off the device (the one place that waits for it) and write a row."""
        state, seconds = self.state, self._seconds()
        lr = self._learning_rate(state.step - 1, total)
        loss_sum: Tensor = self.fabric.all_reduce(self.take_step.loss_sum.clone())  # type: ignore[assignment]
        loss = float(loss_sum) / max(1, state.loss_steps)
        self.take_step.loss_sum.zero_()
        pace = state.loss_steps / max(1e-9, seconds - state.seconds)
        state.loss_steps, state.seconds = 0, seconds
        facts = {"step": state.step, "epoch": state.epoch, "loss": loss, "lr": lr}
        facts["examples_per_second"] = pace * len(slot.rows)
        if self.plan.num_tokens is not None:
            facts["tokens_per_second"] = pace * self.plan.num_tokens(slot)
        self.history.add(state.rows, facts)

    def measure(self, observer: Observer) -> None:
        """Measure at the end of an epoch, keep the best weights, move the learning rate."""
        state = self.state
        if self.average is not None:
            self.average.swap()
        self.trained.eval()
        with gathered(self.trained):
            measured = self.plan.measure(self.trained)
        # The first process speaks for all: disagreeing by a rounding, one might stop alone.
        metrics: dict[str, float] = self.fabric.broadcast(measured)
        steering = next(iter(metrics.values()))
        if math.isnan(steering):  # such as the correlation of a model that answers all alike
            steering = -math.inf
        # On few rows the metric often ties; what remains equal leaves the earlier epoch.
        loss = metrics.get(TUNE_LOSS, math.inf)
        ties = steering == state.best and loss < state.best_loss
        improved = steering > state.best or ties or state.best_epoch < 0
        if improved:
            state.best, state.best_loss = steering, loss
            state.best_epoch, state.bad_epochs = state.epoch, 0
            best = whole(self.trained.state_dict())
            if self.fabric.is_global_zero:
                save_tensors(self.folder / BEST, best, metrics)
        else:
            state.bad_epochs += 1
            if state.bad_epochs % (self.schedule.plateau_patience + 1) == 0:
                state.plateau_scale *= self.schedule.plateau_factor
        if self.average is not None:
            self.average.swap()
        facts = {"step": state.step, "epoch": state.epoch, **metrics}
        self.history.add(state.rows, facts)
        means = epoch_means(state.rows, state.epoch)
        shown = {**self.history.latest, **means, **metrics}
        shown |= {"best": state.best, "bad_epochs": state.bad_epochs}
        wished = bool(observer.epoch(state.epoch, shown, improved)) or self._stop_wished
        state.stopped = state.stopped or self.fabric.broadcast(wished)
        state.epoch, state.slot = state.epoch + 1, 0

    def _save(self) -> None:
        state = self.state
        state.loss_sum = float(self.take_step.loss_sum)
        memory = {} if self.memory is None else self.memory.tensors()
        if self._shares_memory:
            memory = {
                name: self.fabric.all_reduce(share, reduce_op="sum")  # type: ignore[misc]
                for name, share in memory.items()
            }
        if self.fabric.is_global_zero or self.is_sharded:
            tensors = checkpoint_tensors(self.trained, self.optimizer, self.average, memory)
        if self.fabric.is_global_zero:
            save_tensors(self.folder / NAME, tensors, {**asdict(state), "seconds": self._seconds()})
            self.history.write(state.rows)
        # No barrier: processes read their own clocks, and the others wait at the next gradient.
        self._saved_at = time.monotonic()

    def _seconds(self) -> float:
        return time.monotonic() - self._began


def launch(*, devices: int, precision: Precision, seed: int, sharding: Sharding = "none") -> Fabric:
    """A Fabric for this machine: one process, or those that torchrun started."""
    accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")  # TF32 on GPUs that have it
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # not which process joins which
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        strategy="auto" if devices == 1 else ShardedStrategy() if sharding == "full" else "ddp",
        precision=precision,
    )
    fabric.launch()
    fabric.seed_everything(seed, verbose=False)
    return fabric


def leave(fabric: Fabric) -> None:
    """Part from the other processes once all are done.

    Threads of the exchange that are still up when a process ends would bring it down. The group is
    let go only at the end of the process: DDP's reducer outlives this call, would end the group
    with the interpreter's lock held, and wait for ever for a thread that waits for that lock.
    """
    fabric.barrier()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        atexit.register(_let_go, torch.distributed.group.WORLD)
        torch.distributed.destroy_process_group()


def _let_go(group: object) -> None:
    del group

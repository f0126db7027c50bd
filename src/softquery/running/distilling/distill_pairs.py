"""Distil a matcher: a teacher's logits once, then a student that learns them, and a bundle.

As in `distill`, everything lies in `OUTPUT.partial` until the bundle is complete.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.data import Pairs, PiecePairs
from softquery.errors import ConfigError
from softquery.files import fingerprint
from softquery.recipes import Run
from softquery.running.adapter import bucketed_slots, check_finite
from softquery.running.distilling.open_teacher import PairTeacher, checked_logits
from softquery.running.distilling.pair_lessons import (
    DistinctPairs,
    PairLessons,
    prepare_pairs,
    read_pairs,
)
from softquery.running.distilling.student import train_student, write_student
from softquery.running.distilling.teacher import (
    Parts,
    one_by_one,
    read_shards,
    shard_path,
    write_shards,
)
from softquery.running.match import batches_for
from softquery.running.run_card import pair_distill_card
from softquery.running.run_folder import (
    clear_up,
    enter,
    kept_if_resumable,
    note_settings,
    partial_folder,
)
from softquery.running.run_options import RunOptions
from softquery.running.train import build_prepared
from softquery.runtime.torch_models import pair_logits
from softquery.tasks import (
    DistillSettings,
    PairClassification,
    PairDistillation,
    PairTask,
    centred,
)
from softquery.training import Trainer, TrainingPlan, leave

SHARDS = "teacher"


def taught_run(run: Run, task: PairTask) -> Run:
    """A student's run with its teacher's labels; what else its task says, such as symmetry, stays.

    Args:
        run: A recipe for matching.
        task: The teacher's.
    """
    own = run.task
    if not isinstance(own, PairClassification) or not isinstance(task, PairClassification):
        return replace(run, task=task)
    try:
        return replace(run, task=replace(own, labels=task.labels))
    except ValueError as error:
        raise ConfigError(f"{run.name} cannot learn {len(task.labels)} labels: {error}") from None


def distill_pairs(
    run: Run,
    teacher: PairTeacher,
    files: Sequence[Path],
    options: RunOptions,
    *,
    teacher_name: str,
    teacher_pass: Callable[[DistinctPairs], Parts] | None = None,
) -> Path:
    """Train a student and write its bundle.

    Args:
        run: The student, with its overrides and the teacher's labels.
        teacher: Whose logits are learnt.
        files: The pairs.
        options: Where it writes, what it starts from and who watches; `data` is not used.
        teacher_name: As the card names it.
        teacher_pass: Who asks the teacher; this process where it is None.
    """
    _check_labels(run, teacher.task)
    fabric, target = enter(run.training, options), Path(options.output)
    if fabric is None:
        return target
    folder, say = partial_folder(target), options.say
    given = read_pairs(files, teacher.task, options.rename, say)
    with kept_if_resumable(folder, say, also=f"{SHARDS}/{shard_path(Path(), 0)}"):
        note_settings(
            folder,
            {**run.to_dict(), "teacher": teacher_name, "logits": fingerprint(teacher.files)},
            fingerprint=fingerprint(files),
            resume=options.resume,
        )
        lessons = prepare_pairs(run, given, options.init, say)
        model, prepared = build_prepared(lessons.prepared, say)
        compute = one_by_one(partial(checked_logits, teacher, given))
        if teacher_pass is not None:
            compute = teacher_pass(given)
        write_shards(compute, len(given), folder / SHARDS, say, noun="pairs")
        lessons = replace(lessons, prepared=prepared).taught(_logits(folder / SHARDS, len(given)))
        run, task = prepared.run, _task(prepared.run)
        plan = _plan(lessons, task, fabric.device)
        trainer = train_student(fabric, run, model, plan, task.loss, folder, options)
        _finish(lessons, given, task, trainer, target, teacher_name)
        clear_up(folder, target)
        say(f"bundle written: {target}")
    leave(fabric)
    return target


def _check_labels(run: Run, task: PairTask) -> None:
    if run.task is None or run.task.to_dict() != task.to_dict():
        raise ConfigError(
            "task: a student has the labels of its teacher, which --set cannot change"
        )


def _task(run: Run) -> PairDistillation:
    settings = run.settings if isinstance(run.settings, DistillSettings) else DistillSettings()
    if run.task is None:
        raise ValueError("a student needs its teacher's task")
    return PairDistillation(task=run.task, gold_weight=settings.gold_weight)


def _logits(folder: Path, count: int) -> NDArray[np.float32]:
    return np.concatenate([logits for _, logits in read_shards(folder, count)])


def _plan(lessons: PairLessons, task: PairDistillation, device: torch.device) -> TrainingPlan:
    train, tune = lessons.train.to(device), lessons.tune.to(device)
    return TrainingPlan(
        slots=bucketed_slots(lessons.prepared.run, lessons.train.lengths()),
        make_batch=batches_for(task.task, train),
        measure=partial(_measured, task, pairs=tune),
    )


def _measured(
    task: PairDistillation, model: nn.Module, pairs: Pairs | PiecePairs
) -> dict[str, float]:
    found = measure_pairs(task, model, pairs)
    return {f"tune_{name}": value for name, value in found.items()}


def measure_pairs(
    task: PairDistillation, model: nn.Module, pairs: Pairs | PiecePairs
) -> dict[str, float]:
    """How near the student is to its teacher, and to labels where there are some.

    The correlation of logits is the mean over the classes, each pair's logits less their mean;
    `agreement` is the share of pairs that both give the same label, or the same side of a half.
    """
    if pairs.taught is None:
        raise ValueError("nothing to compare with: these pairs have no logits")
    logits, wanted = pair_logits(model, pairs), pairs.taught.float().cpu()
    check_finite(bool(logits.isfinite().all()))
    found, taught = centred(logits), centred(wanted)
    measured = {
        "correlation": _correlation(found, taught),
        "agreement": float((_decided(logits) == _decided(wanted)).double().mean()),
        "squared_error": float((found - taught).square().mean()),
    }
    gold = pairs.label.cpu()
    known = ~gold.isnan() if gold.is_floating_point() else gold >= 0
    if known.any():
        right = _decided(logits[known]) == _gold_class(gold[known])
        measured["gold_accuracy"] = float(right.double().mean())
    return measured


def _correlation(found: Tensor, wanted: Tensor) -> float:
    """Pearson's, the mean over the columns; 0 for a student that answers all alike."""
    one, other = (each.double() - each.double().mean(dim=0) for each in (found, wanted))
    norms = one.norm(dim=0) * other.norm(dim=0)
    return float(((one * other).sum(dim=0) / norms.clamp(min=1e-12)).mean())


def _decided(logits: Tensor) -> Tensor:
    """The class of each pair: the likeliest, or which side of a half a grade is on."""
    return (logits[:, 0] > 0).long() if logits.shape[1] == 1 else logits.argmax(dim=1)


def _gold_class(gold: Tensor) -> Tensor:
    return (gold > 0.5).long() if gold.is_floating_point() else gold


def _finish(
    lessons: PairLessons,
    given: DistinctPairs,
    task: PairDistillation,
    trainer: Trainer,
    target: Path,
    teacher_name: str,
) -> None:
    """Write the best weights as a bundle, with how near they are to the teacher."""
    prepared, tune = lessons.prepared, lessons.tune
    device = next(trainer.bare.parameters()).device

    def metrics() -> dict[str, object]:
        is_gold = given.is_gold
        found = measure_pairs(task, trainer.bare, tune.to(device))
        counts = {"n": len(tune), "gold_n": int(is_gold[lessons.held_back].sum())}
        return {
            "tune": {**found, **counts},
            "training": {
                **trainer.state.facts(prepared.run.training.seed),
                "pairs": len(lessons.kept),
                "gold_pairs": int(is_gold[lessons.kept].sum()),
                "teacher": teacher_name,
            },
        }

    write_student(
        trainer,
        target,
        kind="matcher",
        model_name=prepared.run.model_name(),
        task=task.task.to_dict(),
        pipeline=prepared.pipeline,
        metrics=metrics,
        card=partial(pair_distill_card, prepared.run, given.files, name=target.name),
        curve="tune_correlation",
    )

"""Distil a teacher: its vectors once, then a student that learns them, and a bundle.

As in `train`, everything lies in `OUTPUT.partial` until the bundle is complete, the teacher's
vectors among it, and an interrupted run goes on from there to the same bytes.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from softquery.data import Slot, TaughtTexts, bucketed
from softquery.files import fingerprint
from softquery.models import PooledEncoder, PooledEncoderConfig
from softquery.recipes.students import DistillRun
from softquery.running.distilling.lessons import (
    GivenLessons,
    LessonFiles,
    Lessons,
    prepare_lessons,
    read_lessons,
)
from softquery.running.distilling.student import (
    fill_table,
    piece_vectors,
    train_student,
    write_student,
)
from softquery.running.distilling.student_start import begun, student_axes, student_vectors
from softquery.running.distilling.teacher import (
    DistinctTexts,
    Floats,
    Parts,
    Teacher,
    one_by_one,
    principal_axes,
    shard_path,
    vectors_of_part,
    write_shards,
    write_targets,
)
from softquery.running.run_card import distill_card
from softquery.running.run_folder import (
    clear_up,
    enter,
    kept_if_resumable,
    note_settings,
    partial_folder,
)
from softquery.running.run_options import RunOptions
from softquery.running.start import Start
from softquery.tasks import Contrast, SentenceDistillation
from softquery.training import Trainer, TrainingPlan, leave

SHARDS, TARGETS = "teacher", "targets.npy"
COMPARED = 1_000
"""Held-back texts whose likeness to each other is measured."""


def distill(
    run: DistillRun,
    teacher: Teacher,
    files: LessonFiles,
    options: RunOptions,
    *,
    teacher_name: str,
    teacher_pass: Callable[[DistinctTexts, int], Parts] | None = None,
    start: Start | None = None,
) -> Path:
    """Train a student and write its bundle.

    Args:
        run: The student, with its overrides.
        teacher: Whose vectors are learnt.
        files: What the student reads; blank texts are passed over.
        options: Where it writes and who watches; `data` is not used.
        teacher_name: As the card names it.
        teacher_pass: Who asks the teacher; this process where it is None.
        start: The sentence encoder that the student begins as; it learns from nothing where it is
            None.
    """
    fabric, target = enter(run.training, options), Path(options.output)
    if fabric is None:
        return target
    folder, say = partial_folder(target), options.say
    given = read_lessons(files, options.rename, say)
    with kept_if_resumable(folder, say, also=f"{SHARDS}/{shard_path(Path(), 0)}"):
        note_settings(
            folder,
            {
                **run.to_dict(),
                "teacher": teacher_name,
                "vectors": fingerprint(teacher.files),
                **({} if start is None else {"init": fingerprint([start.bundle.weights_path])}),
            },
            fingerprint=fingerprint(files.all()),
            resume=options.resume,
        )
        count = len(given.teacher.texts)
        compute = one_by_one(
            partial(vectors_of_part, teacher, given.teacher, run.model.output_size)
        )
        if teacher_pass is not None:
            compute = teacher_pass(given.teacher, run.model.output_size)
        write_shards(compute, count, folder / SHARDS, say, noun="texts")
        axes = _axes(run, given, folder, start)
        if not (folder / TARGETS).exists():
            write_targets(folder / SHARDS, axes, count, folder / TARGETS)
        pipeline = None if start is None else start.pipeline
        lessons = prepare_lessons(run, given, teacher, folder / TARGETS, say, pipeline)
        run, model = _student(run, given, lessons, teacher, axes, start)
        task = _task(run)
        plan = _plan(run, lessons, fabric.device)
        trainer = train_student(fabric, run, model, plan, task.loss, folder, options)
        _finish(run, task, lessons, trainer, target, teacher_name)
        clear_up(folder, target)
        say(f"bundle written: {target}")
    leave(fabric)
    return target


def _axes(run: DistillRun, given: GivenLessons, folder: Path, start: Start | None) -> Floats:
    """Along which of the teacher's axes the student learns."""
    seed, shards = run.training.seed, folder / SHARDS
    if start is not None:
        return student_axes(start, given, shards, seed=seed)
    return principal_axes(shards, len(given.teacher.texts), run.model.output_size, seed)


def _student(
    run: DistillRun,
    given: GivenLessons,
    lessons: Lessons,
    teacher: Teacher,
    axes: Floats,
    start: Start | None,
) -> tuple[DistillRun, nn.Module]:
    """The student before its first step, and the run with the size of its vocabulary."""
    if start is not None:
        return run, begun(run, start)
    if not isinstance(run.model, PooledEncoderConfig):
        raise TypeError(f"{type(run.model).__name__} cannot learn from nothing")
    settings = replace(run.model, vocab_size=lessons.pipeline.vocab_size)
    model = PooledEncoder(settings)
    if not given.is_translated:
        fill_table(model, piece_vectors(teacher, lessons.pipeline.vocabulary(), axes))
    return replace(run, model=settings), model


def _task(run: DistillRun) -> SentenceDistillation:
    likeness, pairs, width = run.likeness, run.pairs, run.model.output_size
    return SentenceDistillation(
        output_size=width,
        prefixes=tuple(prefix for prefix in likeness.prefixes if prefix < width),
        cosine_weight=likeness.cosine_weight,
        likeness_weight=likeness.weight,
        temperature=likeness.temperature,
        contrast=Contrast(
            weight=pairs.weight,
            temperature=pairs.temperature,
            margin=pairs.margin,
            floor=pairs.floor,
        ),
    )


def _plan(run: DistillRun, lessons: Lessons, device: torch.device) -> TrainingPlan:
    train, tune = lessons.train.to(device), lessons.tune.to(device)
    return TrainingPlan(
        slots=partial(_slots, run, lessons.train.lengths().cpu(), lessons.pairs),
        make_batch=train.batch,
        measure=partial(_measured, texts=tune),
    )


def _slots(
    run: DistillRun,
    lengths: Int[Tensor, " N"],
    pairs: Int[Tensor, "P S"] | None,
    epoch: int,
) -> list[Slot]:
    """The batches of an epoch, all of about as many texts: every text once, and every pair once."""
    seed, multiple = run.training.seed, run.data.pad_multiple
    cut = partial(bucketed, seed=seed, epoch=epoch, pad_multiple=multiple)
    slots = cut(lengths, batch_size=run.data.batch_size)
    if pairs is None:
        return slots
    fewer = max(2, run.data.batch_size // pairs.shape[1])
    paired = cut(lengths[pairs].amax(dim=1), batch_size=fewer)
    slots += [replace(slot, rows=pairs[slot.rows]) for slot in paired]
    order = np.random.default_rng([seed, epoch]).permutation(len(slots))
    return [slots[place] for place in order]


def _measured(model: nn.Module, texts: TaughtTexts) -> dict[str, float]:
    return {f"tune_{name}": value for name, value in measure(model, texts).items()}


def measure(model: nn.Module, texts: TaughtTexts) -> dict[str, float]:
    """How near the student is: the mean cosine, and how far both agree on what is alike.

    The second is the correlation between the student's and the teacher's cosines of all pairs of
    some texts, 0 where one of them sees all texts alike.
    """
    if texts.vectors is None:
        raise ValueError("nothing to compare with: these texts have no vectors")
    found, wanted = student_vectors(model, texts), texts.vectors.float().cpu()
    first, second = (
        _above_diagonal(each[:COMPARED] @ each[:COMPARED].T) for each in (found, wanted)
    )
    agreement = torch.corrcoef(torch.stack([first, second]))[0, 1] if len(first) > 1 else 1.0
    told = float(agreement)
    return {
        "cosine": float((found * wanted).sum(dim=-1).mean()),
        "likeness": 0.0 if math.isnan(told) else told,
    }


def _above_diagonal(cosines: Float[Tensor, "N N"]) -> Float[Tensor, " M"]:
    rows, columns = torch.triu_indices(len(cosines), len(cosines), offset=1)
    return cosines[rows, columns]


def _finish(
    run: DistillRun,
    task: SentenceDistillation,
    lessons: Lessons,
    trainer: Trainer,
    target: Path,
    teacher_name: str,
) -> None:
    """Write the best weights as a bundle, with how near they are to the teacher."""

    def metrics() -> dict[str, Any]:
        return {
            "tune": {**measure(trainer.bare, lessons.tune), "n": len(lessons.tune)},
            "training": {
                **trainer.state.facts(run.training.seed),
                "texts": len(lessons.train),
                "pairs": 0 if lessons.pairs is None else len(lessons.pairs),
                "teacher": teacher_name,
            },
        }

    write_student(
        trainer,
        target,
        kind="sentence-encoder",
        model_name=run.model_name(),
        task=task.to_dict(),
        pipeline=lessons.pipeline,
        metrics=metrics,
        card=partial(distill_card, run, name=target.name, num_pieces=lessons.pipeline.vocab_size),
        curve="tune_cosine",
    )

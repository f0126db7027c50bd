"""A student before its first lesson, with its sub-words and their vectors, and after its last."""

import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.models import PooledEncoder
from softquery.recipes import Run
from softquery.recipes.students import DistillRun
from softquery.running.distilling.teacher import Teacher, checked
from softquery.running.run_options import RunOptions
from softquery.runtime.torch_models import config_of
from softquery.text import (
    BERT_RESERVED,
    CONTINUATION,
    TextPipeline,
    build_pipeline,
    pipeline_from_pieces,
)
from softquery.training import BEST, Trainer, TrainingPlan, draw_curves, load_tensors

Floats = NDArray[np.float32]
PART = 65_536
"""Texts that are cut into pieces at a time."""
SPREAD = 0.3
"""Standard deviation of the vectors that a body reads first."""


def student_pipeline(
    run: DistillRun, texts: Sequence[str], vocabulary: Sequence[str] | None
) -> TextPipeline:
    """How the student cuts texts.

    Args:
        run: How many sub-words it has.
        texts: By which they are chosen, or learnt.
        vocabulary: The teacher's sub-words; None to learn them from the texts.
    """
    size, least = run.pieces.size, run.pieces.min_count
    if vocabulary is None:
        return build_pipeline(texts, run.text, vocab_size=size, min_count=least)
    whole = pipeline_from_pieces(list(vocabulary), run.text)
    return pipeline_from_pieces(frequent_pieces(whole, texts, size, least), run.text)


def frequent_pieces(
    pipeline: TextPipeline, texts: Sequence[str], size: int, min_count: int
) -> list[str]:
    """The reserved pieces, every character that occurs, and the most frequent other pieces.

    With all its characters a word can always be cut, however rare it is; ASCII's stay in any case.
    Pieces keep the order that they have in the vocabulary.
    """
    counts: Counter[int] = Counter()
    for start in range(0, len(texts), PART):
        for ids in pipeline.encode_ids(list(texts[start : start + PART])):
            counts.update(ids)
    entries = pipeline.vocabulary()
    letters = {letter for number in counts for letter in entries[number].removeprefix(CONTINUATION)}
    letters.update(string.printable)
    kept = set(BERT_RESERVED)
    kept.update(piece for piece in entries if piece.removeprefix(CONTINUATION) in letters)
    by_count = sorted(range(len(entries)), key=lambda number: (-counts[number], number))
    for number in by_count:
        if len(kept) >= size or counts[number] < min_count:
            break
        kept.add(entries[number])
    rest = [piece for piece in entries if piece in kept and piece not in BERT_RESERVED]
    return [*BERT_RESERVED, *rest]


def piece_vectors(teacher: Teacher, pieces: Sequence[str], axes: Floats) -> Floats | None:
    """The teacher's vectors of the pieces by themselves, along the student's axes.

    None where the teacher is a file, which has no vectors of pieces.
    """
    vectors = teacher.encode([piece.removeprefix(CONTINUATION) for piece in pieces])
    return None if vectors is None else checked(vectors, 0) @ axes


def fill_table(model: PooledEncoder, vectors: Floats | None) -> None:
    """Begin with given vectors of the pieces, where there are some.

    Where nothing reads the table, its output layer begins as the identity, so that a text's vector
    is the mean of its pieces' (as in Tulkens & van Dongen's model2vec). A body reads vectors of a
    usual spread.

    Args:
        model: The student.
        vectors: One row per piece, as wide as a sentence's vector, or wider than the table.
    """
    if vectors is None:
        return
    table = torch.from_numpy(vectors[:, : model.config.embedding_size].copy())
    if model.body is None:
        nn.init.eye_(model.output.weight)
        nn.init.zeros_(model.output.bias)
    else:
        table = table * (SPREAD / table.std())
    model.embedder.table.weight.data[:, : table.shape[1]].copy_(table)
    model.embedder.table.weight.data[0].zero_()


def train_student(
    fabric: Fabric,
    run: DistillRun | Run,
    model: nn.Module,
    plan: TrainingPlan,
    loss: Callable[[Any, Any], Tensor],
    folder: Path,
    options: RunOptions,
) -> Trainer:
    """Train on the run's device, from the beginning or from where an earlier run ended."""
    trainer = Trainer(
        fabric,
        model.to(fabric.device),
        plan,
        loss=loss,
        optim=run.optim,
        schedule=run.schedule,
        training=run.training,
        folder=folder,
    )
    trainer.run(options.observer, resume=options.resume)
    return trainer


def write_student(
    trainer: Trainer,
    target: Path,
    *,
    kind: str,
    model_name: str,
    task: dict[str, Any],
    pipeline: TextPipeline,
    metrics: Callable[[], dict[str, Any]],
    card: Callable[[Mapping[str, Any]], str],
    curve: str,
) -> None:
    """Take up the best weights, measure them, and write them as a bundle.

    Args:
        trainer: Has ended.
        target: The bundle.
        kind: Of the bundle.
        model_name: In the registry.
        task: As it stands in the bundle's config.
        pipeline: Of the student's texts.
        metrics: Measures the trainer's model, which has the best weights by then.
        card: From the metrics to the card.
        curve: The metric whose course is drawn.
    """
    model, records = trainer.bare, trainer.folder / RECORDS
    best, _ = load_tensors(trainer.folder / BEST)
    model.load_state_dict(best)
    found = metrics()
    draw_curves(trainer.state.rows, curve, records / "curves.png")
    write_bundle(
        target,
        config=BundleConfig(
            kind=kind,
            model={"name": model_name, "config": config_of(model)},
            task=task,
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.cpu().numpy() for name, value in model.state_dict().items()},
        metrics=found,
        card=card(found),
        records=records,
    )

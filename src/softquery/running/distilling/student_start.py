"""A student that begins as a sentence encoder that exists, and the axes along which it goes on.

N texts, D the teacher's width, E the student's.
"""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from softquery.bundle import read_bundle
from softquery.data import Sentences, TaughtTexts, in_order
from softquery.errors import BundleError
from softquery.recipes.students import DistillRun, going_on
from softquery.running.distilling.lessons import GivenLessons
from softquery.running.distilling.teacher import read_shards
from softquery.running.start import Start
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_device import evaluating
from softquery.runtime.torch_models import load_task_model
from softquery.text import TextConfig
from softquery.zoo import resolve

Floats = NDArray[np.float32]
COMPARED = 20_000
"""The most texts by which the student's axes are found in the teacher's vectors."""


def read_student(init: str | PathLike[str]) -> tuple[DistillRun, Start]:
    """Open the sentence encoder that a run goes on with, and the run that fits it."""
    folder = resolve(str(init))
    bundle = read_bundle(folder)
    if bundle.config.kind != "sentence-encoder":
        raise BundleError(
            f"{bundle.path}: expected a sentence encoder to go on with, "
            f"found a {bundle.config.kind}"
        )
    if TextConfig.from_dict(bundle.config.text).unit != "bert":
        raise BundleError(f"{bundle.path}: does not read sub-words as BERT does (text.unit=bert)")
    model = load_task_model(bundle)
    start = Start(bundle=bundle, model=model, pipeline=fitting_pipeline(bundle))
    prefixes = tuple(bundle.config.task.get("prefixes", ()))
    return going_on(model.config, start.pipeline.config, prefixes), start


def student_axes(
    start: Start, given: GivenLessons, folder: Path, *, seed: int
) -> Float[NDArray[np.float32], "D E"]:
    """The axes in the teacher's vectors that come nearest to the student's numbers.

    A student that was taught along some axes of its own would unlearn them under any others. These
    are what Schönemann (1966, "A generalized solution of the orthogonal Procrustes problem")
    finds, so that no cosine of the teacher's is changed beyond what its width costs.

    Args:
        start: The student, as it begins.
        given: What is read by the student and by the teacher.
        folder: The teacher's vectors in shards.
        seed: Of the sample of texts.
    """
    order = np.random.default_rng(seed).permutation(len(given.texts))[:COMPARED]
    order.sort()
    ids = start.pipeline.encode_ids([given.texts[number] for number in order])
    own = student_vectors(start.model, TaughtTexts(Sentences.pack(ids)))
    rows = np.asarray(given.taught_by)[order]
    moment: Any = 0.0
    for first, vectors in read_shards(folder, len(given.teacher.texts)):
        inside = np.flatnonzero((rows >= first) & (rows < first + len(vectors)))
        theirs = vectors[rows[inside] - first].astype(np.float64)
        moment = moment + theirs.T @ own[torch.from_numpy(inside)].double().numpy()
    left, _, right = np.linalg.svd(moment, full_matrices=False)
    found: Floats = (left @ right).astype(np.float32)
    return found


@torch.inference_mode()
def student_vectors(
    model: nn.Module, texts: TaughtTexts, *, batch_size: int = 1024
) -> Float[Tensor, "N E"]:
    """The student's vectors of all texts, in their order, on the CPU."""
    device = next(model.parameters()).device
    answers: Tensor | None = None
    with evaluating(model):
        for slot in in_order(texts.lengths().cpu(), batch_size=batch_size):
            found = model(texts.batch(slot.rows.to(device), slot.length)).vectors.float().cpu()
            if answers is None:
                answers = found.new_empty(len(texts), found.shape[1])
            answers[slot.rows] = found
    return torch.empty(0, 0) if answers is None else answers


def begun(run: DistillRun, start: Start) -> nn.Module:
    """The student with its weights, as the run has its settings."""
    model: nn.Module = type(start.model)(run.model)
    model.load_state_dict(start.model.state_dict())
    return model

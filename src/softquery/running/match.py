"""Pairs of sentences: rows with `sentence1`, `sentence2` and `label`."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from softquery.data import Pairs, PiecePairs, encode_pairs, first_sentence
from softquery.errors import counted
from softquery.files import Row, read_rows
from softquery.measure import accuracy, auc, spearman
from softquery.models import REGISTRY
from softquery.recipes import Run
from softquery.running.adapter import (
    Prepared,
    TaskAdapter,
    bucketed_slots,
    check_finite,
    vocabulary_of,
)
from softquery.running.row_checks import Answered, Rows, found_labels
from softquery.running.run_options import Say
from softquery.runtime.torch_models import pair_logits
from softquery.tasks import PairClassification, PairTask
from softquery.text import TextPipeline
from softquery.training import TrainingPlan

COLUMNS = ("sentence1", "sentence2", "label")
TEACHER = "probabilities"
"""An optional column of the training files: what a teacher thinks of each row."""


class MatchAdapter(TaskAdapter):
    """Matching as a `TaskAdapter`."""

    kind: ClassVar[str] = "matcher"
    noun: ClassVar[str] = "pairs"

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[Row]:
        """The rows of a file."""
        return read_rows(path, columns=COLUMNS, optional=(TEACHER,), rename=rename)

    def group(self, row: Row) -> Hashable:
        """Pairs that share their first sentence stay together."""
        return first_sentence(row)

    def identity(self, row: Row) -> Hashable:
        """Both sentences."""
        return _pair(row)

    def labels(self, row: Row) -> Sequence[str]:
        """The one label."""
        return (row.values["label"],)

    def answered(self, row: Row) -> Answered | None:
        """Both sentences and their label; nothing where a teacher answers instead."""
        if row.values.get(TEACHER):
            return None
        return Answered(self.identity(row), row.values["label"], row.number)

    def chance(self, prepared: Prepared, split: str) -> float | None:
        """That of the most frequent class; of any order where pairs are ranked or graded."""
        task: PairTask = prepared.task
        if not isinstance(task, PairClassification):
            return 0.0
        if task.steers_by == "auc":
            return 0.5
        counts = Counter(row.values["label"] for row in prepared.rows[split])
        return max(counts.values()) / counts.total()

    def written(self, row: Row) -> str:
        """All columns that are read."""
        return "\t".join(row.values[name] for name in (*COLUMNS, TEACHER) if name in row.values)

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """Without a task, the classes are those of the training rows."""
        if run.task is not None:
            return run
        return replace(run, task=PairClassification(labels=found_labels(rows, labels)))

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """The words of all sentences."""
        return vocabulary_of(run, (text for row in rows["train"] for text in _pair(row)))

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, to_train: bool = False
    ) -> Pairs | PiecePairs:
        """Tokenise one split, and say what was cut."""
        task = prepared.task
        learns_soft = to_train and isinstance(task, PairClassification)
        pairs = encode_pairs(
            rows,
            prepared.pipeline,
            parse_label=task.parse_label,
            parse_distribution=task.parse_distribution if learns_soft else None,
            max_characters=prepared.max_characters,
        )
        if pairs.num_cut:
            limit = prepared.pipeline.config.max_tokens
            many = counted(pairs.num_cut, "sentence was", "sentences were")
            say(f"{name}: {many} cut at {limit} tokens")
        if REGISTRY[prepared.run.model_name()].has_encoder:
            return PiecePairs(pairs.first, pairs.second, pairs.label, pairs.num_cut)
        return pairs

    def plan(
        self, prepared: Prepared, train: Pairs | PiecePairs, tune: Pairs | PiecePairs
    ) -> TrainingPlan:
        """Shuffled batches, and accuracy or correlation."""
        task: PairTask = prepared.task
        return TrainingPlan(
            slots=bucketed_slots(prepared.run, train.lengths().cpu()),
            make_batch=batches_for(task, train),
            measure=lambda model: _measured(task, model, tune),
        )

    def report(
        self, prepared: Prepared, model: nn.Module, dev: Pairs | PiecePairs
    ) -> dict[str, Any]:
        """Accuracy and its kin, or correlations."""
        probabilities = prepared.task.probabilities(pair_logits(model, dev))
        found: dict[str, Any] = prepared.task.report(dev.label.cpu().numpy(), probabilities.numpy())
        return found


def batches_for(task: PairTask, train: Pairs | PiecePairs) -> Any:
    """Makes batches, with each pair twice where two passes are to agree, in both orders if it may.

    Args:
        task: Says so.
        train: The pairs, on their device.
    """
    if not isinstance(task, PairClassification) or not (task.consistency > 0 or task.symmetric):
        return train.batch
    twice = task.consistency > 0

    def make_batch(rows: Tensor, length: int) -> Any:
        batch = train.batch(rows.repeat(2) if twice else rows, length)
        if not task.symmetric:
            return batch
        places = torch.arange(batch.size, device=rows.device)
        return batch.swapped(places >= len(rows) if twice else places % 2 == 1)

    return make_batch


def _measured(task: PairTask, model: nn.Module, tune: Pairs | PiecePairs) -> dict[str, float]:
    """The metric that steers, and the loss on the tune set."""
    logits = pair_logits(model, tune)
    check_finite(bool(logits.isfinite().all()))
    gold = tune.label.cpu()
    probabilities = task.probabilities(logits).numpy()
    if isinstance(task, PairClassification) and task.steers_by == "auc":
        score = float(np.nan_to_num(auc(gold.numpy(), probabilities[:, 1])))
    elif isinstance(task, PairClassification):
        score = accuracy(gold.numpy(), probabilities.argmax(axis=1))
    else:
        # Undefined for a model that answers all alike; that is as bad as no correlation.
        score = float(np.nan_to_num(spearman(gold.numpy(), probabilities[:, 0])))
    loss = task.loss_of_logits(logits, gold)
    return {f"tune_{task.steers_by}": score, "tune_loss": float(loss)}


def _pair(row: Row) -> tuple[str, str]:
    return row.values["sentence1"], row.values["sentence2"]

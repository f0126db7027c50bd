"""Texts with a class each: rows with `text` and `label`."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.answers import parse_class, parse_distribution
from softquery.data import Documents, Slot, Texts, document_slots, encode_labels
from softquery.data.documents import MOST_WORDS
from softquery.errors import ConfigError, counted
from softquery.files import Row, read_rows
from softquery.recipes import ClassifySettings, Run
from softquery.running.adapter import (
    Prepared,
    TaskAdapter,
    bucketed_slots,
    check_finite,
    vocabulary_of,
)
from softquery.running.match import TEACHER
from softquery.running.row_checks import Answered, Rows, found_labels
from softquery.running.run_options import Say
from softquery.runtime.classify.backend import limit_of, reading_of
from softquery.runtime.classify.torch import class_logits, packed
from softquery.tasks import TextClassification
from softquery.text import TextInput, TextPipeline
from softquery.training import TrainingPlan

COLUMNS = ("text", "label")
NO_LIMIT = 2**62


class ClassifyAdapter(TaskAdapter):
    """Classes of texts as a `TaskAdapter`."""

    kind: ClassVar[str] = "classifier"
    noun: ClassVar[str] = "texts"

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[Row]:
        """The rows of a file."""
        return read_rows(path, columns=COLUMNS, optional=(TEACHER,), rename=rename)

    def group(self, row: Row) -> Hashable:
        """Equal texts stay together."""
        return row.values["text"]

    def identity(self, row: Row) -> Hashable:
        """The text."""
        return row.values["text"]

    def labels(self, row: Row) -> Sequence[str]:
        """The one label."""
        return (row.values["label"],)

    def answered(self, row: Row) -> Answered | None:
        """The text and its class; nothing where a teacher answers instead."""
        if row.values.get(TEACHER):
            return None
        return Answered(self.identity(row), row.values["label"], row.number)

    def chance(self, prepared: Prepared, split: str) -> float | None:
        """That of the most frequent class."""
        task: TextClassification = prepared.task
        gold = np.array([parse_class(row.values["label"], task.labels)
                         for row in prepared.rows[split]])  # fmt: skip
        return task.score(gold, np.full_like(gold, np.bincount(gold).argmax()))

    def written(self, row: Row) -> str:
        """All columns that are read."""
        return "\t".join(row.values[name] for name in (*COLUMNS, TEACHER) if name in row.values)

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """Without a task, the classes are those of the training rows."""
        _check_text(run)
        if run.task is not None:
            return run
        found = found_labels(rows, labels, advice="")
        if not labels or found != tuple(labels):
            shown = ", ".join([*found[:9], *(["…"] if len(found) > 9 else [])])
            say(f"classes: {len(found)} ({shown})")
        settings = run.settings
        if not isinstance(settings, ClassifySettings):
            settings = ClassifySettings()
        try:
            return replace(run, task=TextClassification(labels=found, **asdict(settings)))
        except ValueError as error:
            raise ConfigError(f"classes: {error}") from None

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """The words of all texts."""
        return vocabulary_of(run, (row.values["text"] for row in rows["train"]))

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, to_train: bool = False
    ) -> Texts | Documents:
        """Texts as token ids, and what was cut."""
        reading, pipeline = _reading(prepared.run), prepared.pipeline
        labels = prepared.task.labels
        label = encode_labels(
            rows,
            parse_label=partial(parse_class, labels=labels),
            parse_distribution=partial(parse_distribution, labels=labels) if to_train else None,
        )
        read = reading.encode([row.values["text"] for row in rows], pipeline)
        num_cut = sum(each.num_cut > 0 for each in read)
        if num_cut:
            many = counted(num_cut, "text was", "texts were")
            say(f"{name}: {many} cut at {limit_of(reading, pipeline)}")
        if num_empty := sum(not any(each.sentences) for each in read):
            say(f"{name}: {counted(num_empty, 'text holds', 'texts hold')} no word")
        made = packed(
            [each.sentences for each in read],
            reading,
            pipeline,
            max_characters=getattr(prepared.run.model, "max_characters", 0),
        )
        return replace(made, label=label, num_cut=num_cut)

    def plan(
        self, prepared: Prepared, train: Texts | Documents, tune: Texts | Documents
    ) -> TrainingPlan:
        """Shuffled batches, and the metric on the tune set."""
        task: TextClassification = prepared.task

        def make_batch(rows: Tensor, length: int) -> Any:
            """The texts of these rows, each twice where two passes are to agree."""
            return train.batch(rows.repeat(2) if task.consistency > 0 else rows, length)

        return TrainingPlan(
            slots=_slots(prepared.run, train),
            make_batch=make_batch,
            measure=lambda model: _measured(task, model, tune),
        )

    def report(
        self, prepared: Prepared, model: nn.Module, dev: Texts | Documents
    ) -> dict[str, Any]:
        """Accuracy and its kin."""
        probabilities = prepared.task.probabilities(class_logits(model, dev))
        gold = dev.label.cpu().numpy()  # type: ignore[union-attr]
        found: dict[str, Any] = prepared.task.report(gold, probabilities.numpy())
        return found


def _slots(run: Run, train: Texts | Documents) -> Callable[[int], Sequence[Slot]]:
    """Batches of texts of like length, or of documents of like shape."""
    if isinstance(train, Texts):
        return bucketed_slots(run, train.lengths().cpu())
    files, shapes = run.data, train.shapes(run.data.pad_multiple)

    def slots(epoch: int) -> Sequence[Slot]:
        return document_slots(
            shapes,
            batch_size=files.batch_size,
            num_tokens=files.num_tokens or NO_LIMIT,
            seed=run.training.seed,
            epoch=epoch,
        )

    return slots


def _measured(
    task: TextClassification, model: nn.Module, tune: Texts | Documents
) -> dict[str, float]:
    """The metric that steers, accuracy, and the loss on the tune set."""
    logits = class_logits(model, tune)
    check_finite(bool(logits.isfinite().all()))
    gold = tune.label.cpu()  # type: ignore[union-attr]
    predicted = logits.argmax(dim=1)
    accuracy = float((predicted == gold).double().mean())
    return {
        f"tune_{task.steers_by}": task.score(gold.numpy(), predicted.numpy()),
        "tune_accuracy": accuracy,
        "tune_loss": float(F.cross_entropy(logits, gold)),
    }


def _check_text(run: Run) -> None:
    """Refuse text settings that the model cannot read by."""
    reading = _reading(run)
    if run.text.boundaries and (run.elmo is not None or reading.max_sentences):
        raise ConfigError(
            f"text.boundaries must be false: {run.name} reads sentences without their ends"
        )
    if reading.max_sentences and run.text.max_tokens > MOST_WORDS:
        raise ConfigError(
            f"text.max_tokens must be at most {MOST_WORDS:,} words of a sentence, "
            f"got {run.text.max_tokens:,}"
        )
    if run.elmo is None and reading.tokens == "words":
        raise ConfigError("model.max_characters is a biLM's; leave it at 0 where there is none")


def _reading(run: Run) -> TextInput:
    return reading_of(asdict(run.model))

"""From a data folder to everything that training needs, and what differs between tasks on the way.

Matching, classifying, tagging, reading and generating share one way from rows to a bundle. A
`TaskAdapter` is what one task puts into it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from softquery.data import Slot, bucketed, in_order, split_rows, take_share
from softquery.errors import ConfigError, InputError, counted
from softquery.files import fill_table, find_split, read_vectors
from softquery.recipes import Run
from softquery.recipes.fitted import RunFit
from softquery.running.row_checks import Answered, Rows
from softquery.running.run_folder import recorded_values
from softquery.running.run_options import RunOptions, Say
from softquery.running.start import Start, begin
from softquery.text import TextPipeline, build_pipeline, pipeline_from_words
from softquery.training import Loss, TrainingPlan

Folder = str | PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What is known before a model is built: rows, labels, vocabulary, and where weights start."""

    run: Run
    """With sizes and labels filled in."""
    task: Any
    rows: Rows
    pipeline: TextPipeline
    fingerprint: str = ""
    """Hash of the training rows: a resumed run must see the same ones."""
    num_shared: int = 0
    """Rows of dev that are also in train."""
    source_pipeline: TextPipeline | None = None
    """For a generator's sources, where they have a vocabulary of their own."""
    table: np.ndarray[Any, np.dtype[np.float32]] | None = None
    """Pretrained word vectors, one row per entry of the vocabulary, or of that of the sources."""
    start: Start | None = None
    """The bundle whose weights the run starts from."""
    max_characters: int | None = None
    """Symbols by which words are spelt for a biLM inside the model."""
    fit: RunFit = RunFit(chosen=None)
    """Which values follow from the data."""


class TaskAdapter(Protocol):
    """How rows of a task are read, encoded, learnt from and measured."""

    kind: ClassVar[str]
    """Of the bundle, such as `"matcher"`."""
    noun: ClassVar[str]
    """What a row is called, in the plural."""

    forms: ClassVar[Sequence[str] | None] = None
    """Endings that its files may have; those of tables where it names none."""

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[Any]:
        """The rows of a file."""

    def read(
        self, run: Run, folder: Folder, split: str, rename: Mapping[str, str] | None, say: Say
    ) -> list[Any]:
        """The rows of one split."""
        path = find_split(folder, split, forms=self.forms)
        say(f"reading {path}")
        rows = list(self.parse(path, rename))
        if not rows:
            raise InputError(f"holds no {self.noun if self.forms else 'rows'}", source=path)
        return rows

    def group(self, row: Any) -> Hashable:
        """Rows with the same group are held back together."""

    def identity(self, row: Any) -> Hashable:
        """By which a row of dev is found in train."""

    def written(self, row: Any) -> str:
        """All that training sees of a row, for the fingerprint."""

    def labels(self, row: Any) -> Sequence[str]:
        """The labels that a row has; none for a task without any."""
        return ()

    def answered(self, row: Any) -> Answered | None:
        """A row beside which another answer would be a contradiction; None for other tasks."""
        return None

    def chance(self, prepared: "Prepared", split: str) -> float | None:
        """What one answer to everything gets on a split, by the metric that steers.

        None where that says nothing.
        """
        return None

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """The run with its task, found in the rows where it has none.

        Args:
            run: The recipe.
            rows: All splits.
            labels: Those of the bundle that the run starts from: where the rows have the same
                ones, they keep their order.
            say: Receives a line about what was found.
        """

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """The vocabulary of the training rows; a `ValueError` where the settings allow none."""

    def build_source_pipeline(self, run: Run, rows: Rows) -> TextPipeline | None:
        """The vocabulary of the sources, for a task whose sources may have one of their own."""
        return None

    def encode(
        self, rows: list[Any], prepared: Prepared, say: Say, name: str, *, to_train: bool = False
    ) -> Any:
        """A split as tensors.

        Args:
            rows: Of the split.
            prepared: Pipeline and task.
            say: Receives a line about what was cut.
            name: Of the split.
            to_train: Learn from a teacher's probabilities where rows have them, and leave out rows
                that say nothing.
        """

    def num_trained(self, rows: list[Any], train: Any) -> int:
        """How many training rows are learnt from, once they are tensors."""
        return len(rows)

    def plan(self, prepared: Prepared, train: Any, tune: Any) -> TrainingPlan:
        """Batches and the metric on the tune set, from splits that lie on the device."""

    def report(self, prepared: Prepared, model: nn.Module, dev: Any) -> dict[str, Any]:
        """The task's metrics on dev."""


def prepare(run: Run, adapter: TaskAdapter, options: RunOptions, say: Say) -> Prepared:
    """Read the rows, and settle labels, vocabulary and embedding table."""
    recorded = recorded_values(options.output) if options.resume else None
    fit = RunFit(chosen=options.chosen, recorded=recorded)
    run, fit, rows, fingerprint, num_shared = read_splits(run, adapter, options, fit, say)
    run, fit = fit.rows(run, len(rows["train"]))
    prepared = prepare_rows(run, adapter, rows, options.init, say)
    return replace(prepared, fingerprint=fingerprint, num_shared=num_shared, fit=fit)


def prepare_rows(
    run: Run, adapter: TaskAdapter, rows: Rows, init: Folder | None, say: Say
) -> Prepared:
    """Settle labels, vocabulary and embedding table of rows that were read."""
    start = None
    if init is not None or run.bert is not None:
        run, start = begin(run, init, say)
    run = adapter.settle(run, rows, () if start is None else start.labels, say)
    pipeline, source_pipeline = _pipelines(run, adapter, rows, start, say)
    table = None
    if run.vectors and start is None:
        entries = (source_pipeline or pipeline).vocabulary()
        table, coverages = fill_table(entries, run.vectors, size=None, seed=run.training.seed)
        for path, coverage in zip(run.vectors, coverages, strict=True):
            say(f"{path}: {coverage}")
    try:
        model = replace(run.model, **_sizes(run, pipeline, source_pipeline, table))
    except ValueError as error:  # such as a head that cannot tell so many labels apart
        raise ConfigError(f"model: {error}") from None
    return Prepared(
        run=replace(run, model=model, text=pipeline.config),
        task=run.task,
        rows=rows,
        pipeline=pipeline,
        source_pipeline=source_pipeline,
        table=table,
        start=start,
    )


def read_splits(
    run: Run, adapter: TaskAdapter, options: RunOptions, fit: RunFit, say: Say
) -> tuple[Run, RunFit, Rows, str, int]:
    """The rows of all splits, their fingerprint, and how many of dev are also in train.

    Before them the run, with a share to hold back that suits the number of rows.
    """
    folder, rename, splits = options.data, options.rename, run.data.train
    rows = [row for split in splits for row in adapter.read(run, folder, split, rename, say)]
    run, fit = fit.held_back(run, len({adapter.group(row) for row in rows}))
    files, seed = run.data, run.training.seed
    if files.tune is None:
        train, tune = split_rows(rows, share=files.tune_share, seed=seed, key=adapter.group)
    else:
        train, tune = rows, adapter.read(run, folder, files.tune, rename, say)
    if not train or not tune:
        raise InputError(
            f"{counted(len(rows), 'row is', 'rows are')} too few to train on and to hold back "
            f"{files.tune_share:.0%} of them (data.tune_share)",
            source=folder,
        )
    dev = adapter.read(run, folder, files.dev, rename, say)
    known = {adapter.identity(row) for row in rows}
    shared = sum(adapter.identity(row) in known for row in dev)
    if shared:
        many = f"{shared:,} of {len(dev):,} dev {adapter.noun}"
        say(f"warning: {many} also stand in the training data")
    kept = {"train": take_share(train, share=files.share, seed=seed), "tune": tune, "dev": dev}
    return run, fit, kept, _fingerprint(adapter.written(row) for row in rows), shared


def _fingerprint(written: Iterable[str]) -> str:
    digest = sha256()
    for line in written:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()[:16]


def _pipelines(
    run: Run, adapter: TaskAdapter, rows: Rows, start: Start | None, say: Say
) -> tuple[TextPipeline, TextPipeline | None]:
    """Those of the bundle that the run starts from, or new ones of the training rows."""
    if start is not None:
        return start.pipeline, start.source_pipeline
    try:
        made = adapter.build_pipeline(run, rows)
    except ValueError as error:  # such as a limit below what the characters need
        raise ConfigError(f"vocabulary: {error}") from None
    try:
        source = adapter.build_source_pipeline(run, rows)
    except ValueError as error:
        raise ConfigError(f"vocabulary of the source: {error}") from None
    made, source = (
        (_with_frequent(run, made), None) if source is None else (made, _with_frequent(run, source))
    )
    say(f"vocabulary: {made.vocab_size:,} entries ({run.text.unit})")
    if source is not None:
        say(f"vocabulary of the source: {source.vocab_size:,} entries ({run.text.unit})")
    return made, source


def _with_frequent(run: Run, pipeline: TextPipeline) -> TextPipeline:
    """With the most frequent words of the first vectors file, where the run asks for them."""
    if not (run.vocabulary.from_vectors and run.vectors):
        return pipeline
    frequent = read_vectors(run.vectors[0]).words[: run.vocabulary.from_vectors]
    try:
        return pipeline_from_words([*pipeline.vocabulary(), *frequent], run.text)
    except ValueError as error:
        raise ConfigError(f"vocabulary: {error}") from None


def _sizes(
    run: Run, pipeline: TextPipeline, source: TextPipeline | None, table: Any
) -> dict[str, Any]:
    """Those settings of the model that the data decides."""
    names = {each.name for each in fields(run.model)}
    if "source_vocab_size" in names:
        size = (source or pipeline).vocab_size
        wide = {} if table is None else {"embedding_size": table.shape[1]}
        return {"source_vocab_size": size, "target_vocab_size": pipeline.vocab_size, **wide}
    labels = {"output_size": run.task.output_size} if run.task is not None else {}
    if "encoder" in names:  # published tables may be longer than their vocabulary
        size = max(pipeline.vocab_size, run.model.encoder.vocab_size)
        return {"encoder": replace(run.model.encoder, vocab_size=size), **labels}
    width = run.model.embedding_size if table is None else table.shape[1]
    return {"vocab_size": pipeline.vocab_size, "embedding_size": width, **labels}


def vocabulary_of(run: Run, texts: Iterable[str]) -> TextPipeline:
    """The text pipeline whose vocabulary is that of some texts, as large as the run allows."""
    size, count = run.vocabulary.size, run.vocabulary.min_count
    return build_pipeline(texts, run.text, vocab_size=size, min_count=count)


def bucketed_slots(run: Run, lengths: Tensor) -> Callable[[int], Sequence[Slot]]:
    """Batches of rows of like length, shuffled anew each epoch; for a `TrainingPlan`."""
    files, seed = run.data, run.training.seed

    def slots(epoch: int) -> Sequence[Slot]:
        return bucketed(
            lengths,
            batch_size=files.batch_size,
            seed=seed,
            epoch=epoch,
            pad_multiple=files.pad_multiple,
        )

    return slots


@torch.inference_mode()
def mean_loss(loss: Loss, model: nn.Module, rows: Any, *, batch_size: int = 256) -> float:
    """The mean loss of a split that has labels, in evaluation."""
    was_training, device, total = model.training, next(model.parameters()).device, 0.0
    model.eval()
    for slot in in_order(rows.lengths().cpu(), batch_size=batch_size):
        batch = rows.batch(slot.rows.to(device), slot.length)
        total += float(loss(model(batch), batch)) * len(slot.rows)
    model.train(was_training)
    return total / len(rows)


def check_finite(is_finite: bool) -> None:
    """Refuse to go on with a model whose answers are no numbers."""
    if not is_finite:
        raise ConfigError(
            "the run diverged: the model's answers are no longer finite; "
            "lower optim.lr, or raise optim.eps or schedule.warmup_steps"
        )

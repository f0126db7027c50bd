"""From a data folder to everything a run needs: rows, labels, vocabulary, table."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from softquery.data import split_rows, take_share
from softquery.errors import ConfigError, InputError, counted
from softquery.files import fill_table, read_vectors
from softquery.recipes.run import Run
from softquery.running.adapter import Folder, Prepared, Say, SourceRows, TaskAdapter
from softquery.running.generate import GenerateAdapter
from softquery.tasks import Generation
from softquery.text import TextPipeline, pipeline_from_words


def read_source(
    run: Run, work: TaskAdapter, folder: Folder, rename: Mapping[str, str] | None, say: Say
) -> SourceRows:
    """Read the splits that the run names."""
    files, seed = run.data, run.training.seed
    rows = [row for split in files.train for row in work.read(folder, split, rename, say)]
    if files.tune is None:
        train, tune = split_rows(rows, share=files.tune_share, seed=seed, key=work.group)
    else:
        train, tune = rows, work.read(folder, files.tune, rename, say)
    if not train or not tune:
        raise InputError(
            f"{counted(len(rows), 'row is', 'rows are')} too few to train on and to hold back "
            f"{files.tune_share:.0%} of them (data.tune_share)",
            source=folder,
        )
    dev = work.read(folder, files.dev, rename, say)
    known = {work.identity(row) for row in rows}
    shared = sum(work.identity(row) in known for row in dev)
    if shared:
        say(f"warning: {shared:,} of {len(dev):,} dev {work.noun} also stand in the training data")
    return SourceRows(
        train=take_share(train, share=files.share, seed=seed),
        tune=tune,
        dev=dev,
        fingerprint=_fingerprint(work.written(row) for row in rows),
        num_shared=shared,
    )


def _fingerprint(written: Iterable[str]) -> str:
    digest = sha256()
    for line in written:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()[:16]


def prepare(
    run: Run,
    work: TaskAdapter,
    source: SourceRows,
    say: Say,
    *,
    pipeline: TextPipeline | None = None,
    source_pipeline: TextPipeline | None = None,
) -> Prepared:
    """Settle labels, vocabulary and embedding table.

    Args:
        run: The recipe.
        work: What its task does with rows.
        source: The rows.
        say: Told what happens.
        pipeline: The text pipeline of the bundle that the run starts from, where it does.
        source_pipeline: That of its sources, where they have one of their own.
    """
    run = work.settle(run, source, say)
    task: Any = run.task
    kept = pipeline is not None
    made = pipeline or _build_pipeline(run, work, source, say)
    if isinstance(work, GenerateAdapter) and not kept:
        source_pipeline = _build_source_pipeline(run, work, source, say)
    table = None
    if run.vectors and not kept:
        table, coverages = fill_table(
            made.vocabulary(), run.vectors, size=None, seed=run.training.seed
        )
        for path, coverage in zip(run.vectors, coverages, strict=True):
            say(f"{path}: {coverage}")
    try:
        model = replace(run.model, **_sizes(run, task, made, source_pipeline, table))
    except ValueError as error:  # such as a head that cannot tell so many labels apart
        raise ConfigError(f"model: {error}") from None
    settled = replace(run, model=model, text=made.config)
    return Prepared(
        run=settled,
        task=task,
        pipeline=made,
        source_pipeline=source_pipeline,
        table=table,
        source=source,
    )


def _sizes(
    run: Run, task: Any, pipeline: TextPipeline, reading: TextPipeline | None, table: Any
) -> dict[str, Any]:
    """Those settings of the model that the data decides."""
    if isinstance(task, Generation):
        source = (reading or pipeline).vocab_size
        return {"source_vocab_size": source, "target_vocab_size": pipeline.vocab_size}
    model: Any = run.model
    if run.bert is not None:  # published tables may be longer than their vocabulary
        size = max(pipeline.vocab_size, model.encoder.vocab_size)
        encoder = replace(model.encoder, vocab_size=size)
        return {"encoder": encoder, "output_size": task.output_size}
    width = model.embedding_size if table is None else table.shape[1]
    return {
        "vocab_size": pipeline.vocab_size,
        "output_size": task.output_size,
        "embedding_size": width,
    }


def _build_pipeline(run: Run, work: TaskAdapter, source: SourceRows, say: Say) -> TextPipeline:
    try:
        made = work.build_pipeline(run, source)
        if run.vocabulary.from_vectors and run.vectors:
            frequent = read_vectors(run.vectors[0]).words[: run.vocabulary.from_vectors]
            made = pipeline_from_words([*made.vocabulary(), *frequent], run.text)
    except ValueError as error:  # such as a limit below what the characters need
        raise ConfigError(f"vocabulary: {error}") from None
    say(f"vocabulary: {made.vocab_size:,} entries ({run.text.unit})")
    return made


def _build_source_pipeline(
    run: Run, work: GenerateAdapter, source: SourceRows, say: Say
) -> TextPipeline | None:
    try:
        made = work.build_source_pipeline(run, source)
    except ValueError as error:
        raise ConfigError(f"vocabulary of the source: {error}") from None
    if made is not None:
        say(f"vocabulary of the source: {made.vocab_size:,} entries ({run.text.unit})")
    return made

"""From a data folder to everything a run needs: rows, vocabulary, table, encoded pairs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from os import PathLike
from typing import Any

import numpy as np

from softquery.data import Pairs, encode_pairs, split_rows
from softquery.errors import ConfigError, InputError
from softquery.files import Row, fill_table, find_split, read_rows, read_vectors
from softquery.recipes.run import Run
from softquery.tasks import PairClassification, PairTask
from softquery.text import TextPipeline, build_pipeline, pipeline_from_words

Say = Callable[[str], None]
COLUMNS = ("sentence1", "sentence2", "label")
TAUGHT = "probabilities"
"""A column of the training files that need not be there: what a teacher thinks of each pair."""


@dataclass(frozen=True, kw_only=True)
class PairSource:
    """Rows of every split, before any vocabulary."""

    train: list[Row]
    tune: list[Row]
    dev: list[Row]
    fingerprint: str
    """Hash of the training rows: a resumed run must see the same ones."""
    num_shared: int
    """Pairs of dev that also stand in train."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What `train` needs once the data has been read."""

    run: Run
    """With sizes and labels filled in."""
    task: PairTask
    pipeline: TextPipeline
    table: np.ndarray[Any, np.dtype[np.float32]] | None
    source: PairSource


def read_source(
    run: Run, folder: str | PathLike[str], rename: Mapping[str, str] | None, say: Say
) -> PairSource:
    """Read the splits that the run names."""
    rows = [row for split in run.data.train for row in _read(folder, split, rename, say)]
    if run.data.tune is None:
        train, tune = split_rows(rows, share=run.data.tune_share, seed=run.training.seed)
    else:
        train, tune = rows, _read(folder, run.data.tune, rename, say)
    if not train or not tune:
        raise InputError(
            f"{len(rows)} rows are too few to train on and to hold back "
            f"{run.data.tune_share:.0%} of them (data.tune_share)",
            source=folder,
        )
    dev = _read(folder, run.data.dev, rename, say)
    known = {_pair(row) for row in rows}
    shared = sum(_pair(row) in known for row in dev)
    if shared:
        say(f"warning: {shared:,} of {len(dev):,} dev pairs also stand in the training data")
    return PairSource(
        train=train, tune=tune, dev=dev, fingerprint=_fingerprint(rows), num_shared=shared
    )


def _read(
    folder: str | PathLike[str], split: str, rename: Mapping[str, str] | None, say: Say
) -> list[Row]:
    path = find_split(folder, split)
    say(f"reading {path}")
    rows = list(read_rows(path, columns=COLUMNS, optional=(TAUGHT,), rename=rename))
    if not rows:
        raise InputError("holds no rows", source=path)
    return rows


def _pair(row: Row) -> tuple[str, str]:
    return row.values["sentence1"], row.values["sentence2"]


def _fingerprint(rows: Iterable[Row]) -> str:
    digest = sha256()
    for row in rows:
        named = [row.values[name] for name in (*COLUMNS, TAUGHT) if name in row.values]
        digest.update("\t".join(named).encode() + b"\n")
    return digest.hexdigest()[:16]


def prepare(
    run: Run, source: PairSource, say: Say, *, pipeline: TextPipeline | None = None
) -> Prepared:
    """Settle labels, vocabulary and embedding table.

    Args:
        run: The recipe.
        source: The rows.
        say: Told what happens.
        pipeline: The text pipeline of the bundle that the run starts from, where it does.
    """
    task = run.task or PairClassification(labels=found_labels(source))
    kept = pipeline is not None
    made = pipeline or _build_pipeline(run, source, say)
    table = None
    if run.vectors and not kept:
        table, coverages = fill_table(
            made.vocabulary(), run.vectors, size=None, seed=run.training.seed
        )
        for path, coverage in zip(run.vectors, coverages, strict=True):
            say(f"{path}: {coverage}")
    width = run.model.embedding_size if table is None else table.shape[1]
    try:
        model = replace(
            run.model,
            vocab_size=made.vocab_size,
            output_size=task.output_size,
            embedding_size=width,
        )
    except ValueError as error:  # such as a head that cannot tell so many labels apart
        raise ConfigError(f"model: {error}") from None
    settled = replace(run, model=model, task=task, text=made.config)
    return Prepared(run=settled, task=task, pipeline=made, table=table, source=source)


def found_labels(source: PairSource) -> tuple[str, ...]:
    """The classes of the training rows, in alphabetical order."""
    labels = sorted({row.values["label"] for row in (*source.train, *source.tune)})
    if not 2 <= len(labels) <= 1000:
        shown = ", ".join([*labels[:5], *(["…"] if len(labels) > 5 else [])])
        raise InputError(
            f"expected from 2 to 1,000 different labels, found {len(labels):,} ({shown}); "
            "grades need a graded recipe",
            source=source.train[0].source,
        )
    return tuple(labels)


def _build_pipeline(run: Run, source: PairSource, say: Say) -> TextPipeline:
    texts = (text for row in source.train for text in _pair(row))
    size, count = run.vocabulary.size, run.vocabulary.min_count
    try:
        made = build_pipeline(texts, run.text, vocab_size=size, min_count=count)
        if run.vocabulary.from_vectors and run.vectors:
            frequent = read_vectors(run.vectors[0]).words[: run.vocabulary.from_vectors]
            made = pipeline_from_words([*made.vocabulary(), *frequent], run.text)
    except ValueError as error:  # such as a limit below what the characters need
        raise ConfigError(f"vocabulary: {error}") from None
    say(f"vocabulary: {made.vocab_size:,} entries ({run.text.unit})")
    return made


def encode(
    rows: list[Row], prepared: Prepared, say: Say, name: str, *, taught: bool = False
) -> Pairs:
    """Tokenise one split, and say what was cut.

    Args:
        rows: Of the split.
        prepared: Pipeline and task.
        say: Told what was cut.
        name: Of the split.
        taught: Learn from a teacher's probabilities where rows have them; measuring never does.
    """
    task = prepared.task
    soft = task.parse_distribution if taught and isinstance(task, PairClassification) else None
    pairs = encode_pairs(
        rows,
        prepared.pipeline,
        parse_label=task.parse_label,
        parse_distribution=soft,
    )
    if pairs.num_cut:
        limit = prepared.pipeline.config.max_tokens
        say(f"{name}: {pairs.num_cut:,} sentences were cut at {limit} tokens")
    return pairs

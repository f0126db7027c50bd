"""Files to shards of answers or of vectors: what `--engine ray` calls, and Python may call."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from softquery.errors import ConfigError
from softquery.ray.bulk_run import ShardedResult, run_bulk
from softquery.ray.bulk_work import (
    SHARD_CHUNKS,
    BulkWork,
    ModelChoice,
    VectorOptions,
    bulk_rows,
    rows_together,
    settled,
)
from softquery.ray.cluster import Actors
from softquery.ray.shard_forms import ANSWER_FORMS, check_form
from softquery.runtime.bulk import request_identity

Source = str | PathLike[str]
Advance = Callable[[int], object]
VECTOR_FORMS = {"sentence-encoder": ("parquet", "npy", "npz")}
WORD_FORMS = ("parquet", "npz")


def answer_files(
    model: ModelChoice | str,
    source: Source,
    output: Source,
    *,
    form: str = "jsonl",
    columns: Mapping[str, str] | None = None,
    on_error: str = "stop",
    request: object | None = None,
    prepare: Callable[[Iterator[Any]], Iterator[Any]] | None = None,
    actors: Actors | int | None = None,
    shard_rows: int | None = None,
    advance: Advance = lambda done: None,
) -> ShardedResult:
    """Answer the rows of files into a folder of shards, by any number of actors.

    Together the shards of a file are, byte for byte, the file that a single process with as many
    threads would write.

    Args:
        model: A name that every machine knows, or a folder that every machine sees.
        source: A file, a folder or a pattern such as `pairs/*.parquet`, also in an object store.
        output: A folder that is empty, missing, or that of an interrupted run with the same model
            and options, which is gone on with.
        form: Of the shards: `jsonl`, `parquet` or `csv`.
        columns: Our column names to the files'.
        on_error: `stop` at a bad row, or `skip` it into a file of its own.
        request: How a generator searches, or which words are wanted for masks.
        prepare: What is done with the rows before all else; a function with a name.
        actors: Who answers, or how many of them; by default one per CPU.
        shard_rows: Rows of a shard; by default those that a model answers together, 32 times.
        advance: Told how many rows are done.
    """
    check_form(form, tuple(ANSWER_FORMS))
    choice, team = _choice(model, actors, verb="answer")
    choice, identity = settled(choice, kind=None)
    bundle = choice.bundle()
    bulk = bulk_rows(bundle)
    rename = columns
    if rename is None and bundle.config.columns is not None:
        rename = {
            ours: theirs for ours, theirs in bundle.config.columns.items() if ours in bulk.columns
        }
    work = BulkWork(
        model=choice,
        identity={**identity, **request_identity(request)},
        output=_place(output),
        form=form,
        shard_rows=_shard_rows(choice, shard_rows),
        rename=rename,
        skips=_skips(on_error),
        request=request,
        prepare=prepare,
    )
    return run_bulk(work, fspath(source), team, advance=advance)


def embed_files(
    model: ModelChoice | str,
    source: Source,
    output: Source,
    *,
    form: str = "parquet",
    columns: Mapping[str, str] | None = None,
    on_error: str = "stop",
    options: VectorOptions | None = None,
    actors: Actors | int | None = None,
    shard_rows: int | None = None,
    advance: Advance = lambda done: None,
) -> ShardedResult:
    """Write vectors of the rows of files into a folder of shards.

    A sentence encoder's shards are `parquet` (row and vector), `npy` or `npz`; those of words in
    context `parquet` (row, tokens and vectors) or `npz`.

    Args:
        model: As for `answer_files`, as are the other arguments.
        source: See there.
        output: See there.
        form: Of the shards.
        columns: Our column names to the files'.
        on_error: `stop` or `skip`.
        options: What of each vector is written.
        actors: Who computes.
        shard_rows: Rows of a shard.
        advance: Told how many rows are done.
    """
    choice, team = _choice(model, actors, verb="embed")
    choice, identity = settled(choice, kind=None)
    kind = choice.bundle().config.kind
    if kind not in ("sentence-encoder", "embedder", "encoder"):
        raise ConfigError(f"{choice.source}: a {kind} gives no vectors")
    check_form(form, VECTOR_FORMS.get(kind, WORD_FORMS))
    work = BulkWork(
        model=choice,
        identity=identity,
        output=_place(output),
        form=form,
        shard_rows=_shard_rows(choice, shard_rows),
        rename=columns,
        skips=_skips(on_error),
        vectors=options or VectorOptions(),
    )
    return run_bulk(work, fspath(source), team, advance=advance)


def as_actors(given: Actors | int | None) -> Actors:
    """Actors by their number, or by default one per CPU."""
    return given if isinstance(given, Actors) else Actors(num_actors=given)


def _choice(
    model: ModelChoice | str, actors: Actors | int | None, *, verb: str
) -> tuple[ModelChoice, Actors]:
    """Whoever computes has the threads and the device that its actor was given."""
    found = ModelChoice(source=model, verb=verb) if isinstance(model, str) else model
    team = as_actors(actors)
    return replace(found, threads=team.threads, device=team.device), team


def _shard_rows(choice: ModelChoice, given: int | None) -> int:
    together = rows_together(choice)
    if given is None:
        return SHARD_CHUNKS * together
    if given < 1 or given % together:
        raise ConfigError(f"shard_rows must be a multiple of {together}, got {given}")
    return given


def _skips(on_error: str) -> bool:
    if on_error not in ("stop", "skip"):
        raise ConfigError(f"on_error must be stop or skip, got {on_error!r:.40}")
    return on_error == "skip"


def _place(output: Source) -> str:
    """The same place for all processes of this machine, whatever folder they work in."""
    from pathlib import Path

    from softquery.ray.places import is_remote

    text = fspath(output)
    return text.rstrip("/") if is_remote(text) else str(Path(text).expanduser().absolute())

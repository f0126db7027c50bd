"""A bulk run on Ray Data: files to shards of answers, each row in exactly one of them.

Reading tasks parse files into shards, actors answer and commit them, the driver counts. Whatever is
killed in between, Ray starts again: a reading task gives the same shards once more, and an actor
writes the same files once more, so that the output is that of an undisturbed run. When the driver
itself is killed, the next run skips what is committed.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from softquery.errors import InputError
from softquery.ray.bulk_work import BulkWork
from softquery.ray.cluster import Actors, require_ray
from softquery.ray.commits import ShardCommit, complete_run, enter_run
from softquery.ray.input_files import InputFile, find_input_files
from softquery.ray.places import open_place
from softquery.ray.row_messages import Message, error_of
from softquery.ray.shard_actor import ShardActor
from softquery.ray.shard_reader import read_shards

READERS = 4
"""Files that are read at the same time."""
AHEAD = 4
"""Shards per actor that may wait for it."""
SHARD_BYTES = 4 * 1024 * 1024
"""Memory that is reckoned for a shard under way."""


@dataclass(frozen=True, slots=True)
class ShardedResult:
    """How a bulk run on Ray ended.

    Attributes:
        output: The folder of shards.
        num_files: Inputs.
        num_shards: Shards of all of them.
        num_rows: Rows that have an answer.
        num_resumed: Rows that an earlier, interrupted run had answered.
        num_cut: Inputs that were longer than the model's limit.
        num_skipped: Bad rows.
    """

    output: str
    num_files: int
    num_shards: int
    num_rows: int
    num_resumed: int
    num_cut: int
    num_skipped: int


def run_bulk(
    work: BulkWork,
    source: str,
    actors: Actors,
    *,
    advance: Callable[[int], object] = lambda done: None,
) -> ShardedResult:
    """Answer all rows of all files.

    Args:
        work: What is done.
        source: A file, a folder or a pattern, here or in an object store.
        actors: Who does it.
        advance: Told how many rows are done.
    """
    require_ray()
    files = find_input_files(source, work.input_forms())
    place = open_place(work.output)
    known = enter_run(place, work.output, _identity(work))
    _check_inputs(known, files, work.output)
    commits, ends = list(known), {}
    num_resumed = done = sum(each.num_answered for each in known)
    advance(done)
    for message in _messages(work, files, known, actors.settled()):
        if message["kind"] == "error":
            raise error_of(message)
        if message.pop("kind") == "commit":
            commits.append(ShardCommit(**message))
            done += commits[-1].num_answered
            advance(done)
        elif "shards" in message:
            ends[message["file"]] = message
    complete_run(place, ends, commits)
    return ShardedResult(
        output=work.output,
        num_files=len(files),
        num_shards=len(commits),
        num_rows=done,
        num_resumed=num_resumed,
        num_cut=sum(each.num_cut for each in commits),
        num_skipped=sum(each.num_bad for each in commits),
    )


def _identity(work: BulkWork) -> dict[str, Any]:
    """What the shards depend on besides the rows."""
    vectors = {} if work.vectors is None else {"vectors": repr(work.vectors)}
    return {**work.identity, **vectors, "form": work.form, "shard_rows": work.shard_rows}


def _check_inputs(known: Sequence[ShardCommit], files: Sequence[InputFile], output: str) -> None:
    """Refuse an output with answers to files that are no longer among the inputs."""
    names = {file.name for file in files}
    for commit in known:
        if commit.file not in names:
            raise InputError(
                f"holds answers to {commit.file}, which is not among the inputs; "
                "name another --output",
                source=output,
            )


def _messages(
    work: BulkWork, files: Sequence[InputFile], known: Sequence[ShardCommit], actors: Actors
) -> Iterator[Message]:
    """What readers and actors tell, as it happens."""
    import ray.data

    digests: dict[str, dict[str, str]] = {file.name: {} for file in files}
    for commit in known:
        digests[commit.file][str(commit.start)] = commit.rows
    items = [{**file._asdict(), "known": json.dumps(digests[file.name])} for file in files]
    number = actors.num_actors or 1
    with QuietLog():
        dataset = ray.data.from_items(items, override_num_blocks=len(items))
        _bound_memory(dataset, number)
        shards = dataset.flat_map(
            partial(read_shards, work=work), num_cpus=0, concurrency=min(READERS, len(items))
        )
        told = shards.map_batches(
            ShardActor,
            fn_constructor_args=(work,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=number),
            **actors.remote_options(),
        )
        for row in told.iter_rows():
            yield json.loads(row["message"])


def _bound_memory(dataset: Any, num_actors: int) -> None:
    """Let a shard be a block of its own, and only so many of them wait."""
    context = dataset.context
    context.target_max_block_size = 1
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    limits: Mapping[str, Any] = {"object_store_memory": AHEAD * (num_actors + 1) * SHARD_BYTES}
    context.execution_options.resource_limits = context.execution_options.resource_limits.copy(
        **limits
    )


class QuietLog:
    """A block in which Ray Data's own log tells of errors alone."""

    def __enter__(self) -> None:
        self._log = logging.getLogger("ray.data")
        self._level = self._log.level
        self._log.setLevel(logging.ERROR)

    def __exit__(self, *raised: object) -> None:
        self._log.setLevel(self._level)

"""Which shards are done: their records, and the manifest that makes a folder complete.

A shard's answers are written first, then its bad rows, then its record; only the record commits it.
Every attempt writes the same names with the same bytes, so that a repeated one changes nothing.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from softquery.errors import InputError
from softquery.files import shown_cell
from softquery.ray.places import Place

RUN, MANIFEST = "_run.json", "_manifest.json"
COMMITS, BAD_ROWS = "_commits", "_errors"
"""Names with an underscore are passed over by whoever reads the folder as a data set."""
FORMAT = 1
READERS = 16
"""Records that are read at the same time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardCommit:
    """The record of a shard that is done.

    Attributes:
        shard: Its name.
        file: The input.
        start: Rows of the input before it.
        end: Rows of the input up to its end.
        rows: A digest of them.
        data: The file of answers; None where all rows of the shard were bad.
        num_answered: Rows of that file.
        num_bad: Rows that were skipped.
        num_cut: Inputs that were longer than the model's limit.
    """

    shard: str
    file: str
    start: int
    end: int
    rows: str
    data: str | None
    num_answered: int
    num_bad: int
    num_cut: int


def commit_shard(
    place: Place, commit: ShardCommit, contents: bytes, bad: Iterable[tuple[int | None, str]]
) -> None:
    """Write a shard, its record last.

    Args:
        place: The output.
        commit: The record.
        contents: The answers.
        bad: Number and fault of each row that was skipped.
    """
    if commit.data is not None:
        place.write(commit.data, contents)
    if commit.num_bad:
        lines = sorted(bad, key=lambda each: each[0] or 0)
        told = "".join(f"{row}\t{shown_cell(reason)}\n" for row, reason in lines)
        place.write(f"{BAD_ROWS}/{commit.shard}.tsv", f"row\treason\n{told}".encode())
    place.write(commit_name(commit.shard), _json(asdict(commit)))


def commit_name(shard: str) -> str:
    """Where the record of a shard lies."""
    return f"{COMMITS}/{shard}.json"


def read_commits(place: Place) -> list[ShardCommit]:
    """The records of all shards that are done."""
    names = [name for name in place.names(COMMITS) if name.endswith(".json")]
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(lambda name: _commit(place, name), names))


def enter_run(place: Place, output: str, identity: Mapping[str, Any]) -> list[ShardCommit]:
    """Begin a run or go on with one: the shards that are done.

    Args:
        place: The output.
        output: Its name, for messages.
        identity: What the answers depend on besides the rows, and the form and size of a shard.

    Raises:
        InputError: The folder is complete, belongs to another run, or holds other things.
    """
    if place.has(MANIFEST):
        raise InputError("already exists; name another --output, or remove it", source=output)
    run = {"format": FORMAT, **identity}
    if place.has(RUN):
        try:
            is_same = json.loads(place.read(RUN)) == run
        except ValueError:
            is_same = False
        if not is_same:
            raise InputError(
                "was begun with another model, backend or options; remove it to start over",
                source=output,
            )
        return read_commits(place)
    if place.names():
        raise InputError("is not empty; name another --output", source=output)
    place.write(RUN, _json(run))
    return []


def complete_run(
    place: Place, ends: Mapping[str, Mapping[str, Any]], commits: Sequence[ShardCommit]
) -> None:
    """Write the manifest, once every row of every file is in exactly one shard.

    Args:
        place: The output.
        ends: What the reader of each file told when it ended.
        commits: All shards.
    """
    by_file: dict[str, list[ShardCommit]] = {name: [] for name in ends}
    for commit in commits:
        by_file[commit.file].append(commit)
    for name, end in ends.items():
        _check_complete(name, end, sorted(by_file[name], key=lambda each: (each.start, each.end)))
    ordered = sorted(commits, key=lambda each: each.shard)
    manifest = {
        "format": FORMAT,
        "run": json.loads(place.read(RUN)),
        "num_answered": sum(each.num_answered for each in ordered),
        "num_bad": sum(each.num_bad for each in ordered),
        "num_cut": sum(each.num_cut for each in ordered),
        "files": {name: {"rows": end["rows"], "bad": end["bad"]} for name, end in ends.items()},
        "shards": [asdict(each) for each in ordered],
    }
    place.write(MANIFEST, _json(manifest))


def _check_complete(name: str, end: Mapping[str, Any], shards: Sequence[ShardCommit]) -> None:
    """Rows that are lost or doubled are a fault of ours, and never pass as a complete output."""
    reached = 0
    for shard in shards:
        if shard.start != reached:
            raise RuntimeError(
                f"{name}: shard {shard.shard} begins at {shard.start}, not {reached}"
            )
        reached = shard.end
    if (reached, len(shards)) != (end["rows"], end["shards"]):
        raise RuntimeError(
            f"{name}: {len(shards)} shards with {reached} rows; "
            f"expected {end['shards']} with {end['rows']}"
        )


def _commit(place: Place, name: str) -> ShardCommit:
    try:
        return ShardCommit(**json.loads(place.read(name)))
    except (ValueError, TypeError):
        raise InputError(f"is not the record of a shard ({name}); remove it", source=name) from None


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()

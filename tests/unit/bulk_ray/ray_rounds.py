"""What Ray does with the pieces of a bulk run, in this process: read, answer, commit, count."""

import json
from pathlib import Path
from typing import Any

from softquery.ray.bulk_work import BulkWork, ModelChoice, rows_together, settled
from softquery.ray.commits import ShardCommit, complete_run, enter_run
from softquery.ray.input_files import find_input_files
from softquery.ray.places import open_place
from softquery.ray.row_messages import error_of
from softquery.ray.shard_actor import ShardActor
from softquery.ray.shard_reader import read_shards


def work_of(
    output: Path, *, verb: str = "answer", model: str = "nli-en", **changes: Any
) -> BulkWork:
    """A run with shards of one chunk."""
    choice, identity = settled(ModelChoice(source=model, verb=verb), kind=None)
    given = {"form": "jsonl", "shard_rows": rows_together(choice), **changes}
    return BulkWork(model=choice, identity=identity, output=str(output), **given)


def items(work: BulkWork, source: Path, known: list[ShardCommit]) -> list[dict[str, Any]]:
    """All that the readers of a source hand on."""
    found = []
    for file in find_input_files(str(source), work.input_forms()):
        digests = {str(each.start): each.rows for each in known if each.file == file.name}
        found += read_shards({**file._asdict(), "known": json.dumps(digests)}, work)
    return found


def run(work: BulkWork, source: Path, *, most: int | None = None) -> list[dict[str, Any]]:
    """A run, or its first items; the messages. An error of the user is raised."""
    place = open_place(work.output)
    known = enter_run(place, work.output, {**work.identity, "form": work.form})
    actor, commits, ends, told = ShardActor(work), list(known), {}, []
    for item in items(work, source, known)[:most]:
        (said,) = actor({"message": [item["message"]], "rows": [item["rows"]]})["message"]
        message = json.loads(said)
        told.append(dict(message))
        if message["kind"] == "error":
            raise error_of(message)
        if message.pop("kind") == "commit":
            commits.append(ShardCommit(**message))
        elif "shards" in message:
            ends[message["file"]] = message
    if most is None:
        complete_run(place, ends, commits)
    return told


def shards(folder: Path, form: str = "jsonl") -> list[Path]:
    """The files of answers, in the order of their rows."""
    return sorted(folder.glob(f"*.{form}"))

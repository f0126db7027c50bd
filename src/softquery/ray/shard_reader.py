"""From a file to shards of rows: the one place where a bulk run parses, refuses and counts.

A file is read by one task from its beginning, as a single process would read it, so that rows,
numbers and refusals are the same; shards are handed on as they fill up.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from softquery.errors import InputError, SoftqueryError
from softquery.ray.bulk_work import BulkWork
from softquery.ray.input_files import InputFile
from softquery.ray.places import local_copy
from softquery.ray.row_messages import Message, ShardPart, digest, packed_rows, told_error

Item = dict[str, Any]
"""A row of the data set: a message, and the rows of a shard or nothing."""


def read_shards(item: Mapping[str, Any], work: BulkWork) -> Iterator[Item]:
    """The shards of a file that are not committed yet, then a message that it has ended.

    Args:
        item: The file's `name` and `uri`, and as JSON the digests of its committed shards by their
            first row (`known`).
        work: The run.
    """
    file = InputFile(item["name"], item["uri"])
    known: dict[str, str] = json.loads(item["known"])
    try:
        with local_copy(file.uri) as path:
            try:
                yield from _shards(file, path, known, work)
            except InputError as error:
                if error.source != str(path):
                    raise
                raise InputError(error.message, source=file.uri, row=error.row) from None
    except SoftqueryError as error:
        yield _item(told_error(error))


def _shards(file: InputFile, path: Any, known: Mapping[str, str], work: BulkWork) -> Iterator[Item]:
    bad: list[InputError] = []
    rows = work.rows(path, bad.append if work.skips else None)
    start = num_bad = num_shards = 0
    while True:
        some = list(islice(rows, work.shard_rows))
        if not some and not bad:
            break
        contents = packed_rows(some)
        part = ShardPart(
            file=file.name,
            start=start,
            end=start + len(some),
            rows=digest(contents),
            bad=tuple((error.row, error.message) for error in bad),
        )
        yield _next(part, contents, file, known, some)
        start, num_bad, num_shards = part.end, num_bad + len(bad), num_shards + 1
        bad.clear()
        if len(some) < work.shard_rows:
            break
    yield _item(
        {"kind": "end", "file": file.name, "rows": start, "bad": num_bad, "shards": num_shards}
    )


def _next(
    part: ShardPart, contents: bytes, file: InputFile, known: Mapping[str, str], rows: list[Any]
) -> Item:
    """A shard to be answered, or word of one that is committed."""
    said: Message = {"file": part.file, "start": part.start, "end": part.end, "rows": part.rows}
    if str(part.start) not in known:
        return _item({"kind": "shard", **said, "bad": part.bad, "uri": file.uri}, contents)
    if known[str(part.start)] != part.rows:
        row = rows[0].number if rows else None
        raise InputError(
            f"the rows from here on are not those of the committed shard {part.name}; "
            "name another --output, or remove that one",
            source=file.uri,
            row=row,
        )
    return _item({"kind": "known", **said})


def _item(message: Message, rows: bytes = b"") -> Item:
    return {"message": json.dumps(message, ensure_ascii=False), "rows": rows}

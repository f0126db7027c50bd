"""Answers for a file of any size: streamed, in constant memory, and resumable after any kill.

Rows are answered in chunks that are counted from the first row, so that a resumed run computes what
an uninterrupted one would, byte for byte. Until the end everything lies in `OUTPUT.partial`.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from softquery.answers import Match
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime.matcher import CHUNK, Matcher
from softquery.whole import write_json

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How a bulk run ended."""

    output: Path
    num_rows: int
    num_resumed: int
    """Rows that an earlier, interrupted run had answered."""


def match_rows(
    matcher: Matcher,
    rows: Iterable[Row],
    output: Path,
    *,
    settings: dict[str, Any],
    advance: Callable[[int], object] = lambda done: None,
) -> BulkResult:
    """Answer every row into a JSONL file that appears when it is complete.

    Args:
        matcher: The model.
        rows: With `sentence1` and `sentence2`; read from the beginning also when resuming.
        output: Ends in `.jsonl` and does not exist yet.
        settings: What the answers depend on; an interrupted run is resumed only where they agree.
        advance: Told how many rows are done.
    """
    partial = Path(f"{output}.partial")
    _check(output, partial, settings)
    done = _whole_chunks(partial)
    stream = iter(rows)
    skipped = sum(1 for _ in islice(stream, done))
    if skipped < done:
        raise InputError(f"holds {done} answers for {skipped} rows; remove it", source=partial)
    advance(done)
    total = done
    with partial.open("ab") as file:
        for chunk in _chunks(stream):
            file.write("".join(_lines(matcher, chunk)).encode())
            file.flush()
            total += len(chunk)
            advance(total)
        os.fsync(file.fileno())
    os.replace(partial, output)
    _note(partial).unlink(missing_ok=True)
    return BulkResult(output, total, done)


def answer_line(row: Row, match: Match) -> str:
    """One answer as JSON, repeating its input."""
    record: dict[str, Any] = {
        "sentence1": row.values["sentence1"],
        "sentence2": row.values["sentence2"],
        "label": match.label,
        "score": round(match.score, 6),
        "probabilities": {name: round(value, 6) for name, value in match.probabilities.items()},
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def stream_rows(matcher: Matcher, rows: Iterable[Row], write: IO[str]) -> int:
    """Answer every row onto an open stream; the number of rows."""
    total = 0
    for chunk in _chunks(iter(rows)):
        write.writelines(_lines(matcher, chunk))
        total += len(chunk)
    return total


def _lines(matcher: Matcher, chunk: list[Row]) -> list[str]:
    pairs = [(row.values["sentence1"], row.values["sentence2"]) for row in chunk]
    return [
        answer_line(row, match) for row, match in zip(chunk, matcher.predict(pairs), strict=True)
    ]


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _check(output: Path, partial: Path, settings: dict[str, Any]) -> None:
    if output.suffix != SUFFIX:
        raise InputError(f"answers are written as {SUFFIX}; name the output so", source=output)
    if output.exists():
        raise InputError("already exists; name another --output, or remove it", source=output)
    plain = json.loads(json.dumps(settings))
    note = _note(partial)
    if not partial.exists():
        write_json(note, plain)
        return
    before = json.loads(note.read_text(encoding="utf-8")) if note.exists() else None
    if before != plain:
        raise InputError(
            "was written by a run with other input or model; remove it", source=partial
        )


def _note(partial: Path) -> Path:
    return Path(f"{partial}.json")


def _whole_chunks(partial: Path) -> int:
    """Cut an interrupted file back to its last whole chunk; the number of rows that stay."""
    if not partial.exists():
        return 0
    lines = keep = kept_lines = 0
    with partial.open("rb") as file:
        place = 0
        for line in file:
            if not line.endswith(b"\n"):
                break
            place += len(line)
            lines += 1
            if lines % CHUNK == 0:
                keep, kept_lines = place, lines
    os.truncate(partial, keep)
    return kept_lines

"""Answers for a file of any size: streamed, in constant memory, and resumable after any kill.

Rows are answered in chunks that are counted from the first row, so that a resumed run computes what
an uninterrupted one would, byte for byte. Until the end everything lies in `OUTPUT.partial`. A
resumed run reads the rows from the beginning and checks that they are those of the answers at hand:
rows that were not answered yet may have been repaired meanwhile.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from softquery.answers import Match
from softquery.bundle import Bundle
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime.matcher import CHUNK, Matcher
from softquery.runtime.partial_file import Partial, check_output

SIDES = ("sentence1", "sentence2")


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How a bulk run ended."""

    output: Path
    num_rows: int
    num_resumed: int
    """Rows that an earlier, interrupted run had answered."""
    num_cut: int
    """Sentences that were longer than the model's limit."""


def match_rows(
    matcher: Matcher,
    rows: Iterable[Row],
    output: Path,
    *,
    advance: Callable[[int], object] = lambda done: None,
) -> BulkResult:
    """Answer every row into a JSONL file that appears when it is complete.

    Args:
        matcher: The model; an interrupted run is resumed only with the same one.
        rows: With `sentence1` and `sentence2`; read from the beginning also when resuming.
        output: Ends in `.jsonl` and does not exist yet.
        advance: Told how many rows are done.
    """
    check_output(output)
    stream = iter(rows)
    done = total = num_cut = 0
    with Partial(output, identity(matcher.bundle, matcher.backend.name)) as partial:
        for lines in partial.answered(CHUNK):
            chunk = list(islice(stream, CHUNK))
            _check_answered(chunk, lines, partial, before=done)
            done += len(chunk)
            num_cut += _num_cut(matcher, chunk)
            advance(done)
        total = done
        for chunk in _chunks(stream):
            partial.append("".join(_lines(matcher, chunk)).encode())
            total += len(chunk)
            num_cut += _num_cut(matcher, chunk)
            advance(total)
        partial.complete()
    return BulkResult(output, total, done, num_cut)


def stream_rows(matcher: Matcher, rows: Iterable[Row], write: Callable[[str], object]) -> int:
    """Answer every row, a chunk of lines at a time; the number of sentences that were cut.

    Args:
        matcher: The model.
        rows: With `sentence1` and `sentence2`.
        write: Takes the lines of a chunk, without the last line end.
    """
    num_cut = 0
    for chunk in _chunks(iter(rows)):
        write("".join(_lines(matcher, chunk)).removesuffix("\n"))
        num_cut += _num_cut(matcher, chunk)
    return num_cut


def answer_line(row: Row, match: Match) -> str:
    """One answer as JSON, repeating its input."""
    record = match.record(row.values["sentence1"], row.values["sentence2"])
    return json.dumps(record, ensure_ascii=False) + "\n"


def identity(bundle: Bundle, backend: str) -> dict[str, str]:
    """What the answers depend on besides the rows: the model's files, and what computes."""
    found = hashlib.sha256()
    folder = bundle.path
    names = ["config.json", "tokenizer.json", "model.safetensors", "calibration.json"]
    for path in [*(folder / name for name in names), *sorted(folder.glob("onnx/*"))]:
        if path.is_file():
            found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"model": found.hexdigest(), "backend": backend}


def _check_answered(chunk: list[Row], lines: list[bytes], partial: Partial, *, before: int) -> None:
    """Refuse to go on from answers to other rows."""
    if len(chunk) < len(lines):
        raise InputError(
            f"holds more answers than there are rows ({before + len(chunk)}); remove it",
            source=partial.path,
        )
    for row, line in zip(chunk, lines, strict=True):
        if _sides_of(line) != tuple(row.values[side] for side in SIDES):
            raise InputError(
                f"is not the row that was answered in {partial.path}; remove that file",
                source=row.source,
                row=row.number,
            )


def _sides_of(line: bytes) -> tuple[object, ...] | None:
    try:
        record = json.loads(line)
        return tuple(record[side] for side in SIDES)
    except (ValueError, KeyError, TypeError):
        return None


def _lines(matcher: Matcher, chunk: list[Row]) -> Iterator[str]:
    pairs = [(row.values["sentence1"], row.values["sentence2"]) for row in chunk]
    return map(answer_line, chunk, matcher.predict(pairs))


def _num_cut(matcher: Matcher, chunk: list[Row]) -> int:
    return matcher.num_cut([row.values[side] for row in chunk for side in SIDES])


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk

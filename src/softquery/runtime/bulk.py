"""Answers for a file of any size: streamed, in constant memory, and resumable after any kill.

Rows are answered in chunks that are counted from the first row, so that a resumed run computes what
an uninterrupted one would, byte for byte. Until the end everything lies in `OUTPUT.partial`. A
resumed run reads the rows from the beginning and checks that they are those of the answers at hand:
rows that were not answered yet may have been repaired meanwhile. A row that turns out to have no
answer, and is skipped, keeps a line there as well, so that a resumed run knows it; the complete
file leaves such lines out.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from softquery.answers import Match
from softquery.bundle import Bundle
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime.match.model import CHUNK, Matcher
from softquery.runtime.partial_file import Partial, check_output
from softquery.zoo import resolve

SIDES = ("sentence1", "sentence2")
SKIPPED = "skipped"
"""What a line under way says of a row that has no answer: why."""


class NumberedRow(Protocol):
    """What is asked of a row: where it stands."""

    @property
    def source(self) -> str:
        """The file."""

    @property
    def number(self) -> int:
        """As an editor counts lines."""


class Unanswered(NamedTuple):
    """What stands for the line of a row that the model has no answer to."""

    record: dict[str, Any]
    """The input, as an answer repeats it."""
    reason: str


class Skipping(Protocol):
    """Where rows without an answer are noted."""

    def add(self, error: InputError) -> None:
        """Note one row."""

    def keep(self) -> None:
        """All rows have been seen, and the answers are about to take their name."""


class Answerer(Protocol):
    """A model that answers rows of some kind, a chunk at a time."""

    chunk: ClassVar[int]

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""

    def lines(self, chunk: list[Any]) -> Iterator[str | Unanswered]:
        """A line of JSON for each row, or why it has none."""

    def repeats(self, row: Any, record: Any) -> bool:
        """Whether an answer is that to a row: answers repeat their input."""

    def num_cut(self, chunk: list[Any]) -> int:
        """Sentences that are longer than the model's limit."""


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How a bulk run ended."""

    output: Path
    num_rows: int
    """Rows that have an answer."""
    num_resumed: int
    """Rows that an earlier, interrupted run had answered."""
    num_cut: int
    """Sentences that were longer than the model's limit."""


def answer_rows(
    answerer: Answerer,
    rows: Iterable[NumberedRow],
    output: Path,
    *,
    advance: Callable[[int], object] = lambda done: None,
    bad: Skipping | None = None,
) -> BulkResult:
    """Answer every row into a JSONL file that appears when it is complete.

    Args:
        answerer: The model; an interrupted run is resumed only with the same one.
        rows: What it answers; read from the beginning also when resuming.
        output: Ends in `.jsonl` and does not exist yet.
        advance: Told how many rows are done.
        bad: Told of rows that turn out to have no answer; without it, the first one is raised.
    """
    check_output(output)
    stream = iter(rows)
    done = total = num_cut = num_known = num_skipped = 0
    known_by = answerer.identity()
    about = "model, backend or options" if "request" in known_by else "model or backend"
    with Partial(output, known_by, about=about) as partial:
        for lines in partial.answered(answerer.chunk):
            chunk = list(islice(stream, answerer.chunk))
            _check_answered(answerer, chunk, lines, partial, before=done)
            num_known += _skipped_again(chunk, lines, bad)
            done += len(chunk)
            num_cut += answerer.num_cut(chunk)
            advance(done)
        total = done
        for chunk in _chunks(stream, answerer.chunk):
            answered = _answered(answerer, chunk, bad)
            partial.append("".join(answered).encode())
            num_skipped += sum(map(_is_skipped, answered))
            total += len(chunk)
            num_cut += answerer.num_cut(chunk)
            advance(total)
        if bad is not None:
            bad.keep()
        num_skipped += num_known
        partial.complete(leave_out=_is_skipped if num_skipped else None)
    return BulkResult(output, total - num_skipped, done - num_known, num_cut)


def stream_answers(
    answerer: Answerer,
    rows: Iterable[NumberedRow],
    write: Callable[[str], object],
    bad: Skipping | None = None,
) -> int:
    """Answer every row, a chunk of lines at a time; the number of sentences that were cut.

    Args:
        answerer: The model.
        rows: What it answers.
        write: Takes the lines of a chunk, without the last line end.
        bad: Told of rows that turn out to have no answer; without it, the first one is raised.
    """
    num_cut = 0
    for chunk in _chunks(iter(rows), answerer.chunk):
        kept = [line for line in _answered(answerer, chunk, bad) if not _is_skipped(line)]
        if kept:
            write("".join(kept).removesuffix("\n"))
        num_cut += answerer.num_cut(chunk)
    return num_cut


class MatchAnswers:
    """A matcher's answers to rows with `sentence1` and `sentence2`.

    Args:
        matcher: The model.
    """

    chunk: ClassVar[int] = CHUNK

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""
        return identity(self.matcher)

    def lines(self, chunk: list[Row]) -> Iterator[str]:
        """A line of JSON for each row."""
        pairs = [(row.values["sentence1"], row.values["sentence2"]) for row in chunk]
        return map(answer_line, chunk, self.matcher.predict(pairs))

    def repeats(self, row: Row, record: Any) -> bool:
        """Whether both sentences are those of the row."""
        return all(record[side] == row.values[side] for side in SIDES)

    def num_cut(self, chunk: list[Row]) -> int:
        """Sentences of either side."""
        return self.matcher.num_cut([row.values[side] for row in chunk for side in SIDES])


def match_rows(
    matcher: Matcher,
    rows: Iterable[Row],
    output: Path,
    *,
    advance: Callable[[int], object] = lambda done: None,
) -> BulkResult:
    """Answer pairs as `answer_rows` does."""
    return answer_rows(MatchAnswers(matcher), rows, output, advance=advance)


def stream_rows(matcher: Matcher, rows: Iterable[Row], write: Callable[[str], object]) -> int:
    """Answer pairs as `stream_answers` does."""
    return stream_answers(MatchAnswers(matcher), rows, write)


def answer_line(row: Row, match: Match) -> str:
    """One answer as JSON, repeating its input."""
    record = match.record(row.values["sentence1"], row.values["sentence2"])
    return json.dumps(record, ensure_ascii=False) + "\n"


class HasBackend(Protocol):
    """What answers, and what computes for it."""

    @property
    def bundle(self) -> Bundle:
        """The model folder."""

    @property
    def backend(self) -> Any:
        """It has a `name`."""


def identity(model: HasBackend) -> dict[str, str]:
    """What the answers depend on besides the rows: the model's files, and what computes."""
    found = hashlib.sha256()
    folder, base = model.bundle.path, model.bundle.config.base
    names = ["config.json", "tokenizer.json", "source_tokenizer.json",
             "model.safetensors", "calibration.json"]  # fmt: skip
    paths = [*(folder / name for name in names), *sorted(folder.glob("onnx/*"))]
    if base is not None:
        found_base = resolve(base)
        paths += [found_base / "model.safetensors", *sorted(found_base.glob("onnx/*"))]
    for path in paths:
        if path.is_file():
            found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"model": found.hexdigest(), "backend": model.backend.name}


def _answered(answerer: Answerer, chunk: list[Any], bad: Skipping | None) -> list[str]:
    """A line for each row, also for those that are skipped."""
    lines = []
    for row, line in zip(chunk, answerer.lines(chunk), strict=True):
        if isinstance(line, Unanswered):
            _skip(row, line.reason, bad)
            line = json.dumps({**line.record, SKIPPED: line.reason}, ensure_ascii=False) + "\n"
        lines.append(line)
    return lines


def _skipped_again(chunk: list[Any], lines: list[bytes], bad: Skipping | None) -> int:
    """Note the rows that an earlier run skipped; their number."""
    found = [(row, line) for row, line in zip(chunk, lines, strict=True) if _is_skipped(line)]
    for row, line in found:
        _skip(row, json.loads(line)[SKIPPED], bad)
    return len(found)


def _skip(row: NumberedRow, reason: str, bad: Skipping | None) -> None:
    error = InputError(reason, source=row.source, row=row.number)
    if bad is None:
        raise error
    bad.add(error)


def _is_skipped(line: str | bytes) -> bool:
    mark = f'"{SKIPPED}": '
    may_be = mark in line if isinstance(line, str) else mark.encode() in line
    return may_be and SKIPPED in json.loads(line)


def _check_answered(
    answerer: Answerer, chunk: list[Any], lines: list[bytes], partial: Partial, *, before: int
) -> None:
    """Refuse to go on from answers to other rows."""
    if len(chunk) < len(lines):
        raise InputError(
            f"holds more answers than there are rows ({before + len(chunk)}); remove it",
            source=partial.path,
        )
    for row, line in zip(chunk, lines, strict=True):
        if not _is_answered(answerer, row, line):
            raise InputError(
                f"is not the row that was answered in {partial.path}; remove that file",
                source=row.source,
                row=row.number,
            )


def _is_answered(answerer: Answerer, row: Any, line: bytes) -> bool:
    try:
        return answerer.repeats(row, json.loads(line))
    except (ValueError, KeyError, TypeError):
        return False


def _chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(islice(rows, size)):
        yield chunk

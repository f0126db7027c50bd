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
from typing import Any, NamedTuple, Protocol

from softquery.bundle import Bundle
from softquery.errors import ConfigError, InputError
from softquery.runtime.kinds import KINDS, kind_of
from softquery.runtime.partial_file import Partial, check_output
from softquery.zoo import resolve

NO_TEXT = "the rules leave no text for this source"
"""Why a row has no answer: only a generator's rules can exclude every text."""
SKIPPED = "skipped"
"""What a line under way says of a row that has no answer: why."""
BLOCK = 1 << 20
"""Bytes of a file that are hashed at a time."""


class NumberedRow(Protocol):
    """A row that knows its place in a file."""

    @property
    def source(self) -> str:
        """The file that it was read from."""

    @property
    def number(self) -> int:
        """Its line, as an editor counts them."""


class Unanswered(NamedTuple):
    """Given in place of a line for a row that the model has no answer to."""

    record: dict[str, Any]
    """The input, as an answer repeats it."""
    reason: str


class Skipping(Protocol):
    """Where rows without an answer are noted."""

    def add(self, error: InputError) -> None:
        """Note one row."""

    def keep(self) -> None:
        """All rows have been seen, and the answers are about to take their name."""


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
    answerer: "BulkAnswers",
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
    answerer: "BulkAnswers",
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


class BulkAnswers:
    """A model's answers to the rows of a file, as lines of JSON; its kind says how.

    Args:
        model: Of any kind that answers files.
        request: How a generator searches, and what its texts must keep to.
    """

    def __init__(self, model: Any, request: object | None = None) -> None:
        kind = getattr(model, "answers_as", None)
        bulk = (KINDS[kind] if kind else kind_of(model.bundle)).bulk
        if bulk is None:
            raise ConfigError(f"{model.bundle.path}: a {model.bundle.config.kind} answers no files")
        self.model, self.request, self.bulk = model, request, bulk
        self.chunk: int = model.chunk

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""
        return {**identity(self.model), **request_identity(self.request)}

    def lines(self, chunk: list[Any]) -> Iterator[str | Unanswered]:
        """A line of JSON for each row, or why it has none."""
        records = self.bulk.answer(self.model, chunk, self.request)
        for row, record in zip(chunk, records, strict=True):
            if record is None:
                yield Unanswered(self.bulk.repeated(row), NO_TEXT)
            else:
                yield json.dumps(record, ensure_ascii=False) + "\n"

    def repeats(self, row: Any, record: Any) -> bool:
        """Whether an answer is that to a row: answers repeat their input."""
        return all(record[name] == value for name, value in self.bulk.repeated(row).items())

    def num_cut(self, chunk: list[Any]) -> int:
        """Inputs that are longer than the model's limit."""
        return self.bulk.num_cut(self.model, chunk)


def request_identity(request: object | None) -> dict[str, str]:
    """What the answers depend on of a request; nothing where there is none."""
    if request is None:
        return {}
    return {"request": hashlib.sha256(repr(request).encode()).hexdigest()[:16]}


class HasBackend(Protocol):
    """An opened model: its bundle, and the backend that computes for it."""

    @property
    def bundle(self) -> Bundle:
        """The model folder."""

    @property
    def backend(self) -> Any:
        """The backend, which has a `name`."""


def identity(model: HasBackend) -> dict[str, str]:
    """What the answers depend on besides the rows: the model's files, and what computes."""
    return content_identity(model.bundle, model.backend.name)


def content_identity(bundle: Bundle, backend: str) -> dict[str, str]:
    """The same for a bundle that is not open.

    Args:
        bundle: The model folder.
        backend: The name of what computes.
    """
    found = hashlib.sha256()
    folder, base = bundle.path, bundle.config.base
    names = ["config.json", "tokenizer.json", "source_tokenizer.json",
             "model.safetensors", "calibration.json"]  # fmt: skip
    paths = [*(folder / name for name in names), *sorted(folder.glob("onnx/*"))]
    if base is not None:
        found_base = resolve(base)
        paths += [found_base / "model.safetensors", *sorted(found_base.glob("onnx/*"))]
    for path in paths:
        if path.is_file():
            found.update(path.name.encode() + _content_hash(path))
    return {"model": found.hexdigest(), "backend": backend}


def _content_hash(path: Path) -> bytes:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.digest()


def _answered(answerer: "BulkAnswers", chunk: list[Any], bad: Skipping | None) -> list[str]:
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
    answerer: "BulkAnswers", chunk: list[Any], lines: list[bytes], partial: Partial, *, before: int
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


def _is_answered(answerer: "BulkAnswers", row: Any, line: bytes) -> bool:
    try:
        return answerer.repeats(row, json.loads(line))
    except (ValueError, KeyError, TypeError):
        return False


def _chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(islice(rows, size)):
        yield chunk

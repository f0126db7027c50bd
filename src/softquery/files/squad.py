"""Questions about a context, with their answers: JSON of SQuAD 1.1 and 2.0, and JSONL."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple

from softquery.errors import InputError
from softquery.files.cell_text import sound_text
from softquery.files.json_stream import JsonText
from softquery.files.row import Report
from softquery.files.text_lines import check_readable, split_suffix, text_blocks, without_blank_end

QUESTION_FORMS = (".json", ".jsonl")
COLUMNS = ("id", "context", "question", "answers")
Answers = Literal["read", "ignored"]
_SHOWN = 60
"""The most characters of a text in an error."""


NOWHERE = -1
"""The `answer_start` of a reference that does not occur verbatim in the context."""


class GoldAnswer(NamedTuple):
    """A reference answer, and where it begins in the context, or `NOWHERE`."""

    text: str
    start: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedQuestion:
    """A question about a context.

    Attributes:
        id: The id in the file, or the number of the question if it has none.
        question: The question.
        context: The text that may hold the answer.
        answers: All references; none if the context does not answer the question.
        number: The row of the file, as an editor counts lines; in JSON that of its article.
        source: The file.
    """

    id: str
    question: str
    context: str
    answers: tuple[GoldAnswer, ...]
    number: int
    source: str


def read_questions(
    path: str | PathLike[str],
    *,
    answers: Answers = "read",
    rename: Mapping[str, str] | None = None,
    on_bad: Report | None = None,
) -> Iterator[AskedQuestion]:
    """Stream the questions of a file, plain or .gz, .xz, .bz2.

    A .json is SQuAD's: `{"data": [{"paragraphs": [{"context": …, "qas": [{"id": …, "question": …,
    "answers": [{"text": …, "answer_start": …}]}]}]}]}`. A .jsonl holds a question per line, with
    `context`, `question` and `answers` (a list of such answers, or an object of lists), and
    optionally `id`. A question without an answer needs `"is_impossible": true` in JSON; in JSONL an
    empty list suffices. An answer that does not occur verbatim in the context has an `answer_start`
    of -1; it is used for scoring, but not for training.

    Args:
        path: The file.
        answers: `"ignored"` if they are not needed.
        rename: Our names to those of a JSONL.
        on_bad: Called with the error of each bad question, instead of raising it. Faults of the
            whole file are raised in any case.

    Raises:
        InputError: For any fault, naming file, row and place.
    """
    source = fspath(path)
    for name in rename or {}:
        if name not in COLUMNS:
            message = f'no column is called "{name}"; known: {", ".join(COLUMNS)}'
            raise InputError(message, source="--columns")
    check_readable(source)
    form = split_suffix(source)[0]
    if form not in QUESTION_FORMS:
        message = f"unknown kind of file; expected a name ending in {' or '.join(QUESTION_FORMS)}"
        raise InputError(f"{message}, plain or compressed", source=source)
    bad = _raise if on_bad is None else on_bad
    if form == ".jsonl":
        return _json_lines(source, answers, dict(rename or {}), bad)
    if rename:
        raise InputError("SQuAD's JSON has fixed names", source="--columns")
    return _squad(source, answers, bad)


def _squad(path: str, answers: Answers, report: Report) -> Iterator[AskedQuestion]:
    text, count = JsonText(path), 0
    for number, article in enumerate(text.items_of("data"), 1):
        row = text.row
        for place, paragraph in _paragraphs(article, f"article {number}", text.error):
            context = paragraph.get("context")
            for asked, record in enumerate(_list(paragraph, "qas", place, text.error), 1):
                count += 1
                try:
                    found = _question(
                        record, context, answers, str(count), must_say=True, row=row, source=path
                    )
                except InputError as error:
                    known = record.get("id") if isinstance(record, dict) else None
                    named = "" if known is None else f" (id {_short(str(known))})"
                    where = f"{place}, question {asked}{named}"
                    report(InputError(f"{where}: {error.message}", source=path, row=row))
                else:
                    yield found


def _paragraphs(
    article: Any, place: str, error: Callable[[str], InputError]
) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(article, dict):
        raise error(f"{place} is not a JSON object")
    for number, paragraph in enumerate(_list(article, "paragraphs", place, error), 1):
        where = f"{place}, paragraph {number}"
        if not isinstance(paragraph, dict):
            raise error(f"{where} is not a JSON object")
        yield where, paragraph


def _list(
    record: Mapping[str, Any], name: str, place: str, error: Callable[[str], InputError]
) -> list[Any]:
    found = record.get(name)
    if not isinstance(found, list):
        raise error(f'{place}: expected a list "{name}"')
    return found


def _json_lines(
    path: str, answers: Answers, rename: Mapping[str, str], report: Report
) -> Iterator[AskedQuestion]:
    block = None
    theirs = {rename.get(name, name): name for name in COLUMNS}
    for block in without_blank_end(text_blocks(path)):
        for number, line in enumerate(block.lines, block.first):
            try:
                if number in block.faults:
                    raise block.faults[number]
                record = _object(line)
                record = {theirs.get(name, name): value for name, value in record.items()}
                context = record.get("context")
                found = _question(
                    record, context, answers, str(number), must_say=False, row=number, source=path
                )
            except InputError as error:
                report(InputError(error.message, source=path, row=number))
            else:
                yield found
    if block is None:
        raise InputError("is empty", source=path)


def _object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except RecursionError:
        raise InputError("not usable JSON (nested too deeply)") from None
    except ValueError as error:
        raise InputError(f"not valid JSON ({getattr(error, 'msg', str(error))[:60]})") from None
    if not isinstance(record, dict):
        raise InputError("expected a JSON object in braces")
    return record


def _question(
    record: Any,
    context: Any,
    answers: Answers,
    number: str,
    *,
    must_say: bool,
    row: int,
    source: str,
) -> AskedQuestion:
    if not isinstance(record, dict):
        raise InputError("expected a JSON object in braces")
    context = _text(context, "context")
    question = _text(record.get("question"), "question")
    found: tuple[GoldAnswer, ...] = ()
    if answers == "read":
        found = _answers(record, context, must_say=must_say)
    known = record.get("id")
    return AskedQuestion(
        id=number if known is None else str(known),
        question=question,
        context=context,
        answers=found,
        number=row,
        source=source,
    )


def _text(value: Any, name: str) -> str:
    if value is None:
        raise InputError(f'no "{name}"')
    if not isinstance(value, str):
        raise InputError(f"{name} must be text")
    if not value.strip():
        raise InputError(f"the {name} is empty")
    return sound_text(value, name)


def _answers(record: Mapping[str, Any], context: str, *, must_say: bool) -> tuple[GoldAnswer, ...]:
    impossible = record.get("is_impossible", False)
    if not isinstance(impossible, bool):
        raise InputError("is_impossible must be true or false")
    given = _listed(record.get("answers", [] if impossible else None))
    if impossible and given:
        raise InputError("is_impossible, but has answers")
    if not given and not impossible and (must_say or "is_impossible" in record):
        raise InputError("has no answers and is not marked is_impossible")
    return tuple(_answer(each, context) for each in given)


def _listed(given: Any) -> Sequence[Any]:
    """A list of answers; an object of lists, as some tools write it, is converted."""
    if given is None:
        raise InputError('no "answers"')
    if isinstance(given, dict):
        texts, starts = given.get("text"), given.get("answer_start")
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return [
                {"text": text, "answer_start": start}
                for text, start in zip(texts, starts, strict=True)
            ]
    if not isinstance(given, list):
        raise InputError("answers must be a list of objects with text and answer_start")
    return given


def _answer(given: Any, context: str) -> GoldAnswer:
    text = given.get("text") if isinstance(given, dict) else None
    start = given.get("answer_start") if isinstance(given, dict) else None
    if not isinstance(text, str) or not isinstance(start, int) or isinstance(start, bool):
        raise InputError("an answer must be an object with a text and an answer_start")
    if not text.strip():
        raise InputError("an answer is empty")
    if start == NOWHERE:
        return GoldAnswer(text, start)
    if start < 0 or start + len(text) > len(context):
        raise InputError(
            f'answer "{_short(text)}" at {start:,} lies outside the context, '
            f"which has {len(context):,} characters"
        )
    there = context[start : start + len(text)]
    if there != text:
        shown = f'"{_short(text)}" is not the text at {start:,}: "{_short(there)}"'
        raise InputError(f"answer {shown}")
    return GoldAnswer(text, start)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _raise(error: InputError) -> None:
    raise error

"""The rows of a task's files: how they are parsed, answered in bulk, and measured. Needs no torch.

`LabelledRows` are rows with the true answer, for evaluation, calibration and the accuracy gate.
`BulkRows` are rows to be answered: how a row becomes an input, an answer a record, and what the
record repeats of its row, so that a resumed run knows whether it answers the same file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softquery.answers import filled_record, generated_record
from softquery.errors import InputError, counted
from softquery.files import (
    AskedQuestion,
    Row,
    UntaggedText,
    read_lines,
    read_questions,
    read_rows,
    read_tagged,
    read_texts,
    read_untagged,
)

Record = dict[str, Any]
OnBad = Callable[[InputError], object] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ParseOptions:
    """How a file is parsed.

    Attributes:
        rename: Our column names to the file's.
        on_bad: Takes each bad row instead of its error being raised.
        keep_others: Whether columns that the task does not need come along, where a file is a
            table.
    """

    rename: Mapping[str, str] | None = None
    on_bad: Callable[[InputError], None] | None = None
    keep_others: bool = False


RowParser = Callable[[Any, ParseOptions], Iterator[Any]]
"""Streams the rows of a file by its path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledRows:
    """Rows with the true answer.

    Attributes:
        columns: What they hold, as a user names it.
        parse: Reads a file of them.
        noun: What they are called where a file holds none.
        mistakes: The columns of a table of mistakes.
        cut: Under which name a report counts inputs that were longer than the model's limit.
        in_memory: Whether `parse` takes mappings and tables, too.
    """

    columns: tuple[str, ...]
    parse: RowParser
    noun: str = "rows"
    mistakes: tuple[str, ...] = ()
    cut: str = "texts_cut"
    in_memory: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkRows:
    """Rows to be answered into a file.

    Attributes:
        parse: Reads a file of them.
        repeated: What the answer to a row repeats of it.
        answer: A record for each row of a chunk; None where the model has no answer. Takes the
            model, the rows, and the request of a generator or of words for masks.
        num_cut: How many inputs of a chunk are longer than the model's limit.
        told_cut: Tells a number of them to people.
        columns: What a row holds, as a user names it.
        noun: What a row is called.
        done: What was done with a row.
        keep: Leaves out, before rows are put in chunks, those that cannot be answered as asked.
            Takes the model, the rows, the request, and who is told of a bad row instead of its
            error being raised. None where every row can.
    """

    parse: RowParser
    repeated: Callable[[Any], Record]
    answer: Callable[[Any, Sequence[Any], Any], Sequence[Record | None]]
    num_cut: Callable[[Any, Sequence[Any]], int]
    told_cut: Callable[[Any, int], str]
    columns: tuple[str, ...] = ("text",)
    noun: str = "text"
    done: str = "answered"
    keep: Callable[[Any, Iterator[Any], Any, OnBad], Iterator[Any]] | None = None


def _table(*columns: str) -> RowParser:
    """Parses tables with these columns."""
    return lambda path, how: read_rows(
        path, columns=columns, rename=how.rename, keep_others=how.keep_others, on_bad=how.on_bad
    )


PAIR = ("sentence1", "sentence2")
JUDGED = ("predicted", "confidence", "row")
"""The last columns of a table of mistakes."""

LABELLED_PAIRS = LabelledRows(
    columns=(*PAIR, "label"),
    parse=_table(*PAIR, "label"),
    mistakes=(*PAIR, "label", *JUDGED),
    cut="sentences_cut",
    in_memory=True,
)
LABELLED_TEXTS = LabelledRows(
    columns=("text", "label"),
    parse=_table("text", "label"),
    mistakes=("text", "label", *JUDGED),
    in_memory=True,
)
TAGGED_SENTENCES = LabelledRows(
    columns=("tokens", "tags"),
    parse=lambda path, how: read_tagged(path, rename=how.rename, report=how.on_bad),
    noun="sentences",
    mistakes=("tokens", "tags", "wrong", "predicted", "row"),
    cut="sentences_in_parts",
)
QUESTIONS = LabelledRows(
    columns=("context", "question", "answers"),
    parse=lambda path, how: read_questions(path, rename=how.rename, on_bad=how.on_bad),
    noun="questions",
    mistakes=("id", "question", "answers", "f1", "score", "context", "predicted", "row"),
    cut="contexts_in_pages",
)
SOURCES_WITH_TARGETS = LabelledRows(
    columns=("source", "target"),
    parse=_table("source", "target"),
    mistakes=("source", "target", "text", "log_likelihood", "row"),
    in_memory=True,
)
RUNNING_TEXT = LabelledRows(
    columns=("text",),
    parse=lambda path, how: read_texts([path], rename=how.rename),
    noun="text",
)
"""What a language model predicts is its own label."""
DOCUMENTS = LabelledRows(
    columns=("text",),
    parse=lambda path, how: read_lines([path], rename=how.rename),
    noun="text",
)
"""Running text whose documents are told apart."""


def _pair(row: Row) -> tuple[str, str]:
    return row.values["sentence1"], row.values["sentence2"]


PAIRS_TO_MATCH = BulkRows(
    parse=_table(*PAIR),
    repeated=lambda row: {side: row.values[side] for side in PAIR},
    answer=lambda matcher, rows, _: [
        answer.record(*_pair(row))
        for row, answer in zip(rows, matcher.predict(list(map(_pair, rows))), strict=True)
    ],
    num_cut=lambda matcher, rows: matcher.num_cut([text for row in rows for text in _pair(row)]),
    told_cut=lambda matcher, count: _cut(count, "sentence", matcher.pipeline),
    columns=PAIR,
    noun="pair",
)


def _texts(rows: Sequence[Row], column: str = "text") -> list[str]:
    return [row.values[column] for row in rows]


TEXTS_TO_CLASSIFY = BulkRows(
    parse=_table("text"),
    repeated=lambda row: {"text": row.values["text"]},
    answer=lambda classifier, rows, _: [
        answer.record(text)
        for text, answer in zip(_texts(rows), classifier.predict(_texts(rows)), strict=True)
    ],
    num_cut=lambda classifier, rows: classifier.num_cut(_texts(rows)),
    told_cut=lambda classifier, count: (
        f"{counted(count, 'text')} cut to the model's {classifier.limit}"
    ),
)


TEXTS_TO_FILL = BulkRows(
    parse=_table("text"),
    repeated=lambda row: {"text": row.values["text"]},
    answer=lambda filler, rows, request: [
        filled_record(text, found)
        for text, found in zip(_texts(rows), filler.predict(_texts(rows), request), strict=True)
    ],
    num_cut=lambda filler, rows: filler.num_cut(_texts(rows)),
    told_cut=lambda filler, count: _cut(count, "text", filler.pipeline),
    done="filled",
    keep=lambda filler, rows, request, on_bad: filler.fillable_rows(rows, request, on_bad),
)


def _untagged(row: UntaggedText) -> Record:
    """The text, or its tokens where it is cut into words already."""
    return {"text" if isinstance(row.text, str) else "tokens": row.text}


TEXTS_TO_TAG = BulkRows(
    parse=lambda path, how: read_untagged(path, rename=how.rename, on_bad=how.on_bad),
    repeated=_untagged,
    answer=lambda tagger, rows, _: [
        answer.record() for answer in tagger.predict([row.text for row in rows])
    ],
    num_cut=lambda tagger, rows: tagger.num_cut(tagger.words([row.text for row in rows])),
    told_cut=lambda tagger, count: (
        f"{counted(count, 'sentence')} longer than {tagger.pipeline.config.max_tokens} "
        f"{tagger.pipeline.config.noun}, read in parts"
    ),
    done="tagged",
)


def _read_answers(reader: Any, rows: Sequence[AskedQuestion], _: object) -> list[Record]:
    answers = reader.predict([(row.question, row.context) for row in rows])
    return [
        {"id": row.id, **answer.record(row.question, row.context)}
        for row, answer in zip(rows, answers, strict=True)
    ]


QUESTIONS_TO_READ = BulkRows(
    parse=lambda path, how: read_questions(
        path, answers="ignored", rename=how.rename, on_bad=how.on_bad
    ),
    repeated=lambda row: {"id": row.id, "question": row.question, "context": row.context},
    answer=_read_answers,
    num_cut=lambda reader, rows: reader.num_long([row.context for row in rows]),
    told_cut=lambda reader, count: (
        f"{counted(count, 'context')} longer than {reader.window.size} "
        f"{reader.pipeline.config.noun}, read in windows"
    ),
    noun="question",
)


def _generated(generator: Any, rows: Sequence[Row], request: Any) -> list[Record | None]:
    # Samples are drawn by the number of the row, which a resumed run knows as well.
    found = generator.generate(_texts(rows, "source"), request, first=rows[0].number)
    return [
        generated_record(row.values["source"], answers) if answers else None
        for row, answers in zip(rows, found, strict=True)
    ]


SOURCES_TO_GENERATE_FROM = BulkRows(
    parse=_table("source"),
    repeated=lambda row: {"source": row.values["source"]},
    answer=_generated,
    num_cut=lambda generator, rows: generator.num_cut(_texts(rows, "source")),
    told_cut=lambda generator, count: _cut(count, "text", generator.source_pipeline),
    keep=lambda generator, rows, request, on_bad: generator.rows_within_rules(
        rows, request, on_bad
    ),
)


def _cut(count: int, noun: str, pipeline: Any) -> str:
    return f"{counted(count, noun)} cut to the model's {pipeline.config.max_tokens} tokens"

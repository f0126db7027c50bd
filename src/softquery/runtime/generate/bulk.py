"""Texts for a file of any size; see `softquery.runtime.bulk`."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from softquery.answers import generated_record
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime.bulk import Unanswered, identity
from softquery.runtime.generate.model import CHUNK, Generator
from softquery.runtime.generate.request import GenerateRequest


class GenerateAnswers:
    """A writer's answers to rows with `source`.

    Args:
        writer: The model.
        request: How to search, and what to keep to.
    """

    chunk: ClassVar[int] = CHUNK

    def __init__(self, writer: Generator, request: GenerateRequest) -> None:
        self.writer, self.request = writer, request

    def fitting(
        self, rows: Iterable[Row], on_bad: Callable[[InputError], object] | None = None
    ) -> Iterator[Row]:
        """The rows that can keep to what is asked.

        Words that no row could keep to are refused at once; a source that contradicts them, by its
        file and row.

        Args:
            rows: With `source`.
            on_bad: Told of a row that is left out; without it, the first one is raised.
        """
        self.writer.rules.check_words(self.request)
        for row in rows:
            try:
                self.writer.check(row.values["source"], self.request)
            except InputError as error:
                named = InputError(error.message, source=row.source, row=row.number)
                if on_bad is None:
                    raise named from None
                on_bad(named)
            else:
                yield row

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""
        asked = hashlib.sha256(repr(self.request).encode()).hexdigest()[:16]
        return {**identity(self.writer), "request": asked}

    def lines(self, chunk: list[Row]) -> Iterator[str | Unanswered]:
        """A line of JSON for each source; none where the search finds no text within the rules."""
        texts = [row.values["source"] for row in chunk]
        # Samples are drawn by the number of the row, which a resumed run knows as well.
        found = self.writer.generate(texts, self.request, first=chunk[0].number)
        for row, answers in zip(chunk, found, strict=True):
            source = row.values["source"]
            if answers:
                record = generated_record(source, answers)
                yield json.dumps(record, ensure_ascii=False) + "\n"
            else:
                reason = "the rules leave no text for this source"
                yield Unanswered({"source": source}, reason)

    def repeats(self, row: Row, record: Any) -> bool:
        """Whether the source is that of the row."""
        given: object = record["source"]
        return given == row.values["source"]

    def num_cut(self, chunk: list[Row]) -> int:
        """Sources that are longer than the model's limit."""
        return self.writer.num_cut([row.values["source"] for row in chunk])

"""Answers to a file of questions of any size; see `softquery.runtime.bulk`."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from softquery.files import AskedQuestion
from softquery.runtime.bulk import identity
from softquery.runtime.read.model import CHUNK, Reader


class ReadAnswers:
    """A reader's answers to questions, each with its context.

    Args:
        reader: The model.
    """

    chunk: ClassVar[int] = CHUNK

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""
        return identity(self.reader)

    def lines(self, chunk: list[AskedQuestion]) -> Iterator[str]:
        """A line of JSON for each question."""
        answers = self.reader.predict([(row.question, row.context) for row in chunk])
        for row, answer in zip(chunk, answers, strict=True):
            record = {"id": row.id, **answer.record(row.question, row.context)}
            yield json.dumps(record, ensure_ascii=False) + "\n"

    def repeats(self, row: AskedQuestion, record: Any) -> bool:
        """Whether id, question and context are those of the row."""
        given = (record["id"], record["question"], record["context"])
        return given == (row.id, row.question, row.context)

    def num_cut(self, chunk: list[AskedQuestion]) -> int:
        """Contexts that are longer than a window, and are read in several."""
        return self.reader.num_long([row.context for row in chunk])

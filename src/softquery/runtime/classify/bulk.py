"""Classes for a file of texts of any size; see `softquery.runtime.bulk`."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from softquery.files import Row
from softquery.runtime.bulk import identity
from softquery.runtime.classify.model import CHUNK, Classifier


class ClassifyAnswers:
    """A classifier's answers to rows with `text`.

    Args:
        classifier: The model.
    """

    chunk: ClassVar[int] = CHUNK

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""
        return identity(self.classifier)

    def lines(self, chunk: list[Row]) -> Iterator[str]:
        """A line of JSON for each text."""
        texts = [row.values["text"] for row in chunk]
        for text, answer in zip(texts, self.classifier.predict(texts), strict=True):
            yield json.dumps(answer.record(text), ensure_ascii=False) + "\n"

    def repeats(self, row: Row, record: Any) -> bool:
        """Whether the text is that of the row."""
        given: object = record["text"]
        return given == row.values["text"]

    def num_cut(self, chunk: list[Row]) -> int:
        """Texts that are longer than the model's limit."""
        return self.classifier.num_cut([row.values["text"] for row in chunk])

"""Tags for a file of any size; see `softquery.runtime.bulk`."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from softquery.files import UntaggedText
from softquery.runtime.bulk import identity
from softquery.runtime.tag.model import CHUNK, Tagger


class TagAnswers:
    """A tagger's answers to texts, or to sentences that are cut into words.

    Args:
        tagger: The model.
    """

    chunk: ClassVar[int] = CHUNK

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger

    def identity(self) -> dict[str, str]:
        """What the answers depend on besides the rows."""
        return identity(self.tagger)

    def lines(self, chunk: list[UntaggedText]) -> Iterator[str]:
        """A line of JSON for each text."""
        for answer in self.tagger.predict([row.text for row in chunk]):
            yield json.dumps(answer.record(), ensure_ascii=False) + "\n"

    def repeats(self, row: UntaggedText, record: Any) -> bool:
        """Whether the text, or the tokens, are those of the row."""
        given: object = record["text" if isinstance(row.text, str) else "tokens"]
        return given == row.text

    def num_cut(self, chunk: list[UntaggedText]) -> int:
        """Sentences that are read in parts."""
        return self.tagger.num_cut(self.tagger.words([row.text for row in chunk]))


def at_spaces(row: UntaggedText) -> UntaggedText:
    """A text that is cut into words by its spaces."""
    words = row.text.split() if isinstance(row.text, str) else row.text
    return UntaggedText(words, row.number, row.source)

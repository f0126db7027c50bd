"""The texts by which a row is found beside its question: phrasings, passages, synonyms."""

import math
from collections.abc import Iterator, Mapping

from softquery.errors import InputError
from softquery.search.changes.passages import cut
from softquery.search.changes.synonyms import Synonyms
from softquery.search.storage.entries import ID, PHRASINGS, QUESTION, WEIGHT, phrasings_of
from softquery.search.storage.manifest import IndexSettings
from softquery.search.storage.searched_texts import SearchedText

SYNONYMS = "synonyms"
"""What is said to be the column of a text in which a synonym stands."""


class FurtherTexts:
    """Rows as they are stored: each with its further texts behind it.

    Args:
        settings: Those of the index.

    >>> texts = FurtherTexts(IndexSettings(text_columns=("answer",)))
    >>> row = {"id": "a", "question": "How do I pay?", "answer": "By card."}
    >>> [each["question"] for each in texts.expand(row)]
    ['How do I pay?', 'By card.']
    """

    def __init__(self, settings: IndexSettings) -> None:
        self._columns, self._size = settings.text_columns, settings.passage_words
        self._weights = settings.weights
        self._synonyms = Synonyms(settings.synonyms)

    def expand(self, row: Mapping[str, str]) -> list[dict[str, str]]:
        """A row, and what is stored of it beside.

        Raises:
            InputError: Its weight is no number above 0.
        """
        weight = row.get(WEIGHT, "").strip()
        if self._weights and weight and not _is_weight(weight):
            message = f"weight is {weight!r:.40}, expected a number above 0, by which odds are "
            raise InputError(message + "multiplied; a column that means another needs another name")
        seen = {row[QUESTION]}
        stored = [dict(row)]
        for text in self._texts(row):
            if text.text not in seen:
                seen.add(text.text)
                stored.append(text.stored(row, len(stored)))
        return stored

    def _texts(self, row: Mapping[str, str]) -> Iterator[SearchedText]:
        own = row[ID]
        asked = [row[QUESTION], *phrasings_of(row)]
        for text in asked[1:]:
            yield SearchedText(own, PHRASINGS, text)
        for text in asked:
            for variant in self._synonyms.variants(text):
                yield SearchedText(own, SYNONYMS, variant)
        yield from self._passages(own, QUESTION, row[QUESTION])
        for column in self._columns:
            value = row.get(column, "")
            found = list(self._passages(own, column, value))
            yield from found
            if not found and value.strip():
                yield SearchedText(own, column, value, 0, len(value))

    def _passages(self, own: str, column: str, text: str) -> Iterator[SearchedText]:
        if self._size:
            for start, end in cut(text, self._size):
                yield SearchedText(own, column, text[start:end], start, end)


def _is_weight(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False

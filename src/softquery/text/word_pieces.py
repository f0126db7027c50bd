"""Words that come ready cut, as pieces of a vocabulary: which pieces, and whose they are."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from softquery.text.pipeline import TextPipeline
from softquery.text.vocabulary import BERT_CLS, BERT_SEP


class PieceRow(NamedTuple):
    """A sentence, or a part of one, as BERT reads it: between its marks."""

    ids: list[int]
    places: list[int]
    """Where the first piece of each word stands."""


class WordCutting:
    """Cuts words into pieces, each word by itself and once. Safe to use from many threads.

    A word without any piece, such as an invisible character, is one that is not known.

    Args:
        pipeline: With the vocabulary; its limit counts pieces, the two marks included.
    """

    def __init__(self, pipeline: TextPipeline) -> None:
        self.pipeline = pipeline
        found = [pipeline.token_id(mark) for mark in (BERT_CLS, BERT_SEP)]
        self.first, self.last = (0 if each is None else each for each in found)
        self.limit = pipeline.config.max_tokens - 2

    def marked(self, names: Sequence[str]) -> list[int]:
        """Pieces by their names, between the marks."""
        unknown = self.pipeline.unk_id
        found = (self.pipeline.token_id(name) for name in names)
        return [self.first, *(unknown if each is None else each for each in found), self.last]

    def pieces(self, words: Iterable[str]) -> dict[str, list[int]]:
        """The pieces of each distinct word, as many as a row can hold."""
        distinct = list(dict.fromkeys(words))
        unknown = [self.pipeline.unk_id]
        cut = self.pipeline.encode_whole(distinct)
        return {word: ids[: self.limit] or unknown for word, ids in zip(distinct, cut, strict=True)}

    def rows(self, sentences: Sequence[Sequence[str]]) -> list[list[PieceRow]]:
        """Each sentence as one row, or as several where it is too long for one.

        No word is cut apart; a sentence without words is one row of two marks.

        >>> from softquery.text import TextConfig, pipeline_from_pieces
        >>> from softquery.text.vocabulary import BERT_RESERVED
        >>> pieces = [*BERT_RESERVED, "a", "##b", "c"]
        >>> config = TextConfig(unit="bert", boundaries=True, max_tokens=5)
        >>> cutting = WordCutting(pipeline_from_pieces(pieces, config))
        >>> cutting.rows([["ab", "c"]])
        [[PieceRow(ids=[2, 5, 6, 7, 3], places=[1, 3])]]
        >>> [row.places for row in cutting.rows([["ab", "ab", "c"]])[0]]
        [[1], [1, 3]]
        """
        known = self.pieces(word for words in sentences for word in words)
        return [self._rows([known[word] for word in words]) for words in sentences]

    def _rows(self, words: Sequence[Sequence[int]]) -> list[PieceRow]:
        rows = [PieceRow([self.first], [])]
        for pieces in words:
            if len(rows[-1].ids) - 1 + len(pieces) > self.limit:
                rows.append(PieceRow([self.first], []))
            rows[-1].places.append(len(rows[-1].ids))
            rows[-1].ids.extend(pieces)
        for row in rows:
            row.ids.append(self.last)
        return rows

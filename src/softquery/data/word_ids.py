"""Rows of a lexicon for words as they come, known to a vocabulary or not."""

from collections.abc import Iterable, Sequence

import torch

from softquery.nn import Lexicon
from softquery.text import (
    BOS_ID,
    EOS_ID,
    TextPipeline,
    reserved_tokens,
    spell_vocabulary,
    visible_form,
)


def build_lexicon(words: Iterable[str], pipeline: TextPipeline, *, max_characters: int) -> Lexicon:
    """The table of distinct words, behind the four rows that are everywhere.

    Args:
        words: Each once.
        pipeline: Knows which of them the model's table has.
        max_characters: Symbols by which a word is spelt, its two marks included.
    """
    types = list(words)
    first = list(reserved_tokens("words"))
    seen = [visible_form(word, pipeline.config) for word in types]
    ids = [*range(len(first)), *pipeline.look_up(types)]
    return Lexicon(
        torch.from_numpy(spell_vocabulary([*first, *seen], max_characters)),
        torch.tensor(ids, dtype=torch.int64),
    )


class WordIds:
    """Rows of a lexicon for the words of any sentences; no word is unknown.

    Args:
        pipeline: Cuts texts into words, and knows which of them a model's table has.
    """

    def __init__(self, pipeline: TextPipeline) -> None:
        self.pipeline = pipeline
        self.rows: dict[str, int] = {}
        self._first = len(reserved_tokens("words"))

    @property
    def words(self) -> list[str]:
        """The words that were met, in the order of their rows."""
        return list(self.rows)

    def number(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """The rows of words that are cut already."""
        return [
            [self.rows.setdefault(word, self._first + len(self.rows)) for word in sentence]
            for sentence in sentences
        ]

    def number_within(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """The same, between the two ends of a sentence where the pipeline's texts have them.

        >>> from softquery.text import TextConfig, pipeline_from_words
        >>> WordIds(pipeline_from_words([], TextConfig(boundaries=True))).number_within([["a"]])
        [[2, 4, 3]]
        """
        rows = self.number(sentences)
        if not self.pipeline.config.boundaries:
            return rows
        return [[BOS_ID, *sentence, EOS_ID] for sentence in rows]

    def number_texts(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """Texts cut into words and numbered so, and how many words the limit cost each."""
        words, cuts = self.pipeline.written_words_with_cuts(texts)
        return self.number_within(words), cuts

    def lexicon(self, *, max_characters: int) -> Lexicon:
        """The table of the words that were met.

        Args:
            max_characters: Symbols by which a word is spelt, its two marks included.
        """
        return build_lexicon(self.rows, self.pipeline, max_characters=max_characters)

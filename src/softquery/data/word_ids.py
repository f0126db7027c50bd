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
    """The table of distinct words, behind the four reserved rows.

    Args:
        words: Each once.
        pipeline: Knows which of them the model's table has.
        max_characters: Characters per word, the two marks at its ends included.
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

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """The rows of sentences that are lists of words."""
        return [
            [self.rows.setdefault(word, self._first + len(self.rows)) for word in sentence]
            for sentence in sentences
        ]

    def encode_with_ends(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """The same, between the two ends of a sentence where the pipeline's texts have them.

        >>> from softquery.text import TextConfig, pipeline_from_words
        >>> WordIds(pipeline_from_words([], TextConfig(boundaries=True))).encode_with_ends([["a"]])
        [[2, 4, 3]]
        """
        rows = self.encode(sentences)
        if not self.pipeline.config.boundaries:
            return rows
        return [[BOS_ID, *sentence, EOS_ID] for sentence in rows]

    def encode_texts(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The rows of the words of texts, and how many words of each were cut off."""
        words, cuts = self.pipeline.written_words_with_cuts(texts)
        return self.encode_with_ends(words), cuts

    def lexicon(self, *, max_characters: int) -> Lexicon:
        """The table of the words that were met.

        Args:
            max_characters: Characters per word, the two marks at its ends included.
        """
        return build_lexicon(self.rows, self.pipeline, max_characters=max_characters)

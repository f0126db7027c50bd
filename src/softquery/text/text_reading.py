"""What a model reads of a text that it answers about as a whole: one sentence, or all of them.

A text becomes a list of sentences of tokens, which are ids of the vocabulary or, where characters
are read, words as they are spelt. What is beyond the model's limits is cut and counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from softquery.text.pipeline import TextPipeline
from softquery.text.spans import in_parts, split_sentences
from softquery.text.text_config import UNK

Tokens = Sequence[Sequence[int]] | Sequence[Sequence[str]]
"""The sentences of one text."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """One text as a model reads it."""

    sentences: Tokens
    num_cut: int
    """Tokens that were beyond the limits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How a model reads its texts."""

    tokens: Literal["ids", "words"] = "ids"
    """Numbers of the vocabulary, or words to be spelt."""
    max_sentences: int | None = None
    """How many sentences are read; None for texts that are read as one sentence."""

    def read(self, texts: Sequence[str], pipeline: TextPipeline) -> list[ReadText]:
        """Every text as sentences of tokens.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> pipeline = build_pipeline(["a b"], TextConfig(max_tokens=2))
        >>> Reading().read(["a b a"], pipeline)
        [Read(sentences=[[4, 5]], num_cut=1)]
        >>> Reading(max_sentences=2).read(["a b a. B. A."], pipeline)
        [Read(sentences=[[4, 5], [4, 1]], num_cut=4)]
        """
        if self.max_sentences is not None:
            return self._documents(texts, pipeline, self.max_sentences)
        if self.tokens == "words":
            limit = pipeline.config.max_tokens
            spelt = pipeline.written_words(texts)
            return [ReadText([words[:limit]], max(0, len(words) - limit)) for words in spelt]
        ids, cuts = pipeline.encode_ids_with_cuts(texts)
        return [ReadText([each], cut) for each, cut in zip(ids, cuts, strict=True)]

    def is_surely_whole(self, text: str, pipeline: TextPipeline) -> bool:
        """Whether it can be told without reading that nothing of a text is cut."""
        limit = pipeline.config.max_tokens
        if not text.isascii():  # one character of others may stand for several tokens
            return False
        if self.max_sentences is None:
            return len(text) <= limit - 2 * pipeline.config.boundaries
        return len(split_sentences(text)) + len(text) // limit <= self.max_sentences

    def shown(self, text: str, pipeline: TextPipeline) -> list[list[str]]:
        """The tokens that are read, as they stand in the text.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> pipeline = build_pipeline(["a b"], TextConfig(max_tokens=2))
        >>> Reading(max_sentences=9).shown("A b. Zebra!", pipeline)
        [['A', 'b'], ['.'], ['Zebra', '!']]
        """
        if self.max_sentences is not None:
            words = pipeline.written_words(split_sentences(text))
            parts = list(_filled(words, pipeline.config.max_tokens))
            return [list(part) for part in parts[: self.max_sentences]]
        if self.tokens == "words":
            return [each[: pipeline.config.max_tokens] for each in pipeline.written_words([text])]
        encoded = pipeline.encode([text])[0]
        found = zip(encoded.tokens, encoded.offsets, strict=True)
        return [[text[start:end] or _named(token) for token, (start, end) in found]]

    def _documents(self, texts: Sequence[str], pipeline: TextPipeline, most: int) -> list[ReadText]:
        """Sentences that are too long go on in the next one; only too many are cut."""
        split = [split_sentences(text) for text in texts]
        stream = iter(pipeline.encode_whole([each for sentences in split for each in sentences]))
        found = []
        for sentences in split:
            ids = [next(stream) for _ in sentences]
            parts = list(_filled(ids, pipeline.config.max_tokens))
            found.append(ReadText(parts[:most], sum(map(len, parts[most:]))))
        return found


def _filled(sentences: Sequence[Sequence[Any]], limit: int) -> Iterator[Sequence[Any]]:
    """Long sentences in parts, and none without a token."""
    return (part for part in in_parts(sentences, limit) if part)


def _named(token: str) -> str:
    return "" if token == UNK else token

"""Texts as the input of a classifier: one sentence, or a document of several sentences.

A text becomes a list of sentences of tokens: ids of the vocabulary or, for character models, words.
Tokens beyond the model's limits are cut and counted.
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
class EncodedText:
    """One text as input of a model."""

    sentences: Tokens
    num_cut: int
    """How many tokens were cut."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextInput:
    """What a model takes as input of a text."""

    tokens: Literal["ids", "words"] = "ids"
    """Ids of the vocabulary, or words for a character model."""
    max_sentences: int | None = None
    """The most sentences of a text; None for texts that are taken as one sentence."""

    def encode(self, texts: Sequence[str], pipeline: TextPipeline) -> list[EncodedText]:
        """Encode texts as sentences of tokens.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> pipeline = build_pipeline(["a b"], TextConfig(max_tokens=2))
        >>> TextInput().encode(["a b a"], pipeline)
        [EncodedText(sentences=[[4, 5]], num_cut=1)]
        >>> TextInput(max_sentences=2).encode(["a b a. B. A."], pipeline)
        [EncodedText(sentences=[[4, 5], [4, 1]], num_cut=4)]
        """
        if self.max_sentences is not None:
            return self._documents(texts, pipeline, self.max_sentences)
        if self.tokens == "words":
            limit = pipeline.config.max_tokens
            words_of = pipeline.written_words(texts)
            return [EncodedText([words[:limit]], max(0, len(words) - limit)) for words in words_of]
        ids, cuts = pipeline.encode_ids_with_cuts(texts)
        return [EncodedText([each], cut) for each, cut in zip(ids, cuts, strict=True)]

    def surely_fits(self, text: str, pipeline: TextPipeline) -> bool:
        """Whether a text is known to fit without encoding it; False may still fit."""
        limit = pipeline.config.max_tokens
        if not text.isascii():  # one character may become several tokens
            return False
        if self.max_sentences is None:
            return len(text) <= limit - 2 * pipeline.config.boundaries
        return len(split_sentences(text)) + len(text) // limit <= self.max_sentences

    def shown(self, text: str, pipeline: TextPipeline) -> list[list[str]]:
        """The tokens of the input, as written in the text.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> pipeline = build_pipeline(["a b"], TextConfig(max_tokens=2))
        >>> TextInput(max_sentences=9).shown("A b. Zebra!", pipeline)
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

    def _documents(
        self, texts: Sequence[str], pipeline: TextPipeline, most: int
    ) -> list[EncodedText]:
        """Long sentences become several; only sentences beyond `most` are cut."""
        split = [split_sentences(text) for text in texts]
        stream = iter(pipeline.encode_whole([each for sentences in split for each in sentences]))
        found = []
        for sentences in split:
            ids = [next(stream) for _ in sentences]
            parts = list(_filled(ids, pipeline.config.max_tokens))
            found.append(EncodedText(parts[:most], sum(map(len, parts[most:]))))
        return found


def _filled(sentences: Sequence[Sequence[Any]], limit: int) -> Iterator[Sequence[Any]]:
    """Sentences in parts of at most `limit` tokens, without empty ones."""
    return (part for part in in_parts(sentences, limit) if part)


def _named(token: str) -> str:
    return "" if token == UNK else token

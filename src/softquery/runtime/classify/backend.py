"""What computes for a classifier: the shape that every backend has, and how it reads texts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.text import TextInput, TextPipeline, Tokens

Floats = NDArray[np.float32]
SENTENCE_HEAD = "sentence-head"
"""The model of a classifier that is a head on a sentence encoder, as a bundle's config names it."""


def is_sentence_head(bundle: Bundle) -> bool:
    """Whether a bundle is a head on a sentence encoder, which has no graphs of its own."""
    return bundle.config.kind == "classifier" and bundle.config.model["name"] == SENTENCE_HEAD


class Weighed(NamedTuple):
    """One text: its logits [C], the weights of each sentence's words, and of the sentences."""

    logits: Floats
    word_weights: list[Floats]
    sentence_weights: Floats | None
    states: Floats | None = None
    """[T, D]: what the weights mix, where the answer is read off their mixture alone."""


class ClassifyBackend(Protocol):
    """A classifier's model, over texts as they were read."""

    @property
    def name(self) -> str:
        """What computes, such as `"onnx"`."""

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts, each of them a list of sentences of tokens."""

    def weigh(self, text: Tokens) -> Weighed:
        """Logits and weights of one text."""


def reading_of(settings: Mapping[str, Any]) -> TextInput:
    """How the model of these settings reads: one sentence, words to be spelt, or documents.

    >>> reading_of({"max_sentences": 8}), reading_of({"max_characters": 0}).tokens
    (TextInput(tokens='ids', max_sentences=8), 'ids')
    """
    return TextInput(
        tokens="words" if settings.get("max_characters") else "ids",
        max_sentences=settings.get("max_sentences"),
    )


def limit_of(reading: TextInput, pipeline: TextPipeline) -> str:
    """Where texts are cut, in words.

    >>> from softquery.text import TextConfig, build_pipeline
    >>> limit_of(TextInput(max_sentences=8), build_pipeline(["a"], TextConfig(max_tokens=9)))
    '8 sentences of 9 tokens'
    """
    words = f"{pipeline.config.max_tokens:,} tokens"
    return (
        words if reading.max_sentences is None else f"{reading.max_sentences} sentences of {words}"
    )

"""How a classifier reads its texts, by its settings. Needs no torch."""

from collections.abc import Mapping
from typing import Any

from softquery.text import TextInput, TextPipeline


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

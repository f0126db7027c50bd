"""Sentences as a matcher's model reads them: ids of a vocabulary, or words. Needs no torch."""

from collections.abc import Callable, Sequence
from typing import Any

from softquery.bundle import Bundle
from softquery.text import TextPipeline

NESTED = "embedder"
"""Under which a model's config holds the embedder inside it, and before its weights."""
PREFIX = f"{NESTED}.bilm."
"""Before the names of the biLM's weights inside a model."""
PROJECTIONS = f"{NESTED}.projections."
"""Before those of the matrices that make its vectors narrower."""


def reads_words(bundle: Bundle) -> bool:
    """Whether a model spells words by their own characters, so that no word is unknown to it."""
    nested = bundle.config.model["config"].get(NESTED)
    return isinstance(nested, dict) and nested.get("num_types") == 0


def sentence_reader(
    bundle: Bundle, pipeline: TextPipeline
) -> Callable[[Sequence[str]], list[list[Any]]]:
    """From texts to what the bundle's backend takes; equal texts give equal lists."""
    if not reads_words(bundle):
        return pipeline.encode_ids
    return lambda texts: pipeline.written_words_with_cuts(texts)[0]

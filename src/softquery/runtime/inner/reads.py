"""What a model reads of a sentence: ids of a vocabulary, or words. Needs no torch."""

from softquery.bundle import Bundle

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

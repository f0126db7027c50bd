"""The shipped models by the language that they read: what a task takes where no model is named."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from softquery.errors import InputError
from softquery.text.languages import language_name, language_of

SHIPPED_ENCODERS = {"en": "embed-en", "zh": "embed-zh"}
SHIPPED_MATCHERS = {"en": "match-en", "zh": "match-zh"}
BY_TASK = {
    "classify": {"en": "sentiment-en", "zh": "sentiment-zh"},
    "match": SHIPPED_MATCHERS,
    "tag": {"en": "tagger-en", "zh": "ner-zh"},
}
"""A task's models by language; English comes first, and is taken where nothing tells."""
LOOKED_AT = 1000
"""Texts that are looked at."""


def main_language(texts: Iterable[str]) -> str | None:
    """The language of most of the first texts, as a code; None where nothing tells.

    >>> main_language(["how do I reset it?", "42"]), main_language(["怎么退货"]), main_language([])
    ('en', 'zh', None)
    """
    found = map(language_of, islice(texts, LOOKED_AT))
    counts = Counter(language for language in found if language is not None)
    return counts.most_common(1)[0][0] if counts else None


def encoder_for(texts: Iterable[str], source: str) -> str:
    """The shipped sentence encoder for most of the first texts; English where nothing tells.

    Raises:
        InputError: Most are in a language that no shipped encoder reads.

    >>> encoder_for(["how do I reset it?", "42"], "faq.txt"), encoder_for(["怎么退货"], "faq.txt")
    ('embed-en', 'embed-zh')
    """
    language = main_language(texts) or "en"
    if language not in SHIPPED_ENCODERS:
        known = " and ".join(
            f"{name} reads {language_name(code)}" for code, name in SHIPPED_ENCODERS.items()
        )
        raise InputError(
            f"most of it is in {language_name(language)}; {known}; name another by --model",
            source=source,
        )
    return SHIPPED_ENCODERS[language]

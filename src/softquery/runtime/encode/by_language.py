"""The shipped sentence encoder that reads what some texts are written in."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from softquery.errors import InputError
from softquery.text.languages import language_name, language_of

SHIPPED_ENCODERS = {"en": "embed-en", "zh": "embed-zh"}
"""By the language that they read."""
LOOKED_AT = 1000
"""Texts that are looked at."""


def encoder_for(texts: Iterable[str], source: str) -> str:
    """The shipped encoder for most of the first texts; English where nothing tells.

    Raises:
        InputError: Most are in a language that no shipped encoder reads.

    >>> encoder_for(["how do I reset it?", "42"], "faq.txt"), encoder_for(["怎么退货"], "faq.txt")
    ('embed-en', 'embed-zh')
    """
    found = map(language_of, islice(texts, LOOKED_AT))
    counts = Counter(language for language in found if language is not None)
    language = counts.most_common(1)[0][0] if counts else "en"
    if language not in SHIPPED_ENCODERS:
        known = " and ".join(
            f"{name} reads {language_name(code)}" for code, name in SHIPPED_ENCODERS.items()
        )
        raise InputError(
            f"most of it is in {language_name(language)}; {known}; name another by --model",
            source=source,
        )
    return SHIPPED_ENCODERS[language]

"""Texts to the words that are looked up: the bundle's own spelling, and pairs of characters.

Chinese is looked up by characters and by pairs of neighbours, which need no dictionary of words and
find what a dictionary would cut otherwise in the question than in the query.
"""

from dataclasses import replace
from itertools import pairwise

from softquery.text import TextConfig, WordTokenizer

_CUT_ELSEWHERE = ("bpe", "wordpiece", "characters")
"""Units of which the words are those of `words`: a model's pieces are no words."""


class SearchWords:
    """Cuts texts as a bundle's pipeline spells them, down to what is worth looking up.

    Args:
        config: Of the bundle.

    >>> SearchWords(TextConfig()).of("How do I reset passwords?")
    ['how', 'do', 'i', 'reset', 'password']
    >>> SearchWords(TextConfig()).of("怎么退款")
    ['怎', '么', '退', '款', '怎么', '么退', '退款']
    """

    def __init__(self, config: TextConfig) -> None:
        unit = "words" if config.unit in _CUT_ELSEWHERE else config.unit
        self._cutter = WordTokenizer(replace(config, unit=unit, lowercase=True))

    def of(self, text: str) -> list[str]:
        """Words in order, then pairs of characters; signs are left out."""
        tokens = self._cutter.words(text)
        words = [_stem(token) for token in tokens if any(map(str.isalnum, token))]
        pairs = [a + b for a, b in pairwise(tokens) if _is_character(a) and _is_character(b)]
        return words + pairs


def _is_character(token: str) -> bool:
    return len(token) == 1 and "\u3040" <= token <= "\u9fff"


def _stem(word: str) -> str:
    """An English word without the ending of its plural (Harman 1991, the S stemmer).

    >>> [_stem(word) for word in ("policies", "passwords", "address", "status", "axes")]
    ['policy', 'password', 'address', 'status', 'axe']
    """
    if len(word) < 4 or not word.endswith("s") or not word.isascii():
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word if word.endswith(("us", "ss", "aes", "ees", "oes")) else word[:-1]

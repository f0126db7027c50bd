"""Texts to words without a vocabulary: what a corpus is cut into before its words are counted."""

import re
from typing import Final

from softquery.errors import ConfigError
from softquery.text.chinese import WordSegmenter
from softquery.text.normalise import build_normaliser, repaired, simplified
from softquery.text.segmentation import build_segmenter
from softquery.text.text_config import SUBWORDS, TextConfig

_PLAIN: Final = re.compile(r"""([A-Za-z]+)([,.;:!?)"]?)""")
"""A word as most are, of which no rule says more than that the mark behind it stands alone."""


class WordCutter:
    """Normalises and cuts texts exactly as a `TextPipeline` of the same settings does.

    Nothing that it does looks across a space, so that the pieces between spaces may be cut one by
    one, and remembered.

    Args:
        config: Of words; sub-words need a vocabulary.

    >>> WordCutter(TextConfig()).words("He's SURE.")
    ['he', "'s", 'sure', '.']
    """

    def __init__(self, config: TextConfig) -> None:
        if config.unit in SUBWORDS:
            raise ConfigError(
                f"text.unit {config.unit!r} makes sub-words; "
                "expected words, characters, whitespace or jieba"
            )
        self._prepare = simplified if config.simplify else repaired
        self._normaliser = build_normaliser(config)
        self._chinese = WordSegmenter(self._normaliser) if config.unit == "jieba" else None
        self._segmenter = build_segmenter(config)
        self._knows_plain = config.unit in ("words", "characters", "jieba")
        self._lowercase = config.lowercase

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        plain = _PLAIN.fullmatch(text) if self._knows_plain else None
        if plain is not None:  # no machinery needed
            word, mark = plain.groups()
            spelt = word.lower() if self._lowercase else word
            return [spelt, mark] if mark else [spelt]
        text = self._prepare(text)
        if self._segmenter is None or self._chinese is not None:
            return [] if self._chinese is None else self._chinese.words(text)
        cut = self._segmenter.pre_tokenize_str(self._normaliser.normalize_str(text))
        return [word for word, _ in cut]

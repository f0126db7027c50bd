"""How a model of a task reads characters, as a value that travels with it."""

from dataclasses import dataclass
from typing import Literal, get_args

from softquery.nn.character_cnn import CharacterCnn
from softquery.nn.spelt_words import CharacterLstm, SpeltWords
from softquery.text import NUM_CHARACTERS

Reading = Literal["cnn", "lstm", "none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpellingConfig:
    """How the task itself reads characters, beside its table of words."""

    kind: Reading = "cnn"
    """`"cnn"` as Ma & Hovy (2016), Section 2.1; `"lstm"` as Lample et al. (2016), Section 4.1."""
    size: int = 16
    """Width of one character."""
    output_size: int = 128
    """Width of a word's features: filters, or both states together."""
    width: int = 3
    """Characters that a filter sees at once."""
    max_characters: int = 32
    """Symbols by which a word is spelt, its two marks included; a biLM inside brings its own."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Reading):
            raise ValueError(f"kind must be one of {', '.join(get_args(Reading))}")
        if min(self.size, self.output_size, self.width) < 1:
            raise ValueError("size, output_size and width must be positive")
        if self.max_characters < max(3, self.width):
            raise ValueError(
                f"max_characters ({self.max_characters}) must hold two marks, a character, and the "
                f"width ({self.width})"
            )
        if self.kind == "lstm" and self.output_size % 2:
            raise ValueError(f"output_size must be even for two directions, got {self.output_size}")

    def build(self) -> SpeltWords | None:
        """The features, where there are any."""
        if self.kind == "none":
            return None
        if self.kind == "lstm":
            return SpeltWords(CharacterLstm(self.size, self.output_size))
        filters = CharacterCnn(
            NUM_CHARACTERS,
            self.size,
            [self.width],
            [self.output_size],
            self.output_size,
            num_highways=0,
        )
        return SpeltWords(filters)

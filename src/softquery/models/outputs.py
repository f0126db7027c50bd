"""What every classifier of texts, and every tagger, returns.

B texts, S sentences, T tokens of a text or of a sentence, C classes or tags.
"""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from softquery.nn import Transitions


class ClassOutput(NamedTuple):
    """Logits of B texts, and the weights of words and sentences."""

    logits: Float[Tensor, "B C"]
    word_weights: Float[Tensor, "B *S T"] | None = None
    """Where the model itself weighs words."""
    sentence_weights: Float[Tensor, "B S"] | None = None
    """Where it reads documents of sentences."""


class TagOutput(NamedTuple):
    """Scores of each tag at each word, and of transitions between tags where they are learned."""

    logits: Float[Tensor, "B T C"]
    mask: Bool[Tensor, "B T"]
    transitions: Transitions | None = None

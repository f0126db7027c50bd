"""What every classifier of texts, and every tagger, returns.

B texts, S sentences, T tokens of a text or of a sentence, C classes or tags.
"""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from softquery.nn import Transitions


class ClassOutput(NamedTuple):
    """Logits of B texts, and how much each word, and each sentence, had to say."""

    logits: Float[Tensor, "B C"]
    word_weights: Float[Tensor, "B *S T"] | None = None
    """Where the model weighs words to answer; others are asked for them."""
    sentence_weights: Float[Tensor, "B S"] | None = None
    """Of documents alone."""


class TagOutput(NamedTuple):
    """A score for each tag of each word, and of tags among themselves where those are learnt."""

    logits: Float[Tensor, "B T C"]
    mask: Bool[Tensor, "B T"]
    transitions: Transitions | None = None

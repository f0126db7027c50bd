"""What every classifier of texts, every tagger, and every sentence encoder returns.

B texts, S sentences, T tokens of a text or of a sentence, C classes or tags, E width of a vector.
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


class SentenceOutput(NamedTuple):
    """A vector per sentence, and how much each token had to say."""

    vectors: Float[Tensor, "B E"]
    """Of length one, unless a model was imported whose vectors are not."""
    weights: Float[Tensor, "B T"] | None = None
    """Of the learned query, where there is one."""

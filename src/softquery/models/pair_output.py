"""What every matching model returns, and what those that align tokens keep of a sentence."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor


class PairOutput(NamedTuple):
    """Logits of B pairs, and the alignment weights of models that align.

    `first_to_second[b, i]` holds the weights with which token i of the first sentence asked the
    second one. A model whose sentences meet only as vectors gives those instead.
    """

    logits: Float[Tensor, "B C"]
    first_to_second: Float[Tensor, "B P H"] | None = None
    second_to_first: Float[Tensor, "B H P"] | None = None
    first_vector: Float[Tensor, "B D"] | None = None
    second_vector: Float[Tensor, "B D"] | None = None


class EncodedSentence(NamedTuple):
    """One encoded side of a pair: all that `compare` needs of it, ready to be stored."""

    states: Float[Tensor, "B T D"]
    mask: Bool[Tensor, "B T"]

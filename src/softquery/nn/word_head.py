"""Which word stands here? The states of some tokens against the table that tokens are read by.

M states, D width, V words.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softquery.nn.layer_norm import LayerNorm
from softquery.nn.transformer import BlockActivation, activated


class WordHead(nn.Module):
    """One more layer, then a softmax tied to the table of tokens (Devlin et al. 2019, Section 3.1).

    Give it the states of those tokens that are to be foretold and no others: the product with the
    table is by far its dearest part.

    Args:
        size: Width of a state.
        vocab_size: Words.
        activation: Of the layer.
        eps: Of its normalisation.
    """

    def __init__(
        self,
        size: int,
        vocab_size: int,
        *,
        activation: BlockActivation = "gelu",
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.transform = nn.Linear(size, size)
        self.norm = LayerNorm(size, eps=eps)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(
        self, states: Float[Tensor, "M D"], table: Float[Tensor, "V D"]
    ) -> Float[Tensor, "M V"]:
        """Logits of all words."""
        changed = self.norm(activated(self.transform(states), self.activation))
        return nn.functional.linear(changed, table, self.bias)

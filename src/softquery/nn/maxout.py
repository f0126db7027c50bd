"""A layer whose every output is the larger of two."""

from jaxtyping import Float
from torch import Tensor, nn


class Maxout(nn.Module):
    """max of pairs of a linear layer's outputs (Goodfellow et al. 2013, Section 2).

    The output layer of Cho et al. (2014), Appendix A.1.2, and Bahdanau et al. (2015), Appendix
    A.2.2.

    Args:
        input_size: Width of the input.
        output_size: Width of the output.
    """

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.pairs = nn.Linear(input_size, 2 * output_size)
        nn.init.xavier_uniform_(self.pairs.weight)
        nn.init.zeros_(self.pairs.bias)

    def forward(self, inputs: Float[Tensor, "*B D"]) -> Float[Tensor, "*B E"]:
        """The larger of each pair."""
        pairs: Tensor = self.pairs(inputs)
        return pairs.view(*inputs.shape[:-1], -1, 2).amax(dim=-1)

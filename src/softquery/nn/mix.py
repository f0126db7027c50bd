"""One vector a token from the layers of a deep model.

J layers, B sentences, T tokens, D width.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class LayerMix(nn.Module):
    """γ Σ_j softmax(w)_j h_j (Peters et al. 2018, Section 3.2, Eq. 1).

    Query: one learned vector that never sees the input. Key: none; the score of a layer is its
    weight w_j itself. Value: the layer. The same mixture thus goes for every token, which is where
    the picture of a soft query bends.

    Differs from paper's code: layer normalisation is over each token, so that no sentence depends
    on others in its batch.

    Args:
        num_layers: J.
        normalise: Whether layers are normalised first (Section 3.2).
        penalty: λ of λ‖w‖² (Section 3.3); large values keep the mixture near the mean of all
            layers.
        dropout: Of the mixed vectors.
        learn_scale: Whether γ is learned; else it is 1.
    """

    def __init__(
        self,
        num_layers: int,
        *,
        normalise: bool = False,
        penalty: float = 0.0,
        dropout: float = 0.0,
        learn_scale: bool = True,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be positive, got {num_layers}")
        if penalty < 0 or not 0 <= dropout < 1:
            raise ValueError(
                f"penalty must not be negative and dropout in [0, 1), got {penalty} and {dropout}"
            )
        self.normalise, self.penalty = normalise, penalty
        self.weights = nn.Parameter(torch.zeros(num_layers))
        self.scale = nn.Parameter(torch.ones(()), requires_grad=learn_scale)
        self.dropout = nn.Dropout(dropout)

    def forward(self, layers: Float[Tensor, "J B T D"]) -> Float[Tensor, "B T D"]:
        """Mix the layers.

        >>> mix = LayerMix(2)
        >>> mix(torch.tensor([1.0, 3.0]).view(2, 1, 1, 1)).item()
        2.0
        """
        if len(layers) != len(self.weights):
            raise ValueError(f"expected {len(self.weights)} layers, got {len(layers)}")
        if self.normalise:
            layers = F.layer_norm(layers, layers.shape[-1:])
        share = self.weights.softmax(dim=0).view(-1, 1, 1, 1)
        mixed: Tensor = self.dropout(self.scale * (share * layers).sum(dim=0))
        return mixed

    def regulariser(self) -> Float[Tensor, ""]:
        """λ‖w‖², to be added to the task's loss."""
        return self.penalty * self.weights.square().sum()

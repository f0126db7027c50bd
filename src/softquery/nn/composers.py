"""Composers: what reads a sentence after its words were compared with the other's, before pooling.

ESIM's inference composition (Chen et al. 2017, Section 3.3) is a BiLSTM. It is paid once per pair,
the encoder once per text, so that this is where a matcher's time goes. Here are thinner ones. A
composer maps [B, T, P] and a mask to [B, T, E], and padding changes nothing.

B sentences, T tokens, P input width, H `hidden_size`, E `output_size` (2 H for both directions of a
recurrence, else H), W tokens of a window.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.nn.embedding import VariationalDropout
from softquery.nn.recurrent import BiRecurrent

ComposerName = Literal["lstm", "gru", "feedforward", "convolution"]
WINDOWS = {"feedforward": 1, "convolution": 3}
"""How many tokens each layer of a composer without recurrence sees."""
NUM_LAYERS = 2


def with_neighbours(states: Float[Tensor, "B T P"], window: int) -> Float[Tensor, "B T {window}*P"]:
    """Each token between those around it, [x_{t-1}; x_t; x_{t+1}]; zeros beyond both ends.

    >>> with_neighbours(torch.tensor([[[1.0], [2.0], [3.0]]]), 3).tolist()
    [[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 0.0]]]
    """
    if window == 1:
        return states
    length, reach = states.shape[1], window // 2
    wide = nn.functional.pad(states, (0, 0, reach, reach))
    return torch.cat([wide[:, shift : shift + length] for shift in range(window)], dim=-1)


class WindowComposer(nn.Module):
    """Two rectified layers over a window of tokens: a feed-forward network, or a convolution.

    A window of one token is the comparison G of decomposable attention (Parikh et al. 2016, Section
    3.2); a window of three is a convolution of width three, written as one linear layer over
    [x_{t-1}; x_t; x_{t+1}], which is one matrix product in torch and in an exported graph.

    Padding is zero before every layer, as if nothing stood there, and zero in the output.

    Args:
        input_size: Width of a token.
        hidden_size: Width of both layers.
        window: How many tokens a layer sees, an odd number.
        dropout: Between the layers, with one mask per sentence.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, window: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if window < 1 or window % 2 == 0:
            raise ValueError(f"window must be an odd number, got {window}")
        self.output_size, self.window = hidden_size, window
        widths = (input_size, *(hidden_size,) * (NUM_LAYERS - 1))
        layers = [nn.Linear(window * width, hidden_size) for width in widths]
        self.dropout = VariationalDropout(dropout)
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.layers = nn.ModuleList(layers)

    def forward(
        self, inputs: Float[Tensor, "B T P"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T {self.output_size}"]:
        """What the layers make of every token and its neighbours; zeros at padding."""
        real = mask.unsqueeze(-1)
        states = inputs * real
        for number, layer in enumerate(self.layers):
            if number:
                states = self.dropout(states)
            states = torch.relu(layer(with_neighbours(states, self.window))) * real
        return states


Composer = BiRecurrent | WindowComposer

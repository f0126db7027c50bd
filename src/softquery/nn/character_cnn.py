"""A vector for any token from its characters.

U distinct tokens, C characters of each, E width of a character, W widest window, F filters in all,
D width of a token.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.nn.highway import Highway

Activation = Literal["relu", "tanh"]


class CharacterCnn(nn.Module):
    """Convolutions over characters, the strongest answer of each, highways, a projection.

    Kim et al. (2016), Sections 3.2-3.3, as Jozefowicz et al. (2016) and Peters et al. (2018) took
    it over. It knows no vocabulary: a word that was never seen has a vector like any other.

    All windows are laid out once and meet all filters in one matrix product, the narrower filters
    padded with zeros; places where a filter would stand out over the end are not looked at.

    Args:
        num_characters: Symbols there are; 0 means no character and stays zero.
        character_size: Width of one character.
        widths: Characters that each group of filters sees at once.
        filters: How many filters each of these groups has.
        output_size: Width of a token's vector.
        num_highways: Highway layers between the filters and the projection.
        activation: `"relu"` or `"tanh"`, after the maximum over places.
    """

    def __init__(
        self,
        num_characters: int,
        character_size: int,
        widths: Sequence[int],
        filters: Sequence[int],
        output_size: int,
        *,
        num_highways: int = 2,
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        if activation not in get_args(Activation):
            raise ValueError(
                f"activation must be one of {get_args(Activation)}, got {activation!r}"
            )
        if not widths or len(widths) != len(filters) or min(*widths, *filters) < 1:
            raise ValueError(f"widths {widths} and filters {filters} must be positive pairs")
        self.widths, self.filters = tuple(widths), tuple(filters)
        self.activation = activation
        self.output_size = output_size
        self.table = nn.Embedding(num_characters, character_size, padding_idx=0)
        self.kernels = nn.ParameterList(
            torch.empty(count, character_size, width)
            for width, count in zip(widths, filters, strict=True)
        )
        total = sum(filters)
        self.bias = nn.Parameter(torch.zeros(total))
        self.highways = nn.Sequential(*(Highway(total) for _ in range(num_highways)))
        self.projection = nn.Linear(total, output_size)
        self._initialise()

    def forward(self, characters: Int[Tensor, "U C"]) -> Float[Tensor, "U {self.output_size}"]:
        """One vector a token."""
        length = characters.shape[1]
        if length < max(self.widths):
            raise ValueError(f"tokens of {length} characters are narrower than {self.widths}")
        found = self._windows(characters) @ self._kernel().t()  # [U, C, F]
        groups = torch.split(found, list(self.filters), dim=-1)
        strongest = [
            # With the index of the maximum, the backward pass need not keep what was found.
            group[:, : length - width + 1].max(dim=1).values
            for group, width in zip(groups, self.widths, strict=True)
        ]
        pooled = torch.cat(strongest, dim=-1) + self.bias  # the bias does not move the maximum
        features = F.relu(pooled) if self.activation == "relu" else torch.tanh(pooled)
        vectors: Tensor = self.projection(self.highways(features))
        return vectors

    def _windows(self, characters: Tensor) -> Tensor:
        """What stands at each place and after it, as wide as the widest filter: [U, C, E * W]."""
        widest = max(self.widths)
        embedded = F.pad(self.table(characters), (0, 0, 0, widest - 1))
        return embedded.unfold(1, widest, 1).flatten(start_dim=2)

    def _kernel(self) -> Tensor:
        """All filters as one matrix: [F, E * W]."""
        widest = max(self.widths)
        padded = [F.pad(kernel, (0, widest - kernel.shape[2])) for kernel in self.kernels]
        return torch.cat(padded).flatten(start_dim=1)

    def _initialise(self) -> None:
        """As the published models began."""
        nn.init.uniform_(self.table.weight, -1.0, 1.0)
        self.table.weight.data[0].zero_()
        for kernel in self.kernels:
            if self.activation == "relu":
                nn.init.uniform_(kernel, -0.05, 0.05)
            else:
                nn.init.normal_(kernel, std=(kernel.shape[1] * kernel.shape[2]) ** -0.5)
        nn.init.normal_(self.projection.weight, std=self.projection.in_features**-0.5)
        nn.init.zeros_(self.projection.bias)

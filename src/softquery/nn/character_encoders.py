"""Vectors of words from their characters: convolutions or an LSTM, learned with the task.

U distinct words, C characters of each, E width of a character, W widest window, F filters in all,
B sentences, T tokens, D width of a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.nn.lexicon import Lexicon
from softquery.nn.recurrent import BiRecurrent
from softquery.text import NUM_CHARACTERS
from softquery.text.characters import FILLER


class Highway(nn.Module):
    """g ⊙ relu(W x + b) + (1 − g) ⊙ x with a learned gate g (Srivastava et al. 2015, Eq. 3).

    The gate starts nearly closed, so that a new layer passes its input through (Section 2.2).

    Args:
        size: Width of input and output.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.change = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)
        for layer, bias in ((self.change, 0.0), (self.gate, -2.0)):
            nn.init.normal_(layer.weight, std=size**-0.5)
            nn.init.constant_(layer.bias, bias)

    def forward(self, inputs: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Transform some of the input and pass the rest through."""
        gate = torch.sigmoid(self.gate(inputs))
        return gate * F.relu(self.change(inputs)) + (1 - gate) * inputs


Activation = Literal["relu", "tanh"]


class CharacterCnn(nn.Module):
    """Convolutions over characters, the maximum of each over places, highways, a projection.

    The character-level CNN and highway network of Kim et al. (2016), as Jozefowicz et al. (2016)
    and Peters et al. (2018) adopted it. It needs no vocabulary: a word that was never seen has a
    vector like any other.

    All windows meet all filters in one matrix product, the narrower filters padded with zeros;
    places where a filter would reach beyond the end are left out.

    Args:
        num_characters: Number of symbols; 0 means no character and stays zero.
        character_size: Width of one character.
        widths: Characters that each group of filters sees at once.
        filters: How many filters each of these groups has.
        output_size: Width of a word's vector.
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
        """One vector per word."""
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
        """The characters from each place on, as many as the widest filter sees: [U, C, E * W]."""
        widest = max(self.widths)
        embedded = F.pad(self.table(characters), (0, 0, 0, widest - 1))
        return embedded.unfold(1, widest, 1).flatten(start_dim=2)

    def _kernel(self) -> Tensor:
        """All filters as one matrix: [F, E * W]."""
        widest = max(self.widths)
        padded = [F.pad(kernel, (0, widest - kernel.shape[2])) for kernel in self.kernels]
        return torch.cat(padded).flatten(start_dim=1)

    def _initialise(self) -> None:
        """Initialise as the published models were."""
        nn.init.uniform_(self.table.weight, -1.0, 1.0)
        self.table.weight.data[0].zero_()
        for kernel in self.kernels:
            if self.activation == "relu":
                nn.init.uniform_(kernel, -0.05, 0.05)
            else:
                nn.init.normal_(kernel, std=(kernel.shape[1] * kernel.shape[2]) ** -0.5)
        nn.init.normal_(self.projection.weight, std=self.projection.in_features**-0.5)
        nn.init.zeros_(self.projection.bias)


class CharacterFeatures(nn.Module):
    """Vectors for rows of a lexicon from their characters.

    On a CPU each distinct word of a batch is read once.

    Args:
        reader: Encodes characters [U, C] as vectors [U, D].
    """

    def __init__(self, reader: "CharacterCnn | CharacterLstm") -> None:
        super().__init__()
        self.reader = reader
        self.output_size = reader.output_size

    def forward(
        self, ids: Int[Tensor, "B T"], lexicon: Lexicon
    ) -> Float[Tensor, "B T {self.output_size}"]:
        """Vectors of the words, padding included."""
        if ids.is_cuda:  # not the distinct ones alone: a recorded step must not depend on the data
            found: Tensor = self.reader(lexicon.characters[ids.flatten()].int())
            return found.view(*ids.shape, -1)
        types, places = torch.unique(ids, return_inverse=True)
        vectors: Tensor = self.reader(lexicon.characters[types].int())[places]
        return vectors


class CharacterLstm(nn.Module):
    """The last states of an LSTM over a word's characters, from both ends (Lample et al. 2016).

    Their Section 4.1. The marks at the word's ends are read; the filler behind a short word is not.

    Args:
        character_size: Width of one character.
        output_size: Width of a word, both directions together; must be even.
    """

    def __init__(self, character_size: int, output_size: int) -> None:
        super().__init__()
        if output_size % 2:
            raise ValueError(f"output_size must be even for two directions, got {output_size}")
        self.output_size = output_size
        self.table = nn.Embedding(NUM_CHARACTERS, character_size, padding_idx=0)
        self.recurrent = BiRecurrent(character_size, output_size // 2)
        nn.init.uniform_(self.table.weight, -1.0, 1.0)
        self.table.weight.data[0].zero_()

    def forward(self, characters: Shaped[Tensor, "U C"]) -> Float[Tensor, "U {self.output_size}"]:
        """One vector per word."""
        mask = (characters != FILLER) & (characters != 0)
        states = self.recurrent(self.table(characters), mask)  # [U, C, D]
        half = self.output_size // 2
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        rows = torch.arange(len(characters), device=characters.device)
        return torch.cat([states[rows, last, :half], states[:, 0, half:]], dim=-1)


Reading = Literal["cnn", "lstm", "none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpellingConfig:
    """How a model of a task reads characters, beside its table of words."""

    kind: Reading = "cnn"
    """`"cnn"` as Ma & Hovy (2016), Section 2.1; `"lstm"` as Lample et al. (2016), Section 4.1."""
    size: int = 16
    """Width of one character."""
    output_size: int = 128
    """Width of a word's features: filters, or both states together."""
    width: int = 3
    """Characters that a filter sees at once."""
    max_characters: int = 32
    """Symbols per word, the two marks at its ends included; a biLM inside brings its own number."""

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

    def build(self) -> CharacterFeatures | None:
        """The features, or None for `"none"`."""
        if self.kind == "none":
            return None
        if self.kind == "lstm":
            return CharacterFeatures(CharacterLstm(self.size, self.output_size))
        filters = CharacterCnn(
            NUM_CHARACTERS,
            self.size,
            [self.width],
            [self.output_size],
            self.output_size,
            num_highways=0,
        )
        return CharacterFeatures(filters)

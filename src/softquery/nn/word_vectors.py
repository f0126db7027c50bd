"""The vectors that a softmax over words compares a state with: one stored each, or spelt out.

V words of the vocabulary, N of them asked for, D width, C characters of a word.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.nn.character_cnn import CharacterCnn

CHUNK = 4096
"""Words that are spelt out at a time when the whole vocabulary is asked for."""


class StoredVectors(nn.Module):
    """One vector a word.

    Args:
        vocab_size: Words.
        size: Width.
    """

    def __init__(self, vocab_size: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, ids: Int[Tensor, " N"]) -> Float[Tensor, "N D"]:
        """The vectors of some words."""
        return F.embedding(ids, self.weight)

    def table(self) -> Float[Tensor, "V D"]:
        """The vectors of all words."""
        return self.weight


class SpeltVectors(nn.Module):
    """A word's vector from its characters, and a small correction of its own.

    CNN(characters) + M · correction (Jozefowicz et al. 2016, Section 3.2). Words that are spelt
    alike but mean other things are told apart by the correction alone, which is narrow: a large
    vocabulary costs little.

    Args:
        cnn: Spells words out; `output_size` is the width.
        vocab_size: Words.
        max_characters: Symbols of a word.
        correction_size: Width of the correction; 0 for none.
    """

    spelling: Tensor

    def __init__(
        self, cnn: CharacterCnn, vocab_size: int, max_characters: int, correction_size: int
    ) -> None:
        super().__init__()
        self.cnn = cnn
        self.register_buffer("spelling", torch.zeros(vocab_size, max_characters, dtype=torch.int16))
        self.correction = self.expand = None
        if correction_size:
            self.correction = nn.Parameter(torch.empty(vocab_size, correction_size))
            self.expand = nn.Linear(correction_size, cnn.output_size, bias=False)
            nn.init.normal_(self.correction, std=0.1 * correction_size**-0.5)

    def spell(self, spelling: Shaped[Tensor, "V C"]) -> None:
        """Tell how the words are spelt; this travels with the weights."""
        self.spelling.copy_(spelling)

    def forward(self, ids: Int[Tensor, " N"]) -> Float[Tensor, "N D"]:
        """The vectors of some words, each distinct one spelt out once."""
        distinct, place = torch.unique(ids, return_inverse=True)
        return self._spelt_out(distinct)[place]

    def table(self) -> Float[Tensor, "V D"]:
        """The vectors of all words."""
        everyone = torch.arange(len(self.spelling), device=self.spelling.device)
        return torch.cat([self._spelt_out(ids) for ids in torch.split(everyone, CHUNK)])

    def _spelt_out(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.cnn(self.spelling[ids].int())
        if self.expand is not None and self.correction is not None:
            vectors = vectors + self.expand(F.embedding(ids, self.correction))
        return vectors

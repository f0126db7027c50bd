"""The distinct words of some text, and what a frozen biLM found in whole sentences of them.

U distinct words, C characters of each, P width of a biLM's token vector; N sentences, `all` their
tokens end to end, B sentences of a batch, T padded length, L layers, D width.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from softquery.text import PAD_ID

APART = 1 << 32
"""Added to a word's id once per place, so that equal words at different places differ."""
HASH_STEPS = ((30, -4658895280553007687), (27, -7723592293110705685), (31, 1))
"""Shifts and factors of the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""


def sentence_keys(ids: Int[Tensor, "B T"]) -> Int[Tensor, " B"]:
    """A 64-bit hash of each sentence's words and their places, whatever its padding.

    Among a million different sentences, two share one with a probability of about 3e-8.

    >>> one, other, padded = sentence_keys(torch.tensor([[7, 8, 0], [8, 7, 0], [7, 8, 0]]))
    >>> bool(one == padded), bool(one == other)
    (True, False)
    """
    places = torch.arange(ids.shape[1], device=ids.device)
    hashed = ids.long() + APART * places
    for shift, factor in HASH_STEPS:
        # The shift carries the sign along, which the finaliser's does not.
        hashed = (hashed ^ ((hashed >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return hashed.masked_fill(ids == PAD_ID, 0).sum(dim=1)


class KnownContexts(NamedTuple):
    """All layers of a biLM at every token of N sentences."""

    keys: Int[Tensor, " N"]
    """Hashes of the sentences, ascending."""
    starts: Int[Tensor, " N"]
    """Where the tokens of each begin."""
    layers: Float[Tensor, "L all D"]

    @classmethod
    def room_for(
        cls,
        keys: Int[Tensor, " N"],
        lengths: Int[Tensor, " N"],
        *,
        num_layers: int,
        size: int,
    ) -> "KnownContexts":
        """An empty table for sentences with these keys, in ascending order, and lengths."""
        total = int(lengths.sum()) + 1  # the last one keeps it non-empty
        layers = torch.zeros(num_layers, total, size, device=keys.device)
        return cls(keys, lengths.cumsum(0) - lengths, layers)

    def write(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"], layers: Float[Tensor, "L B T D"]
    ) -> None:
        """Store the layers of some of the sentences."""
        places = self._places(self._rows(sentence_keys(ids)), ids.shape[1])
        self.layers[:, places[mask]] = layers[:, mask].to(self.layers.dtype)

    def look_up(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "L B T D"]:
        """The layers of the sentences; the values at padding mean nothing.

        All sentences must be in the table. One that is not gets NaN, so that the mistake shows:
        checking for it here would make a GPU wait.
        """
        wanted = sentence_keys(ids)
        rows = self._rows(wanted)
        known = (self.keys[rows] == wanted) | (ids == PAD_ID).all(dim=1)
        found = self.layers[:, self._places(rows, ids.shape[1])]
        return found.masked_fill(~known[:, None, None], torch.nan)

    def _rows(self, keys: Tensor) -> Tensor:
        """The rows of sentences with these keys, where the table has them."""
        return torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)

    def _places(self, rows: Tensor, length: int) -> Tensor:
        """Places of `length` tokens from each row's first on."""
        steps = torch.arange(length, device=rows.device)
        return (self.starts[rows].unsqueeze(1) + steps).clamp(max=self.layers.shape[1] - 1)


class Lexicon(NamedTuple):
    """Every distinct word once; sentences are rows of this table.

    The first four rows are those of every vocabulary: padding, `<unk>`, and the two ends of a
    sentence. No word is unknown here: `characters` holds all of them, whether the table of words
    does or not.
    """

    characters: Shaped[Tensor, "U C"]
    """As `softquery.text.spell_vocabulary` writes them."""
    words: Int[Tensor, " U"]
    """The row of each in a table of words, that of `<unk>` for those it lacks."""
    vectors: Float[Tensor, "U P"] | None = None
    """A frozen biLM's token vectors, where they were computed in advance."""
    contexts: KnownContexts | None = None
    """Its layers for whole sentences: for all that come with this lexicon, or None."""

    def to(self, device: torch.device | str) -> "Lexicon":
        """The same words on another device."""
        vectors = None if self.vectors is None else self.vectors.to(device)
        contexts = None
        if self.contexts is not None:
            contexts = KnownContexts(*(each.to(device) for each in self.contexts))
        return Lexicon(self.characters.to(device), self.words.to(device), vectors, contexts)

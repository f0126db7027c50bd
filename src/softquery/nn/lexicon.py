"""The distinct words of some text, as models of words and of characters read them.

U distinct words, C characters of each, P width of a biLM's reading.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from softquery.nn.contexts import KnownContexts


class Lexicon(NamedTuple):
    """Every distinct word once; sentences are rows of this table.

    The first four rows are those of every vocabulary: padding, `<unk>`, and the two ends of a
    sentence. No word is unknown here: `characters` spell it, whether the table of words holds it
    or not.
    """

    characters: Shaped[Tensor, "U C"]
    """As `softquery.text.spell_vocabulary` spells them."""
    words: Int[Tensor, " U"]
    """The row of each in a table of words, that of `<unk>` for those it lacks."""
    vectors: Float[Tensor, "U P"] | None = None
    """What a frozen biLM reads in the characters, where that was done beforehand."""
    contexts: KnownContexts | None = None
    """What it found in whole sentences: in all that come with this lexicon, or there is none."""

    def to(self, device: torch.device | str) -> "Lexicon":
        """The same words on another device."""
        vectors = None if self.vectors is None else self.vectors.to(device)
        contexts = None
        if self.contexts is not None:
            contexts = KnownContexts(*(each.to(device) for each in self.contexts))
        return Lexicon(self.characters.to(device), self.words.to(device), vectors, contexts)

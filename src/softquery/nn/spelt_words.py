"""Features of words from their characters, learnt with the task.

B sentences, T tokens, U distinct words, C characters of each, D width.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from softquery.nn.character_cnn import CharacterCnn
from softquery.nn.lexicon import Lexicon
from softquery.nn.recurrent import BiRecurrent
from softquery.text import NUM_CHARACTERS
from softquery.text.characters import FILLER


class SpeltWords(nn.Module):
    """From rows of a lexicon to vectors; on a CPU each distinct word of a batch is read once.

    Args:
        reader: From characters [U, C] to vectors [U, D]; it has an `output_size`.
    """

    def __init__(self, reader: "CharacterCnn | CharacterLstm") -> None:
        super().__init__()
        self.reader = reader
        self.output_size = reader.output_size

    def forward(
        self, ids: Int[Tensor, "B T"], lexicon: Lexicon
    ) -> Float[Tensor, "B T {self.output_size}"]:
        """Vectors of the words, padding included."""
        if ids.is_cuda:  # all as they stand: a recorded step needs a number of its shape alone
            found: Tensor = self.reader(lexicon.characters[ids.flatten()].int())
            return found.view(*ids.shape, -1)
        types, places = torch.unique(ids, return_inverse=True)
        vectors: Tensor = self.reader(lexicon.characters[types].int())[places]
        return vectors


class CharacterLstm(nn.Module):
    """The last states of an LSTM over a word's characters, from both ends (Lample et al. 2016).

    Their Section 4.1; marks of the word's ends are read, what fills a short word up is not.

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
        """One vector a word."""
        mask = (characters != FILLER) & (characters != 0)
        states = self.recurrent(self.table(characters), mask)  # [U, C, D]
        half = self.output_size // 2
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        rows = torch.arange(len(characters), device=characters.device)
        return torch.cat([states[rows, last, :half], states[:, 0, half:]], dim=-1)

"""Vectors of whole words, found by their spelling: a table where a biLM may also read characters.

U distinct words, C characters of each, V words of the table, D width of a word.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from softquery.text import UNK_ID
from softquery.text.characters import FILLER
from softquery.text.spelling_keys import KEY_BITS, KEY_PARTS, multipliers, sorted_keys


class WordLookup(nn.Module):
    """A row of a table for each word of a vocabulary, and `<unk>`'s for all others.

    It takes the place of `CharacterCnn` in a biLM, and like it is given characters, so that all
    that hands words on by their spelling stays as it is. A word is found by the number that its
    spelling makes (`softquery.text.spelling_keys`); of two words that are spelled alike in as
    many characters as are read, the one with the lower id is found.

    Args:
        num_words: Rows of the table, reserved ones included.
        output_size: Width of a vector.

    >>> from softquery.text import spell_tokens, spell_vocabulary
    >>> entries = ["<pad>", "<unk>", "<bos>", "<eos>", "cat", "dog"]
    >>> lookup = WordLookup(6, 2)
    >>> lookup.spell(torch.from_numpy(spell_vocabulary(entries, 9)))
    >>> lookup.ids(torch.from_numpy(spell_tokens(["dog", "cow", "cat"], 9))).tolist()
    [5, 1, 4]
    """

    keys: Tensor
    rows: Tensor

    def __init__(self, num_words: int, output_size: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.table = nn.Embedding(num_words, output_size, padding_idx=0)
        # Small whole numbers, which a bundle's float32 holds exactly.
        self.register_buffer("keys", torch.zeros(num_words, KEY_PARTS, dtype=torch.int32))
        self.register_buffer("rows", torch.full((num_words,), UNK_ID, dtype=torch.int32))
        nn.init.normal_(self.table.weight, std=output_size**-0.5)
        self.table.weight.data[0].zero_()

    def spell(self, characters: Shaped[Tensor, "V C"]) -> None:
        """Set how the words of the table are spelled, in the order of their ids."""
        keys, rows = sorted_keys(characters.cpu().numpy())
        self.keys.copy_(torch.from_numpy(keys))
        self.rows.copy_(torch.from_numpy(rows))

    def forward(self, characters: Int[Tensor, "U C"]) -> Float[Tensor, "U {self.output_size}"]:
        """One vector per word."""
        vectors: Tensor = self.table(self.ids(characters))
        return vectors

    def ids(self, characters: Shaped[Tensor, "U C"]) -> Int[Tensor, " U"]:
        """The row of each word."""
        told = characters.long()
        told = told.masked_fill(told == FILLER, 0)
        factors = torch.from_numpy(multipliers(told.shape[1])).to(told.device)
        asked = (told * factors).sum(dim=1)
        shifts = torch.arange(KEY_PARTS, device=told.device) * KEY_BITS
        known = (self.keys.long() << shifts).sum(dim=1)
        places = torch.searchsorted(known, asked).clamp(max=len(known) - 1)
        return torch.where(known[places] == asked, self.rows[places].long(), UNK_ID)

"""Sentences of words with a class for each, or a tag for each word: rows of files to batches.

N sentences in all, B of a batch, T padded length, U distinct words, C characters of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from softquery.data.tokens import Sentences, Tokens, WordIds
from softquery.nn import Lexicon
from softquery.text import TextPipeline


class TextBatch(NamedTuple):
    """B sentences whose ids are rows of a lexicon, and the label of each, or of each word."""

    tokens: Tokens
    lexicon: Lexicon
    label: Shaped[Tensor, "B *T"] | None

    @property
    def size(self) -> int:
        """Number of sentences."""
        return len(self.tokens.ids)


@dataclass(frozen=True, slots=True)
class Texts:
    """A whole set of sentences, ready to be cut into batches."""

    sentences: Sentences
    lexicon: Lexicon
    label: Sentences | Shaped[Tensor, "N *C"] | None = None
    """Tags of the words of each sentence, or a class (or a distribution over C) of each."""
    num_cut: int = 0
    """Sentences that were longer than the pipeline's limit."""

    def __len__(self) -> int:
        return len(self.sentences)

    def lengths(self) -> Int[Tensor, " N"]:
        """Words of each sentence."""
        return self.sentences.lengths

    def to(self, device: torch.device | str) -> "Texts":
        """The same sentences on another device."""
        return replace(
            self,
            sentences=self.sentences.to(device),
            lexicon=self.lexicon.to(device),
            label=None if self.label is None else self.label.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int) -> TextBatch:
        """The chosen sentences, padded to `length`."""
        label = self.label
        if isinstance(label, Sentences):
            label = label.pad(rows, length).ids
        elif label is not None:
            label = label[rows]
        return TextBatch(self.sentences.pad(rows, length), self.lexicon, label)


def encode_words(
    sentences: Sequence[Sequence[str]], pipeline: TextPipeline, *, max_characters: int
) -> Texts:
    """Sentences as rows of a lexicon of their own words.

    Args:
        sentences: Words as they stand in the text.
        pipeline: Knows which words the model's table has.
        max_characters: Characters per word, the two marks at its ends included.

    >>> from softquery.text import TextConfig, pipeline_from_words
    >>> texts = encode_words([["A", "b"], ["b"]], pipeline_from_words(["b"], TextConfig()),
    ...                      max_characters=5)
    >>> texts.batch(torch.tensor([0, 1]), 2).tokens.ids.tolist(), texts.lexicon.words.tolist()
    ([[4, 5], [5, 0]], [0, 1, 2, 3, 1, 4])
    """
    word_ids = WordIds(pipeline)
    ids = word_ids.encode(sentences)
    return Texts(Sentences.pack(ids), word_ids.lexicon(max_characters=max_characters))


def encode_ids(sentences: Sequence[Sequence[int]], *, vocab_size: int) -> Texts:
    """Sentences whose ids are those of a vocabulary, which is their lexicon as it stands.

    The lexicon has no characters: for models that read a table of words alone.

    >>> texts = encode_ids([[4, 5], [5]], vocab_size=6)
    >>> texts.batch(torch.tensor([1]), 2).tokens.ids.tolist(), texts.lexicon.words.tolist()
    ([[5, 0]], [0, 1, 2, 3, 4, 5])
    """
    characters = torch.zeros(vocab_size, 0, dtype=torch.int16)
    return Texts(Sentences.pack(sentences), Lexicon(characters, torch.arange(vocab_size)))

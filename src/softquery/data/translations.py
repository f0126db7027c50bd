"""Sources with their targets: rows of a file to batches of tensors.

Translations, the lower lines of couplets, anything with a `source` and a `target`.

B rows of a batch, S tokens of the source, T tokens of the target, N rows in all.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from softquery.data.tokens import Sentences, Tokens
from softquery.files import Row
from softquery.text import TextPipeline

CHUNK = 4096
"""Rows that are tokenised at a time."""


class TranslationBatch(NamedTuple):
    """B sources and their targets, both between `<bos>` and `<eos>`."""

    source: Tokens
    target: Tokens

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.source.ids)

    @property
    def inputs(self) -> Int[Tensor, "B T"]:
        """What a decoder reads: the target from `<bos>` on, without the last column."""
        return self.target.ids[:, :-1]

    @property
    def labels(self) -> Int[Tensor, "B T"]:
        """What it must predict after each input: the target up to `<eos>`, then padding."""
        return self.target.ids[:, 1:]


@dataclass(frozen=True, slots=True)
class Translations:
    """A whole set of sources and targets as ids, ready to be cut into batches."""

    source: Sentences
    target: Sentences
    num_cut: int = 0
    """Texts that were longer than their pipeline's limit."""

    def __len__(self) -> int:
        return len(self.source)

    def lengths(self) -> Int[Tensor, " N"]:
        """The length that a row's batch must be padded to: its source, or its target less one."""
        return torch.maximum(self.source.lengths, self.target.lengths - 1)

    def to(self, device: torch.device | str) -> "Translations":
        """The same rows on another device."""
        return Translations(self.source.to(device), self.target.to(device), self.num_cut)

    def batch(self, rows: Int[Tensor, " B"], length: int) -> TranslationBatch:
        """The chosen rows, padded so that source, inputs and labels are `length` wide."""
        return TranslationBatch(self.source.pad(rows, length), self.target.pad(rows, length + 1))


def encode_translations(
    rows: Iterable[Row], source: TextPipeline, target: TextPipeline
) -> Translations:
    """Tokenise the rows' `source` and `target`.

    Args:
        rows: As `read_rows` gives them.
        source: Turns sources into ids.
        target: Turns targets into ids; the same one where both share a vocabulary.
    """
    for name, pipeline in (("source", source), ("target", target)):
        if not pipeline.config.boundaries:
            raise ValueError(f"the {name}'s text needs boundaries=True, to begin and to end")
    sides: dict[str, list[list[int]]] = {"source": [], "target": []}
    num_cut = 0
    stream = iter(rows)
    while chunk := list(islice(stream, CHUNK)):
        for name, pipeline in (("source", source), ("target", target)):
            ids, cuts = pipeline.encode_ids_with_cuts([row.values[name] for row in chunk])
            sides[name].extend(ids)
            num_cut += sum(cut > 0 for cut in cuts)
    return Translations(Sentences.pack(sides["source"]), Sentences.pack(sides["target"]), num_cut)

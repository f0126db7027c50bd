"""Text and labels as tensors, before they are batches.

Token ids of many sentences are kept without padding, padded for a batch, or packed end to end.
Words as they come become rows of a lexicon, whether a vocabulary knows them or not. Labels are
classes, grades, or a teacher's distributions in their place.

B sentences of a batch, T padded length, N sentences in all; of a packed batch, N tokens of S
sequences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor
from torch.nn import functional as F

from softquery.attention import Packing
from softquery.errors import InputError
from softquery.files import Row
from softquery.nn import Lexicon
from softquery.text import (
    BOS_ID,
    EOS_ID,
    TextPipeline,
    reserved_tokens,
    spell_vocabulary,
    visible_form,
)


class Tokens(NamedTuple):
    """A batch of sentences: ids, and where they are real (True) rather than padding."""

    ids: Int[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]

    def pad_to(self, length: int) -> "Tokens":
        """The same sentences with padding up to `length`."""
        more = length - self.ids.shape[1]
        if more < 0:
            raise ValueError(f"cannot pad {self.ids.shape[1]} tokens to {length}")
        return Tokens(F.pad(self.ids, (0, more)), F.pad(self.mask, (0, more)))

    def beside(self, other: "Tokens") -> "Tokens":
        """Both batches as one of twice as many rows, padded to the longer of the two."""
        length = max(self.ids.shape[1], other.ids.shape[1])
        own, others = self.pad_to(length), other.pad_to(length)
        return Tokens(torch.cat([own.ids, others.ids]), torch.cat([own.mask, others.mask]))


@dataclass(frozen=True, slots=True)
class Sentences:
    """N sentences end to end in one tensor, with their starts and lengths.

    The tensors may live on a GPU: a hundred thousand pairs take ten megabytes there, and padding a
    batch then costs no transfer.
    """

    ids: Int[Tensor, " all"]
    starts: Int[Tensor, " N"]
    lengths: Int[Tensor, " N"]

    @classmethod
    def pack(cls, sentences: Sequence[Sequence[int]]) -> "Sentences":
        """Lay lists of ids end to end.

        >>> Sentences.pack([[7, 8], [9]]).pad(torch.tensor([1, 0]), 2).ids.tolist()
        [[9, 0], [7, 8]]
        """
        lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
        flat = [token for sentence in sentences for token in sentence]
        ids = torch.tensor([*flat, 0], dtype=torch.int32)  # the last one keeps the tensor non-empty
        return cls(ids, lengths.cumsum(0) - lengths, lengths)

    @classmethod
    def pack_parts(cls, parts: Iterable[Sequence[Sequence[int]]]) -> "Sentences":
        """Likewise for many sentences, of which only a part at a time need be lists.

        >>> Sentences.pack_parts([[[7, 8]], [[9]]]).lengths.tolist()
        [2, 1]
        """
        packed = [cls.pack(part) for part in parts] or [cls.pack([])]
        lengths = torch.cat([each.lengths for each in packed])
        ids = torch.cat([*(each.ids[:-1] for each in packed), packed[-1].ids[-1:]])
        return cls(ids, lengths.cumsum(0) - lengths, lengths)

    def chosen(self, rows: Int[Tensor, " M"]) -> "Sentences":
        """Some of the sentences; their ids are shared, not copied."""
        return Sentences(self.ids, self.starts[rows], self.lengths[rows])

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device | str) -> "Sentences":
        """The same sentences on another device."""
        return Sentences(self.ids.to(device), self.starts.to(device), self.lengths.to(device))

    def pad(self, rows: Int[Tensor, " B"], length: int) -> Tokens:
        """The chosen sentences side by side, padded with zeros to `length`."""
        position = torch.arange(length, device=rows.device)
        mask = position < self.lengths[rows].unsqueeze(1)  # [B, T]
        place = (self.starts[rows].unsqueeze(1) + position).clamp(max=len(self.ids) - 1)
        ids = self.ids[place].to(torch.int64)
        return Tokens(ids.masked_fill(~mask, 0), mask)


class PackedTokens(NamedTuple):
    """Ids with what an encoder must know of each token, and where the sequences lie."""

    ids: Int[Tensor, " N"]
    positions: Int[Tensor, " N"]
    """Place within the sequence."""
    segments: Int[Tensor, " N"]
    """0 for the first text of a sequence, 1 for the second."""
    packing: Packing

    @classmethod
    def of(
        cls, sequences: Sequence[Sequence[int]], segments: Sequence[Sequence[int]] | None = None
    ) -> "PackedTokens":
        """Lay sequences end to end.

        >>> PackedTokens.of([[7, 8], [9]]).positions.tolist()
        [0, 1, 0]
        """
        ids = torch.tensor(list(chain.from_iterable(sequences)), dtype=torch.int64)
        parts = torch.zeros_like(ids)
        if segments is not None:
            parts = torch.tensor(list(chain.from_iterable(segments)), dtype=torch.int64)
        packing = Packing.of([len(sequence) for sequence in sequences])
        return cls(ids, packing.positions(len(ids)), parts, packing)


def build_lexicon(words: Iterable[str], pipeline: TextPipeline, *, max_characters: int) -> Lexicon:
    """The table of distinct words, behind the four reserved rows.

    Args:
        words: Each once.
        pipeline: Knows which of them the model's table has.
        max_characters: Characters per word, the two marks at its ends included.
    """
    types = list(words)
    first = list(reserved_tokens("words"))
    seen = [visible_form(word, pipeline.config) for word in types]
    ids = [*range(len(first)), *pipeline.look_up(types)]
    return Lexicon(
        torch.from_numpy(spell_vocabulary([*first, *seen], max_characters)),
        torch.tensor(ids, dtype=torch.int64),
    )


class WordIds:
    """Rows of a lexicon for the words of any sentences; no word is unknown.

    Args:
        pipeline: Cuts texts into words, and knows which of them a model's table has.
    """

    def __init__(self, pipeline: TextPipeline) -> None:
        self.pipeline = pipeline
        self.rows: dict[str, int] = {}
        self._first = len(reserved_tokens("words"))

    @property
    def words(self) -> list[str]:
        """The words that were met, in the order of their rows."""
        return list(self.rows)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """The rows of sentences that are lists of words."""
        return [
            [self.rows.setdefault(word, self._first + len(self.rows)) for word in sentence]
            for sentence in sentences
        ]

    def encode_with_ends(self, sentences: Sequence[Sequence[str]]) -> list[list[int]]:
        """The same, between the two ends of a sentence where the pipeline's texts have them.

        >>> from softquery.text import TextConfig, pipeline_from_words
        >>> WordIds(pipeline_from_words([], TextConfig(boundaries=True))).encode_with_ends([["a"]])
        [[2, 4, 3]]
        """
        rows = self.encode(sentences)
        if not self.pipeline.config.boundaries:
            return rows
        return [[BOS_ID, *sentence, EOS_ID] for sentence in rows]

    def encode_texts(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The rows of the words of texts, and how many words of each were cut off."""
        words, cuts = self.pipeline.written_words_with_cuts(texts)
        return self.encode_with_ends(words), cuts

    def lexicon(self, *, max_characters: int) -> Lexicon:
        """The table of the words that were met.

        Args:
            max_characters: Characters per word, the two marks at its ends included.
        """
        return build_lexicon(self.rows, self.pipeline, max_characters=max_characters)


def encode_labels(
    rows: list[Row],
    *,
    parse_label: Callable[[str], int],
    parse_distribution: Callable[[str], list[float]] | None = None,
) -> Shaped[Tensor, "N *C"]:
    """The rows' `label` as class ids, or as distributions where some rows have `probabilities`.

    Args:
        rows: As `read_rows` gives them.
        parse_label: From the label's text to a class id; a `ValueError` is reported with the row.
        parse_distribution: Reads `probabilities`; omitted, they are ignored.
    """
    label = torch.tensor([parsed_label(row, parse_label) for row in rows], dtype=torch.int64)
    if parse_distribution is None:
        return label
    taught = distributions(rows, parse_distribution)
    return softened(label, taught) if taught else label


def parsed_label(row: Row, parse_label: Callable[[str], int | float]) -> int | float:
    """One label; an error names its row."""
    try:
        return parse_label(row.values["label"])
    except ValueError as error:
        raise InputError(str(error), source=row.source, row=row.number) from None


def distributions(
    rows: list[Row], parse: Callable[[str], list[float]], *, before: int = 0
) -> dict[int, list[float]]:
    """The distributions of those rows that have one, by place, counted on from `before`."""
    found = {}
    for place, row in enumerate(rows, before):
        if row.values.get("probabilities", "").strip():
            try:
                found[place] = parse(row.values["probabilities"])
            except ValueError as error:
                raise InputError(str(error), source=row.source, row=row.number) from None
    return found


def softened(label: Int[Tensor, " N"], taught: Mapping[int, list[float]]) -> Tensor:
    """Class ids as one-hot distributions, replaced by a teacher's where there is one."""
    num_classes = len(next(iter(taught.values())))
    soft = torch.nn.functional.one_hot(label, num_classes).float()
    soft[torch.tensor(list(taught))] = torch.tensor(list(taught.values()))
    return soft

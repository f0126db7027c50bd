"""Texts as tokens on the device, laid side by side as a teacher reads them.

N texts, B rows of a batch, T tokens of the longest one, marks included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from students.teach import MARKS, Marks
from tokenizers import Tokenizer
from torch import Tensor

MOST = 120
"""Tokens of a text that are read."""
PART = 50_000


@dataclass(frozen=True)
class TokenTable:
    """The tokens of many texts, each text once."""

    flat: Tensor
    starts: Tensor
    lengths: Tensor
    """[N], on the CPU as well as on the device, because batches are cut on the CPU."""
    counts: Tensor

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Path, device: str) -> "TokenTable":
        """Cut all texts, in parallel, into BERT's ids, by its tokenizer or MPNet's."""
        cut = Tokenizer.from_file(str(tokenizer))
        mpnet = MARKS["mpnet"]
        shift = mpnet.shift if cut.token_to_id("<pad>") == mpnet.pad else 0
        cut.no_padding()
        cut.no_truncation()
        flat, lengths = list[int](), list[int]()
        for start in range(0, len(texts), PART):
            part = list(texts[start : start + PART])
            for found in cut.encode_batch_fast(part, add_special_tokens=False):
                ids = found.ids[:MOST]
                flat += ids
                lengths.append(len(ids))
        counts = torch.tensor(lengths)
        starts = counts.cumsum(0) - counts
        ids = torch.tensor([*flat, shift], dtype=torch.int32) - shift
        return cls(ids.to(device), starts.to(device), counts.to(device), counts)

    def _inner(self, rows: Tensor, place: Tensor) -> Tensor:
        """Tokens of texts [B] at places [B, T] within them; anything where there is none."""
        at = self.starts[rows, None] + place.clamp(min=0)
        return self.flat[at.clamp(max=len(self.flat) - 1)].long()

    def texts(self, rows: Tensor, longest: int, marks: Marks) -> tuple[Tensor, Tensor]:
        """Ids and mask [B, T] of single texts."""
        lengths = self.lengths[rows, None]
        place = torch.arange(longest + 2, device=rows.device)[None]
        ids = self._inner(rows, place - 1) + marks.shift
        ids = ids.masked_fill(place == 0, marks.start).masked_fill(place == lengths + 1, marks.end)
        mask = place <= lengths + 1
        return ids.masked_fill(~mask, marks.pad), mask

    def pairs(
        self, first: Tensor, second: Tensor, longest: int, marks: Marks
    ) -> tuple[Tensor, Tensor]:
        """Ids and mask [B, T] of pairs as MPNet reads them: two marks stand between the texts.

        Args:
            first: Texts [B].
            second: Their partners.
            longest: Tokens of both texts of the longest pair.
            marks: Of the teacher.
        """
        one, other = self.lengths[first, None], self.lengths[second, None]
        place = torch.arange(longest + 4, device=first.device)[None]
        own, theirs = self._inner(first, place - 1), self._inner(second, place - one - 3)
        ids = torch.where(place <= one, own, theirs) + marks.shift
        ends = (place == one + 1) | (place == one + 2) | (place == one + other + 3)
        ids = ids.masked_fill(place == 0, marks.start).masked_fill(ends, marks.end)
        mask = place <= one + other + 3
        return ids.masked_fill(~mask, marks.pad), mask

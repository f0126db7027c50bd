"""Texts as ids, end to end, with where each part begins: what students of one language learn from.

A folder of lessons holds `ids.npy` (all tokens), `lengths.npy` (of each text), `owners.npy` (which
text each made one was made from), `tokenizer.json` (what cut them), `pieces.json` (the sub-words
that ids stand for), and `lessons.json`: how many texts each part has, and the sets by which
students are judged.

N texts, B of a batch, T tokens.
"""

import json
import multiprocessing
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from softquery.data import Tokens
from softquery.text import BERT_UNK

PARTS = ("texts", "asked", "made", "pieces", "judged")
"""What is learnt, questions made by rule, what was made of texts, every sub-word by itself, and
what decides. A part may be missing."""
LONGEST = 62
"""Tokens of a text."""
CHARACTERS = 1_000
BLOCK = 20_000


class _Cutter:
    """Cuts texts in a process of its own."""

    tokenizer: Tokenizer

    @classmethod
    def begin(cls, path: str) -> None:
        cls.tokenizer = Tokenizer.from_file(path)
        cls.tokenizer.no_truncation()
        cls.tokenizer.no_padding()

    @classmethod
    def cut(cls, texts: list[str]) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
        given = [text[:CHARACTERS] for text in texts]
        encoded = cls.tokenizer.encode_batch(given, add_special_tokens=False)
        rows = [each.ids[:LONGEST] for each in encoded]
        lengths = np.array([len(row) for row in rows], np.int32)
        return np.fromiter((n for row in rows for n in row), np.uint16, lengths.sum()), lengths


def pieces_of(tokenizer: Path) -> list[str]:
    """The sub-words of a tokenizer, in the order of their ids."""
    vocabulary = Tokenizer.from_file(str(tokenizer)).get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def bare_piece(piece: str) -> str:
    """A sub-word without the mark of WordPiece or BPE.

    >>> bare_piece("##ing"), bare_piece("\u2581the"), bare_piece("\u2581")
    ('ing', 'the', '\u2581')
    """
    return piece.removeprefix("##").removeprefix("\u2581") or piece


def write_lessons(
    folder: Path,
    parts: dict[str, list[str]],
    *,
    owners: Sequence[int],
    tokenizer: Path,
    judged: dict[str, Any],
    processes: int = 15,
) -> None:
    """Cut all texts, side by side, and write the folder.

    Where `parts` hold no pieces, they are the tokenizer's own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pieces = pieces_of(tokenizer)
    parts = {"pieces": [bare_piece(piece) for piece in pieces], **parts}
    every = [text for part in PARTS for text in parts.get(part, [])]
    blocks = [every[start : start + BLOCK] for start in range(0, len(every), BLOCK)]
    with multiprocessing.Pool(processes, _Cutter.begin, (str(tokenizer),)) as pool:
        found = pool.map(_Cutter.cut, blocks, chunksize=1)
    np.save(folder / "ids.npy", np.concatenate([ids for ids, _ in found]))
    np.save(folder / "lengths.npy", np.concatenate([lengths for _, lengths in found]))
    np.save(folder / "owners.npy", np.asarray(owners, np.int32))
    (folder / "pieces.json").write_text(json.dumps(pieces), encoding="utf-8")
    if tokenizer != folder / "tokenizer.json":
        shutil.copy(tokenizer, folder / "tokenizer.json")
    told = {"sizes": {part: len(parts.get(part, [])) for part in PARTS}, "judged": judged}
    (folder / "lessons.json").write_text(json.dumps(told), encoding="utf-8")


@dataclass(frozen=True)
class Lessons:
    """All texts of a folder on one device.

    Attributes:
        ids: Tokens of all texts, end to end.
        starts: Where each text begins, and where the last one ends: [N + 1].
        first: The number of the first text of each part, and how many there are in all.
    """

    ids: Tensor
    starts: Tensor
    owners: Tensor
    first: dict[str, int]
    pieces: list[str]
    judged: dict[str, Any]
    tokenizer: str = ""
    """The JSON of what cut the texts."""

    @property
    def are_bert_pieces(self) -> bool:
        """Whether they are cut as BERT cuts, so that a student may keep a part of the pieces."""
        return BERT_UNK in self.pieces

    @classmethod
    def read(cls, folder: Path, device: str) -> "Lessons":
        """What `write_lessons` wrote."""
        told = json.loads((folder / "lessons.json").read_text(encoding="utf-8"))
        lengths = torch.from_numpy(np.load(folder / "lengths.npy").astype(np.int64))
        starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
        bounds = np.cumsum([0, *(told["sizes"].get(part, 0) for part in PARTS)]).tolist()
        return cls(
            torch.from_numpy(np.load(folder / "ids.npy").astype(np.int32)).to(device),
            starts.to(device),
            torch.from_numpy(np.load(folder / "owners.npy").astype(np.int64)).to(device),
            dict(zip((*PARTS, "end"), bounds, strict=True)),
            json.loads((folder / "pieces.json").read_text(encoding="utf-8")),
            told["judged"],
            (folder / "tokenizer.json").read_text(encoding="utf-8"),
        )

    def lengths(self, rows: Tensor) -> Tensor:
        """Tokens of each of these texts."""
        return self.starts[rows + 1] - self.starts[rows]

    def rows(self, part: str) -> Tensor:
        """The numbers of a part's texts."""
        behind = (*PARTS, "end")[PARTS.index(part) + 1]
        return torch.arange(self.first[part], self.first[behind], device=self.ids.device)

    def batch(self, rows: Tensor, length: int) -> Tokens:
        """Texts, padded or cut to a length."""
        places = torch.arange(length, device=rows.device)
        mask = places < self.lengths(rows)[:, None]
        found = self.ids[(self.starts[rows][:, None] + places).clamp(max=len(self.ids) - 1)]
        return Tokens(torch.where(mask, found.long(), 0), mask)

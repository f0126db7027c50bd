"""The sub-words that a student keeps of its teacher's, and lessons in them."""

import string
from dataclasses import replace

import numpy as np
import torch

from softquery.text import BERT_RESERVED, CONTINUATION
from students.lessons import Lessons

MOST_PARTS = 8
"""Into how many kept pieces one that is left out may fall."""


def kept_pieces(lessons: Lessons, size: int, *, least: int = 2) -> list[str]:
    """The reserved pieces, every character that occurs or is ASCII's, and the most frequent others.

    As `softquery distill` chooses them, by the texts alone.
    """
    end = int(lessons.starts[lessons.first["made"]])
    counts = torch.bincount(lessons.ids[:end].long(), minlength=len(lessons.pieces)).cpu().numpy()
    pieces = lessons.pieces
    bare = [piece.removeprefix(CONTINUATION) for piece in pieces]
    letters = {letter for number in np.flatnonzero(counts) for letter in bare[number]}
    letters.update(string.printable)
    kept = {*BERT_RESERVED, *(p for p, b in zip(pieces, bare, strict=True) if b in letters)}
    for number in np.lexsort((np.arange(len(pieces)), -counts)):
        if len(kept) >= size or counts[number] < least:
            break
        kept.add(pieces[number])
    return [*BERT_RESERVED, *(each for each in pieces if each in kept - set(BERT_RESERVED))]


def parts_of(piece: str, numbers: dict[str, int]) -> list[int]:
    """A piece in kept ones, the longest first at every place, as WordPiece cuts words.

    >>> parts_of("##abc", {"[UNK]": 1, "##ab": 5, "##c": 6, "ab": 7})
    [5, 6]
    """
    if piece in numbers:
        return [numbers[piece]]
    mark = CONTINUATION if piece.startswith(CONTINUATION) else ""
    rest, found = piece.removeprefix(CONTINUATION), []
    while rest:
        ends = range(len(rest), 0, -1)
        end = next((end for end in ends if mark + rest[:end] in numbers), None)
        if end is None:
            return [numbers["[UNK]"]]
        found.append(numbers[mark + rest[:end]])
        rest, mark = rest[end:], CONTINUATION
    return found[:MOST_PARTS]


def in_pieces(lessons: Lessons, kept: list[str]) -> Lessons:
    """The same texts in the kept pieces."""
    numbers, device = {piece: n for n, piece in enumerate(kept)}, lessons.ids.device
    parts = [parts_of(piece, numbers) for piece in lessons.pieces]
    sizes = torch.tensor([len(each) for each in parts], device=device)
    padded = [[*each, *[0] * (MOST_PARTS - len(each))] for each in parts]
    table = torch.tensor(padded, device=device)
    count = sizes[lessons.ids.long()]
    ends = torch.cat([count.new_zeros(1), count.cumsum(0)])
    whole = torch.repeat_interleave(lessons.ids.long(), count)
    place = torch.arange(len(whole), device=device) - torch.repeat_interleave(ends[:-1], count)
    return replace(lessons, ids=table[whole, place].int(), starts=ends[lessons.starts])

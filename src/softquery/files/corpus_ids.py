"""Words of running text as numbers, in the order of their first appearance."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError, InputError, SoftqueryError
from softquery.files.text_lines import running_text
from softquery.text import TextConfig, WordCutter

Ids = NDArray[np.int32]

END: Final = -1
"""Stands after each sentence."""
LONGEST_WORD: Final = 256
"""Characters; what is longer is no word, and is left out and counted."""
LONGEST_PIECE: Final = 40
MOST_PIECES: Final = 1 << 19
"""Pieces between spaces that are remembered; what is frequent comes early."""
GATHERED: Final = 1 << 20
"""Ids that are held before they are handed over."""


class CorpusIds:
    """Cuts lines into words and numbers these.

    Most of a text is repetition, so that what stands between two spaces is cut once and then looked
    up; that is faster than cutting line after line, and gives the same words.

    Args:
        text: How lines are cut; lines of more than `max_tokens` words are split.

    >>> numbering, ids = Numbering(TextConfig()), []
    >>> numbering.number(["the cat", "", "The dog."], ids)
    >>> ids, numbering.words
    ([0, 1, -1, 0, 2, 3, -1], ['the', 'cat', 'dog', '.'])
    """

    def __init__(self, text: TextConfig) -> None:
        self.words: list[str] = []
        self.num_overlong = 0
        self._longest = text.max_tokens
        self._cutter = WordCutter(text)
        self._places: dict[str, int] = {}
        self._pieces: dict[str, tuple[int, ...]] = {}

    def number(self, lines: list[str], ids: list[int]) -> None:
        """Append the lines' ids, with `END` after each line that has any, and where one is long."""
        known = self._pieces
        for line in lines:
            start = len(ids)
            for piece in line.split(" "):
                found = known.get(piece)
                ids.extend(self._cut(piece) if found is None else found)
            length = len(ids) - start
            if length > self._longest:
                ids[start:] = self._split(ids[start:])
            elif length:
                ids.append(END)

    def file(self, path: str | PathLike[str]) -> Iterator[Ids]:
        """The ids of a file, a million at a time.

        Raises:
            InputError: What in the file is no text, and where.
        """
        held: list[int] = []
        for block in running_text(path):
            for fault in block.faults.values():
                raise fault
            self.number(block.lines, held)
            if len(held) >= GATHERED:
                yield np.array(held, dtype=np.int32)
                held = []
        yield np.array(held, dtype=np.int32)

    def _split(self, ids: list[int]) -> list[int]:
        parts = (ids[at : at + self._longest] for at in range(0, len(ids), self._longest))
        return [number for part in parts for number in (*part, END)]

    def _cut(self, piece: str) -> tuple[int, ...]:
        words = self._cutter.words(piece)
        sound = [word for word in words if len(word) <= LONGEST_WORD]
        self.num_overlong += len(words) - len(sound)
        ids = tuple(self._place(word) for word in sound)
        if len(piece) <= LONGEST_PIECE and len(self._pieces) < MOST_PIECES:
            self._pieces[piece] = ids
        return ids

    def _place(self, word: str) -> int:
        place = self._places.get(word)
        if place is None:
            place = self._places[word] = len(self.words)
            self.words.append(word)
        return place


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One file as numbers of its own."""

    ids: Path
    words: list[str]
    num_overlong: int


def number_shard(path: Path, text: TextConfig, ids: Path) -> Shard:
    """Write a file's ids.

    Args:
        path: The text.
        text: How it is cut.
        ids: The file to write.
    """
    numbering = CorpusIds(text)
    with ids.open("wb") as out:
        for part in numbering.file(path):
            part.tofile(out)
    return Shard(ids=ids, words=numbering.words, num_overlong=numbering.num_overlong)


def main(path: str, ids: str, settings: str) -> None:
    """In a process of its own: number a file, and write what came of it to `IDS.json`."""
    try:
        text = TextConfig.from_dict(json.loads(settings))
        shard = number_shard(Path(path), text, Path(ids))
        answer = {**asdict(shard), "ids": ids}
    except InputError as error:
        answer = {"message": error.message, "source": error.source, "row": error.row}
    except SoftqueryError as error:
        answer = {"message": str(error)}
    Path(ids + ".json").write_text(json.dumps(answer), encoding="utf-8")


def answered(ids: Path) -> Shard:
    """What `main` wrote."""
    answer = json.loads(Path(f"{ids}.json").read_text(encoding="utf-8"))
    if "row" in answer:
        raise InputError(answer["message"], source=answer["source"], row=answer["row"])
    if "message" in answer:
        raise ConfigError(answer["message"])
    return Shard(**{**answer, "ids": Path(answer["ids"])})


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Running text as word ids in order of first appearance, and phrases as single words.

Phrases: Mikolov et al. (2013b), "Distributed Representations of Words and Phrases and their
Compositionality", Section 4, Equation 6; `new york` becomes `new_york`.
"""

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
from softquery.text import TextConfig, WordTokenizer

Ids = NDArray[np.int32]

END: Final = -1
"""The id after each sentence."""
LONGEST_WORD: Final = 256
"""The most characters of a word; longer ones are omitted and counted."""
LONGEST_PIECE: Final = 40
MOST_PIECES: Final = 1 << 19
"""The most cached strings between spaces; frequent ones come early."""
GATHERED: Final = 1 << 20
"""Ids that are collected before they are yielded."""


class CorpusIds:
    """Encodes lines as word ids, in the order in which words first appear.

    Most of a text is repetition, so every string between spaces is tokenised once and then looked
    up; this is faster than tokenising every line, and gives the same words.

    Args:
        text: How lines are tokenised; lines of more than `max_tokens` words are split.

    >>> corpus, ids = CorpusIds(TextConfig()), []
    >>> corpus.encode(["the cat", "", "The dog."], ids)
    >>> ids, corpus.words
    ([0, 1, -1, 0, 2, 3, -1], ['the', 'cat', 'dog', '.'])
    """

    def __init__(self, text: TextConfig) -> None:
        self.words: list[str] = []
        self.num_overlong = 0
        self._longest = text.max_tokens
        self._cutter = WordTokenizer(text)
        self._places: dict[str, int] = {}
        self._pieces: dict[str, tuple[int, ...]] = {}

    def encode(self, lines: list[str], ids: list[int]) -> None:
        """Append the ids of lines to `ids`, with `END` after each sentence."""
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
            InputError: If the file is not text; names the row.
        """
        held: list[int] = []
        for block in running_text(path):
            for fault in block.faults.values():
                raise fault
            self.encode(block.lines, held)
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
    """The ids of one file, and its words by id."""

    ids: Path
    words: list[str]
    num_overlong: int


def encode_shard(path: Path, text: TextConfig, ids: Path) -> Shard:
    """Encode a text file and write its ids.

    Args:
        path: The text.
        text: How it is tokenised.
        ids: The file to write.
    """
    corpus = CorpusIds(text)
    with ids.open("wb") as out:
        for part in corpus.file(path):
            part.tofile(out)
    return Shard(ids=ids, words=corpus.words, num_overlong=corpus.num_overlong)


def main(path: str, ids: str, settings: str) -> None:
    """Encode a file in a separate process, and write the result or the error to `IDS.json`."""
    try:
        text = TextConfig.from_dict(json.loads(settings))
        shard = encode_shard(Path(path), text, Path(ids))
        answer = {**asdict(shard), "ids": ids}
    except InputError as error:
        answer = {"message": error.message, "source": error.source, "row": error.row}
    except SoftqueryError as error:
        answer = {"message": str(error)}
    Path(ids + ".json").write_text(json.dumps(answer), encoding="utf-8")


def answered(ids: Path) -> Shard:
    """The result that `main` wrote; raises its error."""
    answer = json.loads(Path(f"{ids}.json").read_text(encoding="utf-8"))
    if "row" in answer:
        raise InputError(answer["message"], source=answer["source"], row=answer["row"])
    if "message" in answer:
        raise ConfigError(answer["message"])
    return Shard(**{**answer, "ids": Path(answer["ids"])})


JOINT: Final = "_"
READ: Final = 1 << 22
"""How many ids are read at a time."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """The settings for finding phrases."""

    passes: int
    """Each pass can make phrases longer; the paper makes two to four passes."""
    threshold: float
    """Pairs that score higher become one word; halved after each pass."""

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The threshold of each pass."""
        return tuple(self.threshold / 2**number for number in range(self.passes))


def join_phrases(
    path: Path, words: list[str], counts: Counts, min_count: int, threshold: float
) -> tuple[list[str], Counts]:
    """Rewrite a file of ids so that its phrases are words.

    The score of a pair is (count of the pair - discount) / (count of one · count of the other),
    Equation 6, times the number of words, so that thresholds do not depend on the size of a corpus
    (as in the paper's tool). The discount is `min_count`. Of overlapping pairs the left one wins.

    Args:
        path: Ids of sentences, rewritten in place.
        words: Words by id.
        counts: Counts by id.
        min_count: The least count of a pair, and the discount.
        threshold: The score above which a pair is a phrase.

    Returns:
        The words followed by the phrases, and the new counts.
    """
    pairs, pair_counts = _count_pairs(path, len(words), min_count)
    first, second = pairs // len(words), pairs % len(words)
    scores = (pair_counts - min_count) / (counts[first] * counts[second]) * counts.sum()
    phrases = pairs[scores > threshold]
    if not len(phrases):
        return words, counts
    new_counts = np.concatenate([counts, np.zeros(len(phrases), dtype=np.int64)])
    joined = path.with_suffix(".joined")
    with joined.open("wb") as out:
        for ids in _sentences(path):
            made = _joined(ids, phrases, len(words))
            new_counts += np.bincount(made[made >= 0], minlength=len(new_counts))
            made.tofile(out)
    joined.replace(path)
    new_counts[: len(counts)] -= counts  # counted anew
    names = [words[a] + JOINT + words[b] for a, b in _parts(phrases, len(words))]
    return [*words, *names], new_counts


def _parts(phrases: NDArray[np.int64], num_words: int) -> list[tuple[int, int]]:
    return list(zip((phrases // num_words).tolist(), (phrases % num_words).tolist(), strict=True))


def _sentences(path: Path) -> Iterator[Ids]:
    """Blocks of complete sentences."""
    place, held = 0, np.zeros(0, dtype=np.int32)
    while len(ids := np.fromfile(path, dtype=np.int32, count=READ, offset=place)):
        place += ids.nbytes
        ids = np.concatenate([held, ids])
        ends = np.flatnonzero(ids == END)
        cut = int(ends[-1]) + 1 if len(ends) else 0
        held = ids[cut:]
        if cut:
            yield ids[:cut]


def _pair_codes(ids: Ids, num_words: int) -> NDArray[np.int64]:
    """Each pair of neighbouring ids as one number; -1 where either is `END`."""
    wide = ids.astype(np.int64)
    codes = wide[:-1] * num_words + wide[1:]
    codes[(wide[:-1] < 0) | (wide[1:] < 0)] = -1
    return codes


def _count_pairs(
    path: Path, num_words: int, min_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs that occur at least `min_count` times, sorted, and their counts."""
    pairs, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for ids in _sentences(path):
        found, number = np.unique(_pair_codes(ids, num_words), return_counts=True)
        merged, place = np.unique(np.concatenate([pairs, found]), return_inverse=True)
        total = np.zeros(len(merged), dtype=np.int64)
        np.add.at(total, place, np.concatenate([counts, number]))
        pairs, counts = merged, total
    kept = (counts >= min_count) & (pairs >= 0)
    return pairs[kept], counts[kept]


def _joined(ids: Ids, phrases: NDArray[np.int64], num_words: int) -> Ids:
    """Replace pairs by phrases from left to right; of overlapping pairs every other one counts."""
    codes = _pair_codes(ids, num_words)
    places = np.searchsorted(phrases, codes)
    is_pair = phrases[np.minimum(places, len(phrases) - 1)] == codes
    starts = np.flatnonzero(is_pair & ~np.concatenate([[False], is_pair[:-1]]))
    run = np.zeros(len(codes), dtype=np.int64)
    run[starts] = starts
    offset = np.arange(len(codes)) - np.maximum.accumulate(run)
    taken = np.flatnonzero(is_pair & (offset % 2 == 0))
    made = ids.copy()
    made[taken] = num_words + places[taken]
    return np.delete(made, taken + 1)


if __name__ == "__main__":
    main(*sys.argv[1:])

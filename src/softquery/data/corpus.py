"""A corpus on the disk: every word as the id of its type, memory-mapped and never loaded whole.

Ids are ordered by frequency. The vocabulary that a language model predicts is thus the beginning
of the list of types, and how large it is can be decided later.

word2vec has a form of its own, `softquery.files.write_corpus_file`, which needs no torch: rare
words are dropped from the text, there is one reading direction, and -1 stands between sentences.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray

from softquery.data.streams import Streams
from softquery.errors import BundleError, InputError
from softquery.files import LONGEST_LINE, atomic_folder, fingerprint, write_json
from softquery.text import (
    MAX_CHARACTERS,
    TextConfig,
    TextPipeline,
    build_pipeline,
    pipeline_from_words,
    spell_vocabulary,
)
from softquery.text.text_config import ALWAYS_RESERVED

CHUNK = 4096
"""Texts that are tokenised at a time."""
NUMBERS = np.dtype("<i4")
NOTE, TYPES, COUNTS, CHARACTERS = "corpus.json", "types.json", "counts.npy", "characters.npy"
OpenTexts = Callable[[], Iterable[str]]
"""Opens a stream of texts; called again for each pass."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder that `write_corpus` wrote."""

    folder: Path
    types: list[str]
    """Every word of the text, reserved tokens first."""
    counts: NDArray[np.int64]
    """How often each type stands in the training text."""

    def known(self, *, size: int | None, min_count: int) -> int:
        """How many types, from the first on, make a vocabulary; reserved ones count."""
        num_reserved = len(ALWAYS_RESERVED)
        frequent = num_reserved + int((self.counts[num_reserved:] >= min_count).sum())
        return frequent if size is None else min(size, frequent)

    def streams(self, split: str, *, vocab_size: int, num_streams: int) -> Streams:
        """The words of `train` or `valid` as streams, mapped from the disk."""
        return Streams(
            self._mapped(f"{split}.forwards"),
            self._mapped(f"{split}.backwards"),
            torch.from_numpy(np.load(self.folder / CHARACTERS)),
            vocab_size,
            num_streams,
        )

    def _mapped(self, name: str) -> torch.Tensor:
        # Copy-on-write, because torch warns of arrays that may not be written; nothing writes.
        return torch.from_numpy(np.memmap(self.folder / f"{name}.ids", NUMBERS, mode="c"))


def write_corpus(
    folder: Path,
    *,
    train: OpenTexts,
    valid: OpenTexts,
    config: TextConfig,
    known: Sequence[str] = (),
    max_characters: int = MAX_CHARACTERS,
    source: str | PathLike[str] = "the texts",
) -> None:
    """Tokenise two splits and write them as ids; the folder appears complete or not at all.

    The texts are read twice (to count the types, and to write the ids) and never held in memory.

    Args:
        folder: Where the corpus shall lie.
        train: The text whose words are counted.
        valid: Further text; its new words are added to the types but not to the counts.
        config: What a word is; boundaries are added to every line whatever it says.
        known: Words that keep the ids they have here, such as a bundle's vocabulary.
        max_characters: Characters stored per word, the two marks at its ends included.
        source: Where the texts come from, for errors.

    Raises:
        InputError: There is no word in a split, or the disk refuses.
    """
    whole = replace(config, boundaries=True, max_tokens=LONGEST_LINE + 2)
    counted = build_pipeline(train(), whole)
    words = [*known, *counted.vocabulary()]
    words += dict.fromkeys(word for text in valid() for word in counted.words([text])[0])
    pipeline = pipeline_from_words(words, whole)
    with atomic_folder(folder) as fresh:
        counts = np.zeros(pipeline.vocab_size, dtype=np.int64)
        totals = {}
        for split, texts in (("train", train), ("valid", valid)):
            into = counts if split == "train" else None
            totals[split] = _write_split(fresh, split, texts(), pipeline, into)
            if not totals[split]:
                raise InputError(f"there is no word in the text for {split}", source=source)
        np.save(fresh / COUNTS, counts)
        types = pipeline.vocabulary()
        np.save(fresh / CHARACTERS, spell_vocabulary(types, max_characters))
        write_json(fresh / TYPES, types)
        write_json(fresh / NOTE, totals)


def is_corpus(folder: Path) -> bool:
    """Whether a folder looks like one that `write_corpus` wrote."""
    return (folder / NOTE).is_file() and (folder / TYPES).is_file()


def corpus_fingerprint(folder: Path) -> str:
    """A hash of the types, their counts and the lengths of a corpus; the words are not read."""
    return fingerprint([folder / NOTE, folder / TYPES, folder / COUNTS])


def read_corpus(folder: Path) -> Corpus:
    """Open what `write_corpus` wrote."""
    try:
        totals = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        types = json.loads((folder / TYPES).read_text(encoding="utf-8"))
        counts = np.load(folder / COUNTS)
        for split, total in totals.items():
            for way in ("forwards", "backwards"):
                size = (folder / f"{split}.{way}.ids").stat().st_size
                if size != total * NUMBERS.itemsize:
                    raise ValueError(f"{split}.{way}.ids is cut short")
        if len(types) != len(counts):
            raise ValueError("types and counts do not fit")
    except (OSError, ValueError, AttributeError) as error:
        raise BundleError(f"{folder}: is damaged ({error}); remove it") from None
    return Corpus(folder, types, counts)


def _write_split(
    folder: Path,
    split: str,
    texts: Iterable[str],
    pipeline: TextPipeline,
    counts: NDArray[np.int64] | None,
) -> int:
    """Write the words of a split in both directions; returns how many there are, ends included."""
    total = 0
    ways = [(folder / f"{split}.{way}.ids").open("wb") for way in ("forwards", "backwards")]
    with ways[0] as forwards, ways[1] as backwards:
        for lines in _encoded(texts, pipeline):
            as_written = _write(forwards, lines)
            _write(backwards, [line[::-1] for line in lines])
            total += len(as_written)
            if counts is not None:
                counts += np.bincount(as_written, minlength=len(counts))
    return total


def _encoded(texts: Iterable[str], pipeline: TextPipeline) -> Iterator[list[list[int]]]:
    """Chunks of lines as ids, without those that hold no word."""
    stream = iter(texts)
    while chunk := list(islice(stream, CHUNK)):
        yield [line for line in pipeline.encode_ids(chunk) if len(line) > 2]


def _write(file: IO[bytes], lines: list[list[int]]) -> NDArray[Any]:
    numbers = np.fromiter(chain.from_iterable(lines), NUMBERS)
    file.write(numbers.tobytes())
    return numbers

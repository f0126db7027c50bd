"""Documents on the disk: every piece as its id, memory-mapped, with the vocabulary.

`write_corpus` does the same for models that read words by their characters.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from softquery.data.document_text import DocumentText
from softquery.errors import BundleError, ConfigError, InputError
from softquery.files import LONGEST_LINE, DocumentLine, atomic_folder, fingerprint, write_json
from softquery.text import TextConfig, TextPipeline

CHUNK: Final = 4096
"""Lines that are cut at a time."""
NUMBERS: Final = np.dtype("<i4")
NOTE, TOKENIZER = "documents.json", "tokenizer.json"
ENDS: Final = (".", "!", "?", "…", "。", "！", "？")
CLOSERS: Final = ('"', "'", ")", "]", "”", "’", "」", "』", "》", "）")
"""Signs after which a sentence begins, and those that still belong to the one before."""
Lines = Callable[[], Iterable[DocumentLine]]
"""Opens a stream of lines; called again for each pass."""


@dataclass(frozen=True, slots=True)
class DocumentCorpus:
    """A folder that `write_documents` wrote."""

    folder: Path
    pipeline: TextPipeline
    totals: dict[str, int]
    """Pieces of each split."""

    def documents(self, split: str) -> DocumentText:
        """The documents of a split, mapped from the disk."""
        # Copy-on-write, because torch warns of arrays that may not be written; nothing writes.
        ids = np.memmap(self.folder / f"{split}.ids", NUMBERS, mode="c")
        starts, sentences = (np.load(self.folder / f"{split}.{name}.npy") for name in _PLACES)
        return DocumentText(torch.from_numpy(ids), starts, sentences)


_PLACES = ("documents", "sentences")


def write_documents(
    folder: Path,
    pipeline: TextPipeline,
    splits: Mapping[str, Lines],
    *,
    source: str | PathLike[str] = "the texts",
) -> None:
    """Cut texts into pieces and write their ids; the folder appears complete or not at all.

    Args:
        folder: Where the corpus shall lie.
        pipeline: A pipeline of unit `bert`, which is stored in the folder too.
        splits: The texts by name: `train` to learn from, `valid` to measure on.
        source: Where the texts come from, for errors.

    Raises:
        InputError: There is no word in a split, or the disk refuses.
    """
    whole = replace(pipeline.config, boundaries=False, max_tokens=LONGEST_LINE)
    cutter = TextPipeline(_unmarked(pipeline), whole)
    with atomic_folder(folder) as fresh:
        totals = {}
        for split, lines in splits.items():
            totals[split] = _Writer(fresh, split, cutter).write(lines())
            if not totals[split]:
                raise InputError(f"there is no word in the text for {split}", source=source)
        pipeline.save(fresh)
        write_json(fresh / NOTE, {"totals": totals, "text": pipeline.config.to_dict()})


def is_document_corpus(folder: Path) -> bool:
    """Whether a folder looks like one that `write_documents` wrote."""
    return (folder / NOTE).is_file()


def document_fingerprint(folder: Path) -> str:
    """A hash of the vocabulary and the lengths of a corpus; the pieces are not read."""
    return fingerprint([folder / NOTE, folder / TOKENIZER])


def read_documents(folder: Path) -> DocumentCorpus:
    """Open what `write_documents` wrote."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        totals = note["totals"]
        for split, total in totals.items():
            if (folder / f"{split}.ids").stat().st_size != total * NUMBERS.itemsize:
                raise ValueError(f"{split}.ids is cut short")
            starts = np.load(folder / f"{split}.documents.npy")
            if int(starts[-1]) != total:
                raise ValueError(f"{split}.documents.npy does not fit")
        pipeline = TextPipeline.load(folder, TextConfig.from_dict(note["text"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ConfigError) as error:
        raise BundleError(f"{folder}: is damaged ({error}); remove it") from None
    return DocumentCorpus(folder, pipeline, totals)


class _Writer:
    """Writes one split: pieces as they come, then where documents and sentences begin."""

    def __init__(self, folder: Path, split: str, cutter: TextPipeline) -> None:
        self.folder, self.split, self.cutter = folder, split, cutter
        self.total = 0
        self.documents: list[int] = []
        self.sentences: list[NDArray[np.int64]] = []
        self.ends, self.closers = (
            [number for sign in signs if (number := cutter.token_id(sign)) is not None]
            for signs in (ENDS, CLOSERS)
        )

    def write(self, lines: Iterable[DocumentLine]) -> int:
        """Write everything; returns how many pieces there are."""
        with (self.folder / f"{self.split}.ids").open("wb") as file:
            opens = True
            for chunk in _chunks(lines):
                cut = self.cutter.encode_ids([line.text for line in chunk])
                kept = []
                for line, pieces in zip(chunk, cut, strict=True):
                    opens = opens or line.opens
                    if pieces:
                        kept.append((pieces, opens))
                        opens = False
                self._add(file, kept)
        places = ([*self.documents, self.total], np.concatenate([*self.sentences, []]))
        for name, values in zip(_PLACES, places, strict=True):
            np.save(self.folder / f"{self.split}.{name}.npy", np.array(values, dtype=np.int64))
        return self.total

    def _add(self, file: IO[bytes], lines: list[tuple[list[int], bool]]) -> None:
        numbers = np.fromiter(chain.from_iterable(pieces for pieces, _ in lines), NUMBERS)
        file.write(numbers.tobytes())
        sizes = np.array([len(pieces) for pieces, _ in lines], dtype=np.int64)
        starts = sizes.cumsum() - sizes
        opens = np.array([opens for _, opens in lines], dtype=bool)
        self.documents += (self.total + starts[opens]).tolist()
        begins = self._begins(numbers)
        begins[starts] = True
        self.sentences.append(self.total + np.flatnonzero(begins))
        self.total += len(numbers)

    def _begins(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """True where a sentence begins; closing signs belong to the one before."""
        ends, closes = np.isin(numbers, self.ends), np.isin(numbers, self.closers)
        over = ends.copy()
        over[1:] |= closes[1:] & ends[:-1]
        begins = np.zeros(len(numbers), dtype=bool)
        begins[1:] = over[:-1] & ~closes[1:]
        return begins


def _chunks(lines: Iterable[DocumentLine]) -> Iterator[list[DocumentLine]]:
    stream = iter(lines)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


def _unmarked(pipeline: TextPipeline) -> Any:
    """A copy of the tokenizer that puts no marks around a text."""
    tokenizer = type(pipeline.tokenizer).from_str(pipeline.tokenizer.to_str())
    tokenizer.post_processor = None
    return tokenizer

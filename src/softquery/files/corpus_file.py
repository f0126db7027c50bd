"""A corpus of any size as word ids on the disk, memory-mapped for training.

A first pass tokenises the text and writes ids in order of first appearance; memory holds the
distinct words, never the text. A second pass replaces them by ids of the vocabulary, most frequent
first, and drops rare words from the sentences, so that windows reach across them (as in Mikolov et
al. 2013b).

Language models have another format, `softquery.data.write_corpus`: every word keeps an id, lines
are stored in both directions between `<bos>` and `<eos>`, and the characters of words beside them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from softquery.atomic import write_json
from softquery.errors import InputError
from softquery.files import corpus_ids
from softquery.files.corpus_ids import (
    END,
    Ids,
    Phrases,
    Shard,
    answered,
    encode_shard,
    join_phrases,
)
from softquery.text import TextConfig

Counts = NDArray[np.int64]
Say = Callable[[str], None]

IDS, NOTES = "corpus.ids", "corpus.json"
REWRITTEN: Final = 1 << 22
"""How many ids are rewritten at a time."""
WORTH_A_PROCESS: Final = 1 << 22
"""Bytes of text on the disk from which several processes pay off."""
_DROPPED: Final = -2


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusFile:
    """Sentences as ids in a file, with `END` after each."""

    path: Path
    words: list[str]
    """Words by id, most frequent first, ties alphabetically."""
    counts: Counts
    num_read: int
    """Words of the text, including those that were dropped."""
    num_overlong: int
    """Words that were omitted because they are too long."""

    @property
    def num_tokens(self) -> int:
        """Words of the text that are in the vocabulary."""
        return int(self.counts.sum())

    def ids(self) -> Ids:
        """The ids of the whole file, memory-mapped."""
        return np.asarray(np.memmap(self.path, dtype=np.int32, mode="r"))

    def stretches(self, size: int) -> NDArray[np.int64]:
        """Cuts of the corpus, between sentences, into stretches of about `size` ids."""
        cuts = [0]
        place = 0
        for ids in _blocks(self.path):
            for end in (np.flatnonzero(ids == END) + place + 1).tolist():
                if end - cuts[-1] >= size:
                    cuts.append(end)
            place += len(ids)
        return np.array(cuts if cuts[-1] == place else [*cuts, place], dtype=np.int64)


def write_corpus_file(
    files: Sequence[Path],
    text: TextConfig,
    folder: Path,
    *,
    min_count: int,
    size: int | None = None,
    phrases: Phrases | None = None,
    processes: int = 1,
    say: Say = lambda line: None,
) -> CorpusFile:
    """Encode text files and write them into a folder as a corpus.

    Args:
        files: The text files, in order.
        text: How they are tokenised; sentences longer than `max_tokens` are split, not cut.
        folder: Where the ids are written.
        min_count: Rarer words are dropped.
        size: The largest vocabulary.
        phrases: How phrases are joined, if at all.
        processes: How many files are encoded at a time.
        say: Called with messages of progress.

    Raises:
        InputError: For text that is not UTF-8, and if fewer than two words are left.
    """
    with tempfile.TemporaryDirectory(prefix="reading.", dir=folder) as place:
        raw = Path(place) / "ids"
        shards = _encode(files, text, Path(place), processes, say)
        words, counts = _merge(shards, raw)
        num_read = int(counts.sum())
        for number, threshold in enumerate(phrases.thresholds if phrases else (), 1):
            before = len(words)
            words, counts = join_phrases(raw, words, counts, min_count, threshold)
            say(f"phrases, pass {number}: {len(words) - before:,} found")
        order = _ranked(words, counts, min_count, size)
        _refuse_poor(order, words, min_count, files)
        _place(raw, order, len(words), folder / IDS)
    corpus = CorpusFile(
        path=folder / IDS,
        words=[words[number] for number in order.tolist()],
        counts=counts[order],
        num_read=num_read,
        num_overlong=sum(shard.num_overlong for shard in shards),
    )
    _note(corpus, folder)
    return corpus


def open_corpus_file(folder: Path) -> CorpusFile | None:
    """The corpus that `write_corpus_file` wrote, or None if it was interrupted."""
    try:
        noted = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        corpus = CorpusFile(
            path=folder / IDS,
            words=noted["words"],
            counts=np.array(noted["counts"], dtype=np.int64),
            num_read=noted["num_read"],
            num_overlong=noted["num_overlong"],
        )
        return corpus if corpus.path.stat().st_size == noted["bytes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note(corpus: CorpusFile, folder: Path) -> None:
    """Write the notes, last: a folder with this file is complete."""
    facts = {
        "bytes": corpus.path.stat().st_size,
        "num_read": corpus.num_read,
        "num_overlong": corpus.num_overlong,
        "words": corpus.words,
        "counts": corpus.counts.tolist(),
    }
    write_json(folder / NOTES, facts)


def _encode(
    files: Sequence[Path], text: TextConfig, place: Path, processes: int, say: Say
) -> list[Shard]:
    """Encode every file with its own ids, in this process or in several."""
    outputs = [place / str(number) for number in range(len(files))]
    total = sum(path.stat().st_size for path in files)
    if processes > 1 and len(files) > 1 and total >= WORTH_A_PROCESS:
        _encode_apart(files, outputs, text, processes, say)
        return [answered(ids) for ids in outputs]
    shards = []
    for path, ids in zip(files, outputs, strict=True):
        say(f"reading {path}")
        shards.append(encode_shard(path, text, ids))
    return shards


def _encode_apart(
    files: Sequence[Path], outputs: Sequence[Path], text: TextConfig, processes: int, say: Say
) -> None:
    """One process per file, `processes` at a time.

    They are started by module name, not forked, because the parent may hold threads; a calling
    script needs no guard around its main part.
    """
    settings = json.dumps(text.to_dict())
    running: list[subprocess.Popen[bytes]] = []
    try:
        for path, ids in zip(files, outputs, strict=True):
            if len(running) == processes:
                _wait(running.pop(0))
            say(f"reading {path}")
            words = [sys.executable, "-m", corpus_ids.__name__, str(path), str(ids), settings]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            running.append(subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL))
        while running:
            _wait(running.pop(0))
    finally:
        for process in running:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise OSError(f"a process that read the corpus ended with code {process.returncode}")


def _merge(shards: Sequence[Shard], raw: Path) -> tuple[list[str], Counts]:
    """Common ids for all shards, written to one file; returns words and counts."""
    places: dict[str, int] = {}
    counts = np.zeros(0, dtype=np.int64)
    with raw.open("wb") as out:
        for shard in shards:
            own = [places.setdefault(word, len(places)) for word in shard.words]
            numbers = np.array([*own, END], dtype=np.int32)  # END is -1 and maps to itself
            counts = np.concatenate([counts, np.zeros(len(places) - len(counts), np.int64)])
            for ids in _blocks(shard.ids):
                merged = numbers[ids]
                counts += np.bincount(merged[merged >= 0], minlength=len(counts))
                merged.tofile(out)
            shard.ids.unlink()
    return list(places), counts


def _ranked(words: list[str], counts: Counts, min_count: int, size: int | None) -> NDArray[np.intp]:
    """The ids of the words that are kept, in the order of the vocabulary."""
    kept = np.flatnonzero(counts >= min_count).tolist()
    often: list[int] = counts.tolist()
    return np.array(sorted(kept, key=lambda n: (-often[n], words[n]))[:size], dtype=np.intp)


def _refuse_poor(
    order: NDArray[np.intp], words: list[str], min_count: int, files: Sequence[Path]
) -> None:
    """Refuse a vocabulary of fewer than two words."""
    source = ", ".join(map(str, files[:3])) + (", …" if len(files) > 3 else "")
    if not words:
        raise InputError("holds no words", source=source)
    if len(order) < 2:
        raise InputError(
            f"expected at least 2 words that occur {min_count} times or more "
            f"(vocabulary.min_count), found {len(order)} among {len(words):,}",
            source=source,
        )


def _place(raw: Path, order: NDArray[np.intp], num_words: int, path: Path) -> None:
    """Rewrite ids as ids of the vocabulary, without dropped words."""
    places = np.full(num_words + 1, _DROPPED, dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    places[END] = END
    last = END
    with path.open("wb") as out:
        for ids in _blocks(raw):
            found = places[ids]
            left = found[found != _DROPPED]
            before = np.concatenate([[last], left[:-1]])
            left = left[(left != END) | (before != END)]  # some sentences are empty now
            left.tofile(out)
            last = int(left[-1]) if len(left) else last


def _blocks(path: Path) -> Iterator[Ids]:
    place = 0
    while len(ids := np.fromfile(path, dtype=np.int32, count=REWRITTEN, offset=place)):
        yield ids
        place += ids.nbytes

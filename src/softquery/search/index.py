"""An index of questions that answers: built, changed, searched.

| stage | asks | finds |
|---|---|---|
| recall by words | BM25 | rows that share telling words |
| recall by vectors | cosine | rows that mean about the same |
| fusion | reciprocal ranks | the first fifty of both |
| rerank | the matcher, over stored encodings | a calibrated probability each |
| threshold | | the answer, or none |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from softquery.errors import BundleError, InputError, MissingExtra
from softquery.runtime import Matcher, load_matcher
from softquery.runtime.bert.backends import is_bert
from softquery.runtime.vectors.text_vectors import OWN_SOURCES, decided, open_vectors
from softquery.search.building import (
    Changes,
    added,
    built,
    compacted,
    deleted,
    new_manifest,
)
from softquery.search.duplicates import Duplicate, find_duplicates
from softquery.search.entries import Entries, Source, read_entries
from softquery.search.finding import SearchResult, Where, find
from softquery.search.fingerprint import fingerprint, vector_fingerprint
from softquery.search.index_models import IndexModels
from softquery.search.manifest import IndexSettings, Manifest, is_index, read_manifest
from softquery.search.segment import Segment
from softquery.search.store import Store, create

Advance = Callable[[int], object]


class Index:
    """Questions and answers in a folder. Searching is safe from many threads.

    What is seen is the index as it was when it was opened, or at the last `refresh`, `add` or
    `delete`; others may change it meanwhile.

    Args:
        store: The folder.
        reader: The models.
    """

    def __init__(self, store: Store, reader: IndexModels) -> None:
        self._store, self._reader = store, reader
        self.last_changes = Changes()

    @classmethod
    def build(
        cls,
        source: Source,
        output: str | PathLike[str],
        *,
        model: str | PathLike[str] = "match-en",
        columns: Mapping[str, str] | None = None,
        settings: IndexSettings | None = None,
        threads: int | None = None,
        advance: Advance = lambda done: None,
    ) -> "Index":
        """Make an index of a file's questions.

        Rows are committed some thousands at a time. If the process ends before it is done, the
        same call goes on from there.

        Args:
            source: A file or an iterable of mappings, with `question`, and where there are any
                `answer` and `id`; all further columns are kept.
            output: The folder, which is not there yet.
            model: The matcher that reads and compares: a name from the zoo, or a folder.
            columns: Our names to those of the file: `{"question": "title"}`.
            settings: What is stored, and how.
            threads: Threads of indexing and searching; None for all cores.
            advance: Told how many rows are done.

        Raises:
            InputError: A row is bad, or the folder is there already.
        """
        folder = Path(output)
        _require_extra()
        _check_place(folder)
        settings = settings or IndexSettings()
        matcher, reader = _open_models(str(model), settings, threads)
        entries = read_entries(source, matcher.pipeline.config, columns=columns)
        source_of_vectors = decided(settings.vectors, matcher)
        if source_of_vectors not in OWN_SOURCES:
            source_of_vectors = _portable(source_of_vectors)
        settings = replace(settings, vectors=source_of_vectors)
        fresh = new_manifest(_portable(model), matcher, reader, entries, settings)
        if is_index(folder):
            _check_same(folder, fresh)
        else:
            create(folder, fresh)
        index = cls(Store(folder), reader)
        index._apply(entries, advance)
        return index

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        model: str | PathLike[str] | Matcher | None = None,
        threads: int | None = None,
    ) -> "Index":
        """Open an index.

        Args:
            path: The folder.
            model: Where its matcher lies now, if not where it was; or the matcher itself, where it
                is open already, which several indexes may share.
            threads: Threads of one search; None for all cores.

        Raises:
            InputError: There is no index, it is damaged, or was built with another model.
        """
        _require_extra()
        store = Store(Path(path))
        manifest = store.manifest
        if isinstance(model, Matcher):
            matcher = model
        else:
            matcher = load_matcher(manifest.model if model is None else model, threads=threads)
        if fingerprint(matcher.bundle) != manifest.fingerprint:
            message = f"was built with another model than {matcher.bundle.path}; build it anew"
            raise InputError(message, source=store.folder)
        vectors = open_vectors(manifest.vector_source, matcher, threads=threads)
        if vector_fingerprint(vectors) != manifest.vector_fingerprint:
            message = f"was built with other vectors than {manifest.vector_source}; build it anew"
            raise InputError(message, source=store.folder)
        return cls(store, IndexModels(matcher, vectors, manifest.settings, threads=threads))

    def __len__(self) -> int:
        return self._store.manifest.num_rows

    @property
    def path(self) -> Path:
        """The folder."""
        return self._store.folder

    @property
    def manifest(self) -> Manifest:
        """What the index is, as this process sees it."""
        return self._store.manifest

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Where the rows lie."""
        return self._store.segments

    @property
    def reader(self) -> IndexModels:
        """What reads texts for this index."""
        return self._reader

    @property
    def matcher(self) -> Matcher:
        """What encodes and compares."""
        return self._reader.matcher

    @property
    def min_score(self) -> float:
        """The score from which on a hit is an answer, if a search does not name another."""
        own = self._store.manifest.settings.min_score
        if own is not None:
            return own
        threshold = self.matcher.calibration.threshold
        return 0.5 if threshold is None else threshold

    def search(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
    ) -> list[dict[str, Any]]:
        """The stored rows that answer a query, best first; none where no answer is good enough.

        Args:
            query: What is asked.
            top_k: How many at most.
            where: Columns that must have a value, or one of several: `{"category": "refunds"}`.
            min_score: From which score on a hit is an answer; the index's own by default.
            candidates: How many rows are compared with the query.
            explain: Whether each hit has an `alignment`: which words looked at which.

        Returns:
            Dicts with `id`, `question`, `answer`, the kept columns, and `score`.
        """
        return self.find(
            query,
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
        ).hits

    def find(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
    ) -> SearchResult:
        """As `search`, with what came next though it was not good enough, and time by stage."""
        return find(
            self._store.segments,
            self._reader,
            query,
            top_k=top_k,
            where=where or {},
            min_score=self.min_score if min_score is None else min_score,
            candidates=candidates,
            explain=explain,
        )

    def add(
        self,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        advance: Advance = lambda done: None,
    ) -> Changes:
        """Add rows, and replace those that have the same id; all of them, or none after a crash.

        Rows that are there already, word for word, are left alone.

        Args:
            source: As for `build`.
            columns: Our names to those of the file.
            advance: Told how many rows are done.
        """
        entries = read_entries(source, self.matcher.pipeline.config, columns=columns)
        with self._store.writing():
            self.last_changes = added(self._store, self._reader, entries, advance=advance)
        return self.last_changes

    def delete(self, ids: Iterable[str]) -> Changes:
        """Remove rows by their ids, or by their questions.

        Raises:
            InputError: One of them is not there; nothing is removed then.
        """
        if isinstance(ids, str):
            raise TypeError("expected a list of ids, got one string")
        with self._store.writing():
            self.last_changes = deleted(self._store, self._reader, list(ids))
        return self.last_changes

    def set_min_score(self, min_score: float | None) -> None:
        """Change from which score on a hit is an answer; None for the model's own threshold."""
        with self._store.writing():
            settings = replace(self._store.manifest.settings, min_score=min_score)
            self._store.commit(settings=settings)

    def compact(self) -> None:
        """Make one segment of all, without the rows that are gone."""
        with self._store.writing():
            compacted(self._store, self._reader)

    def refresh(self) -> bool:
        """Take up what other processes have changed; whether there was anything."""
        return self._store.refresh()

    def rows(self) -> Iterator[dict[str, str]]:
        """Every row that is there, with its columns."""
        for segment in self._store.segments:
            for row in segment.live_rows:
                yield segment.cells.row(row)

    def duplicates(
        self, *, min_score: float = 0.9, advance: Advance = lambda done: None
    ) -> list[Duplicate]:
        """Rows that ask the same: as the model spells it, and by the model's judgement.

        Args:
            min_score: From which score on two questions count as the same.
            advance: Told how many rows are done.
        """
        return find_duplicates(
            self._store.segments, self._reader, min_score=min_score, advance=advance
        )

    def size_bytes(self) -> dict[str, int]:
        """Bytes on the disk by what they hold."""
        sizes: dict[str, int] = {}
        for segment in self._store.segments:
            for path in segment.folder.iterdir():
                kind = path.name.partition(".")[0].partition("_")[0].partition("-")[0]
                name = _KINDS.get(kind, "other")
                sizes[name] = sizes.get(name, 0) + path.stat().st_size
        return sizes

    def _apply(self, entries: Entries, advance: Advance) -> None:
        with self._store.writing():
            self.last_changes = built(self._store, self._reader, entries, advance=advance)


_KINDS = {
    "cells": "texts",
    "cell": "texts",
    "words": "words",
    "word": "words",
    "vectors": "vectors",
    "encodings": "encodings",
    "encoding": "encodings",
}


def _open_models(
    model: str, settings: IndexSettings, threads: int | None
) -> tuple[Matcher, IndexModels]:
    matcher = load_matcher(model, threads=threads)
    if is_bert(matcher.bundle):
        told = "an index needs a matcher that reads each by itself, such as ESIM"
        raise BundleError(f"{matcher.bundle.path}: reads both sentences as one; {told}")
    vectors = open_vectors(decided(settings.vectors, matcher), matcher, threads=threads)
    return matcher, IndexModels(matcher, vectors, settings, threads=threads)


def _portable(model: str | PathLike[str]) -> str:
    """A name of the zoo as it is; a folder by its whole path, wherever a search is started."""
    name = fspath(model)
    return str(Path(name).expanduser().resolve()) if Path(name).expanduser().is_dir() else name


def _require_extra() -> None:
    """Say what is missing before any work, not after it."""
    if find_spec("usearch") is None or find_spec("bm25s") is None:
        raise MissingExtra("search", needed_for="an index of questions")


def _check_place(folder: Path) -> None:
    """Refuse, before any work, a place where something else stands."""
    if is_index(folder) and not read_manifest(folder).unfinished:
        message = "exists already; --add adds and replaces rows, another --output builds anew"
        raise InputError(message, source=folder)
    if not folder.absolute().parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=folder)


def _check_same(folder: Path, fresh: Manifest) -> None:
    """Go on with an indexing that was cut short only where it was begun alike."""
    there = read_manifest(folder)
    same = ("fingerprint", "vector_source", "vector_fingerprint", "settings")
    if any(getattr(there, name) != getattr(fresh, name) for name in same):
        message = "was begun with another model or other settings; remove it to start over"
        raise InputError(message, source=folder)

"""An index of questions with their answers: it is built, changed and searched.

| stage | by | finds |
|---|---|---|
| recall by words | BM25 | rows that share informative words |
| recall by vectors | cosine | rows that mean about the same |
| fusion | reciprocal ranks | the first fifty of both lists |
| rerank | the matcher, over stored encodings | a calibrated probability per row |
| threshold | `min_score` | the answers, or none |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from softquery.runtime import Matcher, load_matcher
from softquery.runtime.given_texts import Texts
from softquery.runtime.vectors.text_vectors import open_vectors
from softquery.search.changes.building import (
    Changes,
    add_rows,
    build_rows,
    compact,
    delete_rows,
    new_manifest,
    rebuild_rows,
)
from softquery.search.changes.duplicates import Duplicate, find_duplicates
from softquery.search.changes.index_checks import (
    check_matcher,
    check_place,
    check_same,
    check_vectors,
    checked_ids,
    require_extra,
)
from softquery.search.query.index_languages import check_language, choose_matcher
from softquery.search.query.index_models import IndexModels, open_models, portable
from softquery.search.query.retrieval import SearchOptions, SearchResult, Where
from softquery.search.query.search_steps import SearchSteps, checked_queries, run_searches
from softquery.search.query.stages import RERANK, STAGES, Stages, checked_stages
from softquery.search.storage.entries import Source, read_source, to_entries
from softquery.search.storage.index_folder import folder_sizes
from softquery.search.storage.manifest import (
    IndexSettings,
    Manifest,
    check_min_score,
    is_index,
)
from softquery.search.storage.segment import Segment
from softquery.search.storage.store import Store, create

Advance = Callable[[int], object]


class Index:
    """Questions and answers in a folder. Many threads may search at the same time.

    The view is that of the moment when the index was opened, or of the last `refresh`, `add` or
    `delete`; other processes may have changed the index since.

    Args:
        store: The folder.
        models: The models that encode rows and queries.
    """

    def __init__(self, store: Store, models: IndexModels) -> None:
        self._store, self._models = store, models
        self._store.require_shape(models.shape(store.manifest.columns))
        self.last_changes = Changes()

    @classmethod
    def build(
        cls,
        source: Source,
        output: str | PathLike[str],
        *,
        model: str | PathLike[str] | None = None,
        language: str | None = None,
        columns: Mapping[str, str] | None = None,
        settings: IndexSettings | None = None,
        threads: int | None = None,
        advance: Advance = lambda done: None,
    ) -> "Index":
        """Build an index of the questions in a file.

        Rows are committed some thousands at a time. If the process is interrupted, the same call
        continues from there.

        Args:
            source: A file or an iterable of mappings with `question` and optionally `answer` and
                `id`; all further columns are kept.
            output: The folder, which does not exist yet.
            model: The matcher: a name from the zoo, or a folder. By default the shipped one that
                reads the language of the rows; `last_changes.chosen` says why.
            language: A key of `softquery.text.LANGUAGES`: rows in others are left out.
            columns: Our column names mapped to those of the file: `{"question": "title"}`.
            settings: What is stored, and how.
            threads: Threads of indexing and searching; None for all cores.
            advance: Called with the number of rows that are done.

        Raises:
            InputError: A row is bad, the folder exists already, or no model was named and the rows
                are in several languages, or in one that no shipped matcher reads.
        """
        folder = Path(output)
        require_extra()
        check_place(folder)
        if language is not None:
            check_language(language)
        settings, chosen = settings or IndexSettings(), ""
        if model is None:
            given = read_source(source, columns=columns, language=language)
            choice = choose_matcher(given.languages, given.name)
            model, chosen = choice.model, f"{choice.model} is chosen: {choice.reason}"
            models = open_models(model, settings, threads)
        else:
            models = open_models(model, settings, threads)
            given = read_source(source, columns=columns, language=language)
        entries = to_entries(given, models.matcher.pipeline.config)
        fresh = new_manifest(portable(model), models, entries)
        if is_index(folder):
            check_same(folder, fresh)
        else:
            create(folder, fresh)
        index = cls(Store(folder), models)
        with index._store.writing():
            changes = build_rows(index._store, models, entries, advance=advance)
        index.last_changes = replace(changes, chosen=chosen)
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
            model: The folder of its matcher, if that was moved; or an open matcher, which several
                indexes may share.
            threads: Threads of one search; None for all cores.

        Raises:
            InputError: There is no index, it is damaged, or it was built with another model.
        """
        require_extra()
        store = Store(Path(path))
        manifest = store.manifest
        if isinstance(model, Matcher):
            matcher, model = model, model.bundle.path
        else:
            matcher = load_matcher(manifest.model if model is None else model, threads=threads)
        check_matcher(store.folder, manifest, matcher, None if model is None else fspath(model))
        vectors = open_vectors(manifest.vector_source, matcher, threads=threads)
        check_vectors(store.folder, manifest, vectors)
        return cls(store, IndexModels(matcher, vectors, manifest.settings, threads=threads))

    @classmethod
    def rebuild(
        cls,
        path: str | PathLike[str],
        *,
        model: str | PathLike[str] | None = None,
        vectors: str | None = None,
        min_score: float | None = None,
        threads: int | None = None,
        advance: Advance = lambda done: None,
    ) -> "Index":
        """Encode all rows of an index again, with today's model of the same name or with another.

        Rows, ids, columns and settings stay. A `min_score` that was chosen for another matcher's
        scores is dropped, which `last_changes` tells. The index is as it was until the last row is
        encoded; then it changes at once.

        Args:
            path: The folder.
            model: Another matcher; the index's own by default, as it is installed now.
            vectors: Another source of vectors, as `IndexSettings.vectors`; by default the same.
            min_score: The score that a hit needs from now on.
            threads: Threads of encoding and searching; None for all cores.
            advance: Called with the number of rows that are done.

        Raises:
            InputError: There is no index, it is damaged, another process writes it, or its first
                indexing was never finished.
        """
        require_extra()
        if min_score is not None:
            check_min_score(min_score)
        store = Store(Path(path))
        with store.writing():
            models, changes = rebuild_rows(
                store, model, vectors, min_score, threads=threads, advance=advance
            )
        index = cls(store, models)
        index.last_changes = changes
        return index

    def __repr__(self) -> str:
        name, model = str(self.path), Path(self._store.manifest.model).name
        return f"{type(self).__name__}({name!r}, {len(self):,} rows, model={model!r})"

    def __len__(self) -> int:
        return self._store.manifest.num_rows

    @property
    def path(self) -> Path:
        """The folder."""
        return self._store.folder

    @property
    def manifest(self) -> Manifest:
        """The state of the index as this process sees it."""
        return self._store.manifest

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments that hold the rows."""
        return self._store.segments

    @property
    def models(self) -> IndexModels:
        """The models that encode rows and queries."""
        return self._models

    @property
    def matcher(self) -> Matcher:
        """The matcher, which encodes and compares texts."""
        return self._models.matcher

    @property
    def min_score(self) -> float:
        """The score that a hit needs to be an answer, unless a search names another."""
        own = self._store.manifest.settings.min_score
        if own is not None:
            return own
        threshold = self.matcher.calibration.threshold
        return 0.5 if threshold is None else threshold

    @property
    def stages(self) -> Stages:
        """The stages that a search may use."""
        return STAGES

    def search(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
    ) -> list[dict[str, Any]]:
        """The stored rows that answer a query, best first; none if no answer is good enough.

        Args:
            query: The question.
            top_k: The most hits to return.
            where: Columns that must have a value, or one of several: `{"category": "refunds"}`.
            min_score: The score that a hit needs to be an answer; the index's own by default, and
                none without `"rerank"`, whose scores it is meant for.
            candidates: How many rows are compared with the query.
            explain: Whether each hit has an `alignment`: which words attended to which.
            stages: Some of `"words"`, `"vectors"` and `"rerank"`; all by default. What a score is
                depends on them, see `softquery.search.query.stages`.

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
            stages=stages,
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
        stages: Iterable[str] | None = None,
    ) -> SearchResult:
        """As `search`, but also returns the next best rows, the time by stage, and the stages."""
        return self.steps(
            query,
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=stages,
        ).run()

    def search_many(
        self,
        queries: Texts,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
    ) -> list[SearchResult]:
        """As `find` for each of several queries, in their order, with several of them at a time.

        Raises:
            ConfigError: A query is empty or no text; then none is searched.
        """
        distinct = checked_queries(queries)
        used = checked_stages(stages, self.stages)
        searches = [
            self.steps(
                query,
                top_k=top_k,
                where=where,
                min_score=min_score,
                candidates=candidates,
                explain=explain,
                stages=used,
            )
            for query in dict.fromkeys(distinct)
        ]
        found = {each.query: each for each in run_searches(searches, self._models.threads)}
        return [found[query] for query in distinct]

    def steps(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
    ) -> SearchSteps:
        """As `find`, to be computed in steps between which others may have their turn."""
        used = checked_stages(stages, self.stages)
        if min_score is None and RERANK in used:
            min_score = self.min_score
        options = SearchOptions(
            top_k=top_k,
            where={} if where is None else where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=used,
        )
        return SearchSteps(self._store.segments, self._models, query, options)

    def add(
        self,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        language: str | None = None,
        advance: Advance = lambda done: None,
    ) -> Changes:
        """Add rows, and replace those with the same id; after a crash, all of them or none.

        Rows that are stored already, word for word, are left alone.

        Args:
            source: As for `build`.
            columns: Our column names mapped to those of the file.
            language: Rows in other languages are left out.
            advance: Called with the number of rows that are done.
        """
        if language is not None:
            check_language(language)
        given = read_source(source, columns=columns, language=language)
        entries = to_entries(given, self.matcher.pipeline.config)
        with self._store.writing():
            self.last_changes = add_rows(self._store, self._models, entries, advance=advance)
        return self.last_changes

    def delete(self, ids: Iterable[str]) -> Changes:
        """Delete rows by their ids, or by their questions.

        Raises:
            InputError: There is no such row; then nothing is deleted.
        """
        names = checked_ids(ids)
        with self._store.writing():
            self.last_changes = delete_rows(self._store, self._models, names)
        return self.last_changes

    def set_min_score(self, min_score: float | None) -> None:
        """Change the score that a hit needs to be an answer; None for the model's own threshold."""
        if min_score is not None:
            check_min_score(min_score)
        with self._store.writing():
            settings = replace(self._store.manifest.settings, min_score=min_score)
            self._store.commit(settings=settings)

    def compact(self) -> None:
        """Merge all segments into one without deleted rows."""
        with self._store.writing():
            compact(self._store, self._models)

    def refresh(self) -> bool:
        """Load what other processes have changed, and return whether there was anything."""
        return self._store.refresh()

    def rows(self) -> Iterator[dict[str, str]]:
        """Every row of the index, with its columns."""
        for segment in self._store.segments:
            for row in segment.live_rows:
                yield segment.cells.row(row)

    def duplicates(
        self, *, min_score: float = 0.9, advance: Advance = lambda done: None
    ) -> list[Duplicate]:
        """Rows that ask the same: with the same normalised question, or by the model's judgement.

        Args:
            min_score: The score from which two questions count as the same.
            advance: Called with the number of rows that are done.
        """
        check_min_score(min_score)
        return find_duplicates(
            self._store.segments, self._models, min_score=min_score, advance=advance
        )

    def size_bytes(self) -> dict[str, int]:
        """Bytes on disk by what they hold."""
        return folder_sizes(segment.folder for segment in self._store.segments)

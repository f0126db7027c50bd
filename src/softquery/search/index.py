"""An index of questions with their answers: it is built, changed and searched.

| stage | by | finds |
|---|---|---|
| recall by words | BM25 | rows that share informative words |
| recall by vectors | cosine | rows that mean about the same |
| fusion | reciprocal ranks | the first fifty of both lists |
| rerank | the matcher, over stored encodings | a calibrated probability per row |
| score | all of these, rivals included | how likely each row is to answer |
| threshold | `aim`, or `min_score` | the answers, or none |
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import ConfigError, InputError
from softquery.progress_display import showing
from softquery.runtime import Matcher, load_matcher
from softquery.runtime.opened_by import opened_by
from softquery.runtime.vectors.text_vectors import open_vectors
from softquery.search.aims import parse_aim
from softquery.search.changes.building import (
    Changes,
    add_rows,
    build_rows,
    compact,
    delete_rows,
    rebuild_rows,
)
from softquery.search.changes.further_texts import FurtherTexts
from softquery.search.changes.index_checks import (
    EXISTS,
    check_matcher,
    check_new,
    check_place,
    check_same,
    check_vectors,
    checked_ids,
    require_extra,
)
from softquery.search.changes.preparing import prepare
from softquery.search.index_view import Advance, IndexView
from softquery.search.languages.language_parts import has_parts, needed_parts, read_parts
from softquery.search.query.index_languages import check_language
from softquery.search.query.index_models import NO_AIM, IndexModels
from softquery.search.storage.entries import Source, read_source, to_entries
from softquery.search.storage.manifest import (
    AUTO,
    IndexSettings,
    Score,
    check_min_score,
    is_index,
)
from softquery.search.storage.store import Store, create
from softquery.search.tuning.known_answers import TuneSource, read_tune_rows
from softquery.search.tuning.tune_report import TuneReport


@opened_by("softquery.Index.open")
class Index(IndexView):
    """Questions and answers in a folder. Many threads may search at the same time.

    The view is that of the moment when the index was opened, or of the last `refresh`, `add` or
    `delete`; other processes may have changed the index since.

    Args:
        store: The folder.
        models: The models that encode rows and queries.
    """

    _store: Store

    def __init__(self, store: Store, models: IndexModels) -> None:
        super().__init__(store, models)
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
        progress: bool = False,
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
            progress: Whether to show that number, in a notebook or on the terminal.

        Raises:
            InputError: A row is bad, the folder exists already, or no model was named and the rows
                are in several languages, or in one that no shipped matcher reads.
        """
        if progress:
            with showing(True, "rows", None) as shown:
                return cls.build(
                    source, output, model=model, language=language, columns=columns,
                    settings=settings, threads=threads, advance=shown,
                )  # fmt: skip
        folder = Path(output)
        require_extra()
        if settings is not None and not isinstance(settings, IndexSettings):
            raise TypeError(f"settings must be IndexSettings(…), got {settings!r:.40}")
        settings = settings or IndexSettings()
        if has_parts(folder) and not read_parts(folder).unfinished:
            raise InputError(EXISTS, source=folder)
        if language is not None:
            check_language(language)
        if model is None:
            source = read_source(source, columns=columns, language=language)
            parts = needed_parts(source.languages) if language is None else None
            if parts is not None:
                from softquery.search.languages.language_index import LanguageIndex

                check_new(folder)
                return LanguageIndex.build_parts(source, folder, parts, settings, threads, advance)
        check_place(folder)
        models, entries, fresh, chosen = prepare(
            source, model, language, columns, settings, threads
        )
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
        if has_parts(Path(path)):
            from softquery.search.languages.language_index import LanguageIndex

            return LanguageIndex.open_parts(Path(path), model, threads)
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
        score: Score = AUTO,
        threads: int | None = None,
        advance: Advance = lambda done: None,
    ) -> "Index":
        """Encode all rows of an index again, with today's model of the same name or with another.

        Rows, ids, columns and settings stay. A `min_score` that was chosen for another matcher's
        scores, or for another score, is dropped, which `last_changes` tells. The index is as it was
        until the last row is encoded; then it changes at once.

        Args:
            path: The folder.
            model: Another matcher; the index's own by default, as it is installed now.
            vectors: Another source of vectors, as `IndexSettings.vectors`; by default the same.
            min_score: The score that a hit needs from now on.
            score: As `IndexSettings.score`; by default what a new index would have.
            threads: Threads of encoding and searching; None for all cores.
            advance: Called with the number of rows that are done.

        Raises:
            InputError: There is no index, it is damaged, another process writes it, or its first
                indexing was never finished.
        """
        require_extra()
        if min_score is not None:
            check_min_score(min_score)
        if has_parts(Path(path)):
            from softquery.search.languages.language_index import LanguageIndex

            if model is not None:
                message = "has a matcher for each language; rebuild a part to change its own"
                raise ConfigError(f"{path}: {message}")
            again = partial(
                cls.rebuild, vectors=vectors, min_score=min_score, score=score, threads=threads,
                advance=advance,
            )  # fmt: skip
            return LanguageIndex.rebuild_parts(Path(path), again)
        store = Store(Path(path))
        with store.writing():
            models, changes = rebuild_rows(
                store, model, vectors, min_score, score=score, threads=threads, advance=advance
            )
        index = cls(store, models)
        index.last_changes = changes
        return index

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
        texts = FurtherTexts(self.manifest.settings)
        entries = to_entries(given, self.matcher.pipeline.config, texts.expand)
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
        """Change the score that a hit needs to be an answer; None for what the aim asks for."""
        if min_score is not None:
            check_min_score(min_score)
        with self._store.writing():
            settings = replace(self._store.manifest.settings, min_score=min_score)
            self._store.commit(settings=settings)

    def set_aim(self, aim: str) -> None:
        """Change what the threshold is for; a `min_score` that was set before no longer counts.

        Args:
            aim: `"precision=0.95"`, or `"coverage=0.8"`.

        Raises:
            ConfigError: It is no aim, or the index has no learned score and was not tuned.
        """
        parse_aim(aim)
        if not self.has_learned_score and self.manifest.tuning is None:
            raise ConfigError(NO_AIM)
        with self._store.writing():
            settings = replace(self._store.manifest.settings, min_score=None, aim=aim)
            self._store.commit(settings=settings)

    def tune(
        self,
        queries: TuneSource,
        *,
        columns: Mapping[str, str] | None = None,
        aim: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        advance: Advance = lambda done: None,
        announce: Callable[[TuneReport], object] = lambda report: None,
    ) -> TuneReport:
        """Fit score and threshold to queries: those whose answers are known, or a log alone.

        What the tuning gains is measured by cross-validation. Where that is not surely better, the
        index stays as it is. Tuning once more begins again from the shipped score.

        Args:
            queries: A file or an iterable of mappings with `query` and `doc`, the id or question of
                a row that answers it or nothing, and optionally `relevance`; or a log of clicks
                with `query`, `shown` and `chosen`; or queries alone, which move the threshold.
            columns: Our column names mapped to those of the file.
            aim: What the threshold is for, such as `"coverage=0.8"`; the index's own by default.
            force: Whether to change the index also where that is not surely better.
            dry_run: Whether to measure alone.
            advance: Called with the number of queries that are done.
            announce: Called with the report before the index is changed.

        Raises:
            InputError: A row is bad or names rows that the index lacks, there are too few, or
                another process writes the index.
        """
        from softquery.search.tuning.tune_index import tune_index
        from softquery.search.tuning.tune_options import TuneOptions

        rows = read_tune_rows(queries, columns)
        options = TuneOptions(
            aim=aim,
            is_forced=force,
            is_dry=dry_run,
            threads=self._models.threads,
            advance=advance,
            announce=announce,
        )
        if dry_run:
            return tune_index(self, self._store, rows, options)
        with self._store.writing():
            return tune_index(self, self._store, rows, options)

    def untune(self) -> None:
        """Go back to the score and the threshold that the index had before it was tuned.

        Raises:
            ConfigError: It was not tuned.
        """
        from softquery.search.tuning.tune_index import undo_tuning

        with self._store.writing():
            undo_tuning(self._store)

    def compact(self) -> None:
        """Merge all segments into one without deleted rows."""
        with self._store.writing():
            compact(self._store, self._models)

"""An index whose rows are in several languages, each searched with the models that read it.

A part is an index like any other, in a folder named after its language. Rows go to the part of
their language, and those that tell none to the main one, which had most rows at first. A query is
asked of the part of its language; one that tells none, or is in another language, is asked of all,
and hits are ordered by their scores, which are probabilities and mean the same in each.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path

from softquery.atomic import atomic_folder
from softquery.errors import ConfigError, InputError
from softquery.files import Row
from softquery.runtime import Matcher
from softquery.search.changes.building import Changes
from softquery.search.changes.duplicates import Duplicate
from softquery.search.changes.index_checks import checked_ids
from softquery.search.index import Index
from softquery.search.index_view import Advance
from softquery.search.languages.joined_search import JoinedSearch
from softquery.search.languages.language_parts import LanguageParts, read_parts, rows_by_part
from softquery.search.languages.part_changes import (
    is_unfinished,
    names_of,
    onwards,
    removed_elsewhere,
    summed,
)
from softquery.search.query.filters import Where
from softquery.search.query.index_languages import (
    check_language,
    counted_languages,
)
from softquery.search.query.retrieval import GivenOptions
from softquery.search.query.search_steps import AnySearch
from softquery.search.storage.entries import ID, Source, SourceRows, read_source
from softquery.search.storage.index_folder import LOCK, refuse_link
from softquery.search.storage.manifest import IndexSettings
from softquery.search.storage.segment import Segment
from softquery.search.storage.store import locked
from softquery.search.tuning.known_answers import TuneSource, read_tune_rows
from softquery.search.tuning.tune_report import TuneReport
from softquery.text.languages import language_of
from softquery.zoo.by_language import SHIPPED_MATCHERS

LEAST_QUERIES = 20
"""Queries in a language that its part can be tuned on."""


class LanguageIndex(Index):
    """Questions and answers in several languages. Many threads may search at the same time.

    Args:
        folder: The index.
        parts: The index of each language.
        main: The language of the part that takes rows which tell none.
    """

    def __init__(self, folder: Path, parts: Mapping[str, Index], main: str) -> None:
        first = parts[main]
        super().__init__(first._store, first.models)
        self._folder, self.parts, self.main = folder, dict(parts), main

    @classmethod
    def build_parts(
        cls,
        given: SourceRows,
        folder: Path,
        parts: LanguageParts,
        settings: IndexSettings,
        threads: int | None,
        advance: Advance,
    ) -> "LanguageIndex":
        """Build an index with a part for each language; see `Index.build`.

        If the process is interrupted, the same call continues from there.
        """
        if settings.vectors not in ("auto", "words", "states"):
            message = "an index in several languages has vectors of its own for each"
            raise ConfigError(f"{message}, got {settings.vectors!r:.60}")
        if not folder.exists():
            with atomic_folder(folder) as place:
                (place / LOCK).touch()
                replace(parts, unfinished=True).write(place)
        elif read_parts(folder).languages != parts.languages:
            raise InputError("was begun with rows in other languages; remove it", source=folder)
        made: dict[str, Index] = {}
        done = 0
        with locked(folder / LOCK, folder):
            split = rows_by_part(given, parts)
            for code in parts.languages:
                place = folder / code
                if (place / "manifest.json").is_file() and not is_unfinished(place):
                    made[code] = Index.open(place, threads=threads)
                    made[code].add(split[code])
                else:
                    made[code] = Index.build(
                        split[code],
                        place,
                        model=SHIPPED_MATCHERS[code],
                        settings=settings,
                        threads=threads,
                        advance=onwards(advance, done),
                    )
                done += len(split[code].rows)
            parts.write(folder)
        index = cls(folder, made, parts.main)
        known = {code: count for code, count in given.languages.items() if code is not None}
        names = " and ".join(SHIPPED_MATCHERS[code] for code in parts.languages)
        order = dict(sorted(known.items(), key=lambda each: -each[1]))
        chosen = f"{names} are chosen, each for its language: {counted_languages(order)}"
        index.last_changes = replace(index._total(), chosen=chosen)
        return index

    @classmethod
    def open_parts(
        cls, folder: Path, model: str | PathLike[str] | Matcher | None, threads: int | None
    ) -> "LanguageIndex":
        """Open an index with a part for each language; see `Index.open`.

        Args:
            folder: The index.
            model: An open matcher, which the part takes that was made with it; others open theirs.
            threads: Threads of one search.
        """
        if model is not None and not isinstance(model, Matcher):
            raise ConfigError(f"{folder}: has a matcher for each language; --model names one")
        parts = read_parts(folder)
        if parts.unfinished:
            message = "was never finished: give the command that began it again"
            raise InputError(message, source=folder)
        refuse_link(folder)
        found: dict[str, Index] = {}
        for code in parts.languages:
            own = isinstance(model, Matcher) and model.bundle.path.name == SHIPPED_MATCHERS[code]
            found[code] = Index.open(folder / code, model=model if own else None, threads=threads)
        return cls(folder, found, parts.main)

    @classmethod
    def rebuild_parts(cls, folder: Path, rebuild: Callable[[Path], Index]) -> "LanguageIndex":
        """Encode all rows of each part again, one part after the other; see `Index.rebuild`."""
        parts = read_parts(folder)
        with locked(folder / LOCK, folder):
            found = {code: rebuild(folder / code) for code in parts.languages}
        index = cls(folder, found, parts.main)
        index.last_changes = index._total()
        return index

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts.values())

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of all parts."""
        return tuple(segment for part in self.parts.values() for segment in part.segments)

    @property
    def tuning(self) -> TuneReport | None:
        """What the first part that was tuned was tuned on; None if none was."""
        found = [part.tuning for part in self.parts.values() if part.tuning is not None]
        return found[0] if found else None

    @property
    def model_names(self) -> tuple[str, ...]:
        """The matcher of each part."""
        return tuple(part.manifest.model for part in self.parts.values())

    def matcher_for(self, text: str) -> Matcher:
        """The matcher that compares a query."""
        return self.parts[self._asked(text)[0]].matcher

    def _begun(self, query: str, given: GivenOptions) -> AnySearch:
        """A search of the parts that a query is asked of."""
        searches = [
            self.parts[code]._begun(query, replace(given, where=self._known(given.where, code)))
            for code in self._asked(query)
        ]
        return searches[0] if len(searches) == 1 else JoinedSearch(searches)

    def rows(self) -> Iterator[dict[str, str]]:
        """Every row of the index, with its columns, part by part."""
        for part in self.parts.values():
            yield from part.rows()

    def refresh(self) -> bool:
        """Load what other processes have changed, and return whether there was anything."""
        return any([part.refresh() for part in self.parts.values()])

    def add(
        self,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        language: str | None = None,
        advance: Advance = lambda done: None,
    ) -> Changes:
        """Add rows to the parts of their languages; see `Index.add`.

        After a crash, those of each language are there or are not. The same call completes it.
        """
        if language is not None:
            check_language(language)
        given = read_source(source, columns=columns, language=language)
        parts = LanguageParts(languages=tuple(self.parts), main=self.main)
        split = rows_by_part(given, parts)
        with locked(self._folder / LOCK, self._folder):
            done = 0
            changes = []
            for code, rows in split.items():
                changes.append(self.parts[code].add(rows, advance=onwards(advance, done)))
                done += len(rows.rows)
            moved = removed_elsewhere(self.parts, split)
        total = summed(changes)
        self.last_changes = replace(total, added=total.added - moved, updated=total.updated + moved)
        return self.last_changes

    def delete(self, ids: Iterable[str]) -> Changes:
        """Delete rows by their ids, or by their questions, from all parts that have them.

        Raises:
            InputError: There is no such row; then nothing is deleted.
        """
        names = dict.fromkeys(checked_ids(ids))
        with locked(self._folder / LOCK, self._folder):
            self.refresh()
            known = {code: names_of(part) for code, part in self.parts.items()}
            for name in names:
                if not any(name in each for each in known.values()):
                    message = f"no row has the id or the question {name!r:.80}"
                    raise InputError(message, source=self._folder)
            for code, part in self.parts.items():
                its_own = [name for name in names if name in known[code]]
                if its_own:
                    part.delete(its_own)
        self.last_changes = Changes(deleted=len(names))
        return self.last_changes

    def set_min_score(self, min_score: float | None) -> None:
        """Change the score that a hit needs, in all parts."""
        for part in self.parts.values():
            part.set_min_score(min_score)

    def set_aim(self, aim: str) -> None:
        """Change what the threshold is for, in all parts."""
        for part in self.parts.values():
            part.set_aim(aim)

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
        """Refused, because each part is tuned on the queries in its language: see `tune_parts`.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"{self._folder}: has a part for each language; tune_parts tunes them")

    def tune_parts(
        self,
        queries: TuneSource,
        *,
        columns: Mapping[str, str] | None = None,
        aim: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        advance: Advance = lambda done: None,
        announce: Callable[[str, TuneReport], object] = lambda language, report: None,
    ) -> dict[str, TuneReport]:
        """Fit each part to the queries in its language; see `Index.tune`.

        Queries that tell no language are those of the main part, and answers that only another part
        has are left out. Parts with fewer than 20 queries stay as they are.

        Args:
            queries: As for `Index.tune`.
            columns: Our column names mapped to those of the file.
            aim: What the threshold is for.
            force: Whether to change parts also where that is not surely better.
            dry_run: Whether to measure alone.
            advance: Called with the number of queries that are done.
            announce: Called with a language and its report before that part is changed.

        Raises:
            InputError: No part has enough queries, a row is bad, or another process writes.
        """
        found: dict[str, TuneReport] = {}
        done = 0
        by_part = self._by_part(read_tune_rows(queries, columns))
        for code, rows in by_part.items():
            if len({row["query"] for row in rows}) < LEAST_QUERIES:
                continue
            found[code] = self.parts[code].tune(
                rows,
                aim=aim,
                force=force,
                dry_run=dry_run,
                advance=onwards(advance, done),
                announce=partial(announce, code),
            )
            done += found[code].num_queries
        if not found:
            counts = ", ".join(f"{len(rows):,} in {code}" for code, rows in by_part.items())
            message = f"no language has {LEAST_QUERIES} queries to tune its part on, found {counts}"
            raise InputError(message, source=self._folder)
        return found

    def _by_part(self, rows: Iterable[Row]) -> dict[str, list[Mapping[str, str]]]:
        """Labelled queries by language, without answers that only another part has."""
        names = {code: names_of(part) for code, part in self.parts.items()}
        found: dict[str, list[Mapping[str, str]]] = {}
        for row in rows:
            code = self._asked(row.values["query"])[0]
            doc = row.values.get("doc", "").strip()
            others = [names[each] for each in self.parts if each != code]
            if doc and doc not in names[code] and any(doc in each for each in others):
                continue
            found.setdefault(code, []).append(row.values)
        return found

    def untune(self) -> None:
        """Go back to score and threshold before tuning, in all parts that were tuned.

        Raises:
            ConfigError: None was.
        """
        tuned = [part for part in self.parts.values() if part.tuning is not None]
        if not tuned:
            raise ConfigError(f"{self._folder}: was not tuned, so that there is nothing to undo")
        for part in tuned:
            part.untune()

    def compact(self) -> None:
        """Merge all segments of each part into one without deleted rows."""
        for part in self.parts.values():
            part.compact()

    def duplicates(
        self, *, min_score: float = 0.9, advance: Advance = lambda done: None
    ) -> list[Duplicate]:
        """Rows of one language that ask the same; see `Index.duplicates`."""
        found = []
        done = 0
        for part in self.parts.values():
            found += part.duplicates(min_score=min_score, advance=onwards(advance, done))
            done += len(part)
        return sorted(found, key=lambda each: (not each.is_exact, -each.score))

    def size_bytes(self) -> dict[str, int]:
        """Bytes on disk by what they hold."""
        total: dict[str, int] = {}
        for part in self.parts.values():
            for name, count in part.size_bytes().items():
                total[name] = total.get(name, 0) + count
        return total

    def _asked(self, query: object) -> list[str]:
        """The parts that a query is asked of: that of its language, or all, the main one first."""
        code = language_of(query) if isinstance(query, str) else None
        if code in self.parts:
            return [str(code)]
        return [self.main, *(each for each in self.parts if each != self.main)]

    def _known(self, where: Where | None, code: str) -> Where | None:
        """Conditions as a part can check them: a column that only others have is met by no row."""
        columns = self.parts[code].manifest.columns
        missing = [] if not isinstance(where, Mapping) else [c for c in where if c not in columns]
        others = {name for part in self.parts.values() for name in part.manifest.columns}
        if not where or not missing or not others.issuperset(missing):
            return where
        return {ID: []}

    def _total(self) -> Changes:
        return summed([part.last_changes for part in self.parts.values()])

"""An index in a database: built, changed and searched as one in a folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import ConfigError, InputError
from softquery.runtime import Matcher, load_matcher
from softquery.runtime.vectors.text_vectors import open_vectors
from softquery.search.aims import parse_aim
from softquery.search.changes.building import Changes, num_cut_of
from softquery.search.changes.duplicates import Duplicate
from softquery.search.changes.further_texts import FurtherTexts
from softquery.search.changes.index_checks import (
    check_matcher,
    check_vectors,
    checked_ids,
    require_extra,
)
from softquery.search.changes.preparing import prepare
from softquery.search.index_view import Advance, IndexView
from softquery.search.query.index_languages import check_language, languages_read, unread_rows
from softquery.search.query.index_models import NO_AIM, IndexModels
from softquery.search.query.searched_rows import SearchedRows
from softquery.search.score.index_facts import IndexFacts
from softquery.search.storage.entries import (
    ID,
    MATCHED,
    WEIGHT,
    Entries,
    Source,
    ordered_columns,
    read_source,
    to_entries,
)
from softquery.search.storage.manifest import IndexSettings, Manifest, check_min_score
from softquery.search.storage.searched_texts import SEPARATOR, groups
from softquery.search.storage.segment import Segment, SegmentShape
from softquery.search.storage.tuning_files import StoredTuning
from softquery.search.stores.address import StoreAddress, parse_store
from softquery.search.stores.encoded import encoded_rows, packer_of
from softquery.search.stores.row_store import RowStore, StoreState, open_store
from softquery.search.stores.store_facts import current_facts, is_outdated, measure_store
from softquery.search.stores.store_rows import StoreRows, in_order

COMMIT_ROWS = 5000
"""Rows that the first indexing commits together."""
COMPARED_ROWS = 1000
"""Rows that are looked up together to see whether they are stored already."""
PROBED = 32
"""Further texts of a row that are looked up together."""
SAMPLED_ROWS = 20_000
"""Rows that tell how many words a usual row has."""


class StateView:
    """The state of an index in a store as one process sees it; see `ReadableStore`."""

    segments: tuple[Segment, ...] = ()
    tuning: StoredTuning | None = None

    def __init__(self, store: RowStore, address: StoreAddress) -> None:
        self.store, self.folder = store, Path(address.name)
        self.state: StoreState = store.state()
        self._given: tuple[StoreState, int] | None = None

    @property
    def manifest(self) -> Manifest:
        """The manifest of that state."""
        return self.state.manifest

    @property
    def num_given(self) -> int:
        """How many rows there are, without the further texts of others; counted once a state."""
        state = self.state
        if MATCHED not in state.manifest.columns:
            return state.num_rows
        if self._given is None or self._given[0] != state:
            self._given = state, state.num_rows - self.store.num_further()
        return self._given[1]

    def require_shape(self, shape: SegmentShape) -> None:
        """Nothing to check: encodings are checked when they are read."""

    def refresh(self) -> bool:
        """Load what others have changed, and return whether there was anything."""
        state = self.store.state()
        if state.manifest.models != self.manifest.models:
            message = "was built anew with another model in the meantime; open it again"
            raise InputError(message, source=self.store.address)
        is_other, self.state = state != self.state, state
        return is_other


class StoreIndex(IndexView):
    """Questions and answers in a database. Many threads and processes may search and write it.

    A change is seen by others when it is complete; this process sees the changes of others after
    `refresh` in what it tells of the index, and at once in what it finds.

    Args:
        store: The database.
        address: Where it lies.
        models: The models that encode rows and queries.
    """

    _store: StateView

    def __init__(self, store: RowStore, address: StoreAddress, models: IndexModels) -> None:
        super().__init__(StateView(store, address), models)
        self._packer = packer_of(models.shape(self.manifest.columns))
        self.last_changes = Changes()

    @classmethod
    def build(
        cls,
        source: Source,
        address: str,
        *,
        model: str | PathLike[str] | None = None,
        language: str | None = None,
        columns: Mapping[str, str] | None = None,
        settings: IndexSettings | None = None,
        threads: int | None = None,
        advance: Advance = lambda done: None,
    ) -> "StoreIndex":
        """Build an index of the questions in a file; see `Index.build`.

        Args:
            source: As for `Index.build`.
            address: Such as `"postgresql://db.example/shop#faq"`.
            model: The matcher.
            language: Rows in other languages are left out.
            columns: Our column names mapped to those of the file.
            settings: What is stored, and how.
            threads: Threads of indexing and searching; None for all cores.
            advance: Called with the number of rows that are done.

        Raises:
            InputError: A row is bad, the index exists already, or the database refuses.
        """
        require_extra()
        place = parse_store(address)
        store = open_store(place)
        if store.exists() and not store.state().manifest.unfinished:
            message = "exists already; --add adds and replaces rows"
            raise InputError(message, source=store.address)
        models, entries, fresh, chosen = prepare(
            source, model, language, columns, settings or IndexSettings(), threads
        )
        usual = [models.words(row) for row in islice(entries.rows.values(), SAMPLED_ROWS)]
        begin(store, fresh, sum(map(len, usual)) / max(1, len(usual)))
        index = cls(store, place, models)
        index.last_changes = replace(index._add(entries, advance, is_first=True), chosen=chosen)
        index.complete()
        return index

    @classmethod
    def open(
        cls,
        address: str,
        *,
        model: str | PathLike[str] | Matcher | None = None,
        threads: int | None = None,
    ) -> "StoreIndex":
        """Open an index in a database; see `Index.open`.

        Args:
            address: Such as `"postgresql://db.example/shop#faq"`.
            model: The folder of its matcher, if that was moved; or an open matcher.
            threads: Threads of one search; None for all cores.

        Raises:
            InputError: There is no such index, or it was built with another model.
        """
        require_extra()
        place = parse_store(address)
        store = open_store(place)
        manifest = store.state().manifest
        if isinstance(model, Matcher):
            matcher, model = model, model.bundle.path
        else:
            matcher = load_matcher(manifest.model if model is None else model, threads=threads)
        check_matcher(store.address, manifest, matcher, None if model is None else fspath(model))
        vectors = open_vectors(manifest.vector_source, matcher, threads=threads)
        check_vectors(store.address, manifest, vectors)
        return cls(store, place, IndexModels(matcher, vectors, manifest.settings, threads=threads))

    def __len__(self) -> int:
        return self._store.num_given

    @property
    def address(self) -> str:
        """Where the index lies, as it is typed."""
        return self.store.address

    @property
    def store(self) -> RowStore:
        """The database."""
        return self._store.store

    def add(
        self,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        language: str | None = None,
        advance: Advance = lambda done: None,
    ) -> Changes:
        """Add rows, and replace those with the same id; see `Index.add`."""
        if language is not None:
            check_language(language)
        given = read_source(source, columns=columns, language=language)
        texts = FurtherTexts(self.manifest.settings)
        entries = to_entries(given, self.matcher.pipeline.config, texts.expand)
        self.last_changes = self._add(entries, advance)
        self._after_change()
        return self.last_changes

    def delete(self, ids: Iterable[str]) -> Changes:
        """Delete rows by their ids, or by their questions.

        Raises:
            InputError: There is no such row; then nothing is deleted.
        """
        names = checked_ids(ids)
        there = self.store.stored(names)
        gone: dict[str, None] = {}
        for name in names:
            found = [name] if name in there else self.store.ids_of_question(name)
            found = [key for key in found if SEPARATOR not in key]
            if not found:
                message = f"no row has the id or the question {name!r:.80}"
                raise InputError(message, source=self.address)
            gone.update(dict.fromkeys(found))
        further = [each for key in gone for each in self._further(key, 1)]
        self.store.delete([*gone, *further])
        self.last_changes = Changes(deleted=len(gone))
        self._after_change()
        return self.last_changes

    def set_min_score(self, min_score: float | None) -> None:
        """Change the score that a hit needs to be an answer; None for what the aim asks for."""
        if min_score is not None:
            check_min_score(min_score)
        self._set(replace(self.store.state().manifest.settings, min_score=min_score))

    def set_aim(self, aim: str) -> None:
        """Change what the threshold is for; a `min_score` that was set before no longer counts.

        Raises:
            ConfigError: It is no aim, or the index has no learned score.
        """
        parse_aim(aim)
        if not self.has_learned_score:
            raise ConfigError(NO_AIM)
        self._set(replace(self.store.state().manifest.settings, min_score=None, aim=aim))

    def rows(self) -> Iterator[dict[str, str]]:
        """Every row of the index, with its columns."""
        for row in self.store.scan():
            if MATCHED in row.columns:
                continue
            yield in_order(row.columns, self.manifest.columns)

    def duplicates(
        self, *, min_score: float = 0.9, advance: Advance = lambda done: None
    ) -> list[Duplicate]:
        """Refused: duplicates are looked for in folders.

        Raises:
            ConfigError: Always; it says how to get a folder.
        """
        message = "duplicates are looked for in a folder; softquery index --from ADDRESS --output"
        raise ConfigError(f"{message} FOLDER makes one of this index")

    def size_bytes(self) -> dict[str, int]:
        """Bytes in the database by what they hold, as far as it tells."""
        return self.store.size_bytes()

    def complete(self, facts: IndexFacts | None = None) -> None:
        """Make searching fast after the first rows, measure them, and say that all are there.

        Args:
            facts: How alike the rows are, if that was measured elsewhere.
        """
        self.store.finish()
        state = self.store.state()
        manifest = replace(state.manifest, unfinished=False)
        known = measure_store(self.store) if facts is None else facts
        self.store.commit(replace(state, manifest=manifest, facts=known))
        self.refresh()

    def compact(self) -> None:
        """Make searching fast again after many changes, and measure the rows anew."""
        self.complete()

    def close(self) -> None:
        """Give connections back."""
        self.store.close()

    def _searched(self) -> tuple[SearchedRows, Callable[[], IndexFacts]]:
        state = self._store.state
        rows = StoreRows(self.store, self._packer, self._models, state.manifest.columns)
        return rows, lambda: current_facts(state)

    def _set(self, settings: IndexSettings) -> None:
        state = self.store.state()
        self.store.commit(replace(state, manifest=replace(state.manifest, settings=settings)))
        self.refresh()

    def _after_change(self) -> None:
        state = self.store.state()
        if is_outdated(state):
            self.store.commit(replace(state, facts=measure_store(self.store)))
        self.refresh()

    def _add(self, entries: Entries, advance: Advance, *, is_first: bool = False) -> Changes:
        """Add what is not there yet: the first rows in several changes, later ones in one."""
        changed: list[list[Mapping[str, str]]] = []
        outdated: list[str] = []
        num_replaced = 0
        every = iter(groups(list(entries.rows.values())))
        while part := list(islice(every, COMPARED_ROWS)):
            there = self.store.stored([row[ID] for group in part for row in group])
            for group in part:
                key = group[0][ID]
                more = self._further(key, len(group)) if key in there else []
                if not more and all(there.get(row[ID]) == row for row in group):
                    continue
                num_replaced += key in there
                outdated += more
                changed.append(group)
        rows = [row for group in changed for row in group]
        done = len(entries.rows) - len(rows) if is_first else 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            advance(done)

        columns = ordered_columns(self.manifest.columns, rows)
        step = COMMIT_ROWS if is_first else max(1, len(rows))
        for start in range(0, len(rows), step):
            part_of_rows = rows[start : start + step]
            encoded = encoded_rows(self._models, self._packer, part_of_rows, count)
            self.store.add(encoded, columns)
        if outdated:
            self.store.delete(outdated)
        num_given = sum(MATCHED not in row for row in entries.rows.values())
        return Changes(
            added=len(changed) - num_replaced,
            updated=num_replaced,
            unchanged=num_given - len(changed),
            num_cut=num_cut_of(self._models, rows),
            num_weighted=sum(bool(group[0].get(WEIGHT)) for group in changed),
            repeats=entries.repeats,
            unread=unread_rows(entries.languages, languages_read(self.matcher.bundle)),
        )

    def _further(self, key: str, first: int) -> list[str]:
        """The ids of the further texts of a row that are stored, from a number on."""
        found: list[str] = []
        if MATCHED not in self.manifest.columns:
            return found
        while True:
            names = [f"{key}{SEPARATOR}{first + more}" for more in range(PROBED)]
            there = self.store.stored(names)
            found += [name for name in names if name in there]
            if len(there) < PROBED:
                return found
            first += PROBED


def begin(store: RowStore, fresh: Manifest, usual_length: float) -> None:
    """Make an index without rows, or go on with one that was begun with the same models.

    Raises:
        InputError: It was begun with others.
    """
    if not store.exists():
        store.create(StoreState(fresh, usual_length=max(1.0, usual_length)))
        return
    there = store.state().manifest
    same = ("fingerprint", "vector_source", "vector_fingerprint", "settings")
    if any(getattr(there, name) != getattr(fresh, name) for name in same):
        message = "was begun with another model or other settings; remove it to start over"
        raise InputError(message, source=store.address)

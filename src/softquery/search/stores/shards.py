"""Several indexes in folders that are searched as one.

A search goes through the segments of all of them as through those of one index: the counts behind
BM25 are summed, the lists of recall are merged before rows are compared, and so scores are those
that one index with the same segments would give.
"""

from collections.abc import Sequence
from dataclasses import replace
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path

from softquery.errors import InputError
from softquery.runtime import Matcher, load_matcher
from softquery.runtime.vectors.text_vectors import open_vectors
from softquery.search.changes.index_checks import check_matcher, check_vectors, require_extra
from softquery.search.index_view import IndexView
from softquery.search.query.index_models import IndexModels
from softquery.search.storage.entries import ordered_columns
from softquery.search.storage.manifest import Manifest, is_index
from softquery.search.storage.segment import Segment, SegmentShape
from softquery.search.storage.store import Store
from softquery.search.storage.tuning_files import StoredTuning


def is_pattern(address: str | PathLike[str]) -> bool:
    """Whether an address stands for several folders, such as `shards/*.sq`."""
    text = fspath(address)
    return has_magic(text) and not Path(text).exists()


def shards_of(pattern: str) -> list[Path]:
    """The indexes that a pattern stands for, by name.

    Raises:
        InputError: There are none.
    """
    found = [Path(name) for name in sorted(glob(pattern)) if is_index(Path(name))]
    if not found:
        raise InputError("no index has such a name", source=pattern)
    return found


class ShardedStore:
    """Several folders as one store to read from; see `ReadableStore`.

    Args:
        pattern: Their names.

    Raises:
        InputError: There are none, one is damaged, or they do not go together.
    """

    tuning: StoredTuning | None = None

    def __init__(self, pattern: str) -> None:
        self.folder = Path(pattern)
        self._pattern = pattern
        self._shape: SegmentShape | None = None
        self.stores = [Store(folder) for folder in shards_of(pattern)]
        self.manifest, self.segments = _together(self.stores)

    def require_shape(self, shape: SegmentShape) -> None:
        """Refuse segments, also later ones, that other models have written."""
        self._shape = shape
        for store in self.stores:
            store.require_shape(shape)

    def refresh(self) -> bool:
        """Load what has changed in any of them, and which of them there are."""
        known = {store.folder: store for store in self.stores}
        folders = shards_of(self._pattern)
        changed = folders != list(known)
        stores = []
        for folder in folders:
            if folder in known:
                changed |= known[folder].refresh()
                stores.append(known[folder])
                continue
            store = Store(folder)
            if self._shape is not None:
                store.require_shape(self._shape)
            stores.append(store)
        if changed:
            self.manifest, self.segments = _together(stores)
            self.stores = stores
        return changed


def _together(stores: Sequence[Store]) -> tuple[Manifest, tuple[Segment, ...]]:
    """One manifest for all, and all segments in the order of the folders."""
    first, *others = stores
    for store in others:
        if store.manifest.models != first.manifest.models:
            message = f"was made with another model than {first.folder}, and both are searched as"
            raise InputError(f"{message} one", source=store.folder)
        if store.manifest.settings != first.manifest.settings:
            message = f"has other settings than {first.folder}, such as another min_score or aim"
            raise InputError(message, source=store.folder)
    for store in stores:
        if store.tuning is not None:
            message = "was tuned, which counts for that index alone; softquery tune --undo"
            raise InputError(f"{message} {store.folder} takes it back", source=store.folder)
    columns = ordered_columns(
        first.manifest.columns, [dict.fromkeys(store.manifest.columns, "") for store in stores]
    )
    manifest = replace(
        first.manifest,
        generation=sum(store.manifest.generation for store in stores),
        columns=columns,
        unfinished=any(store.manifest.unfinished for store in stores),
        segments=tuple(entry for store in stores for entry in store.manifest.segments),
    )
    return manifest, tuple(segment for store in stores for segment in store.segments)


class ShardedIndex(IndexView):
    """Several indexes in folders, searched as one; each is changed by itself.

    Args:
        store: The folders.
        models: The models that encode queries.
    """

    _store: ShardedStore

    @classmethod
    def open(
        cls,
        pattern: str,
        *,
        model: str | PathLike[str] | Matcher | None = None,
        threads: int | None = None,
    ) -> "ShardedIndex":
        """Open all indexes whose names fit a pattern.

        A folder that appears later is searched after the next `refresh`.

        Args:
            pattern: Such as `"shards/*.sq"`.
            model: The folder of their matcher, if that was moved; or an open matcher.
            threads: Threads of one search; None for all cores.

        Raises:
            InputError: There are none, one is damaged, or they do not go together.
        """
        require_extra()
        store = ShardedStore(pattern)
        manifest, first = store.manifest, store.stores[0].folder
        if isinstance(model, Matcher):
            matcher, model = model, model.bundle.path
        else:
            matcher = load_matcher(manifest.model if model is None else model, threads=threads)
        check_matcher(first, manifest, matcher, None if model is None else fspath(model))
        vectors = open_vectors(manifest.vector_source, matcher, threads=threads)
        check_vectors(first, manifest, vectors)
        return cls(store, IndexModels(matcher, vectors, manifest.settings, threads=threads))

    @property
    def shards(self) -> list[Path]:
        """The folders."""
        return [store.folder for store in self._store.stores]

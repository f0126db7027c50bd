"""An index made anew with today's models: the same rows, encoded again, in one commit.

All rows are written as one new segment beside those that are there. When it is complete, one new
manifest names it together with the models that made it. Until then the index is what it was. What
an interrupted run leaves behind, the next writer removes.
"""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike

from softquery.errors import InputError
from softquery.runtime.vectors.text_vectors import ENCODING, STATES
from softquery.search.building import Changes, write_rows
from softquery.search.entries import QUESTION
from softquery.search.index_models import (
    IndexModels,
    fingerprint,
    open_models,
    portable,
    vector_fingerprint,
)
from softquery.search.manifest import Manifest
from softquery.search.store import Store

Advance = Callable[[int], object]


def rebuild_rows(
    store: Store,
    model: str | PathLike[str] | None,
    vectors: str | None,
    min_score: float | None,
    *,
    threads: int | None,
    advance: Advance,
) -> tuple[IndexModels, Changes]:
    """Encode every row again and commit the result; see `Index.rebuild`.

    Args:
        store: The index, which this process is writing.
        model: The matcher; None for that of the index.
        vectors: The source of vectors; None for that of the index.
        min_score: The score that a hit needs; None for that of the index, if it still applies.
        threads: Threads of encoding; None for all cores.
        advance: Called with the number of rows that are done.
    """
    before = store.manifest
    if before.unfinished:
        message = "was never finished: give the command that began it again, or remove it and "
        raise InputError(f"{message}start over if its model was replaced", source=store.folder)
    name = before.model if model is None else portable(model)
    source = vectors or _kept_source(before)
    models = open_models(name, replace(before.settings, vectors=source), threads)
    mark = fingerprint(models.matcher.bundle)
    dropped: dict[str, float] = {}
    if min_score is None:
        min_score = before.settings.min_score
        if min_score and mark != before.fingerprint:  # at 0, any matcher's every hit is an answer
            dropped, min_score = {"min_score": min_score}, None
    after = replace(
        before,
        model=name,
        fingerprint=mark,
        vector_source=models.settings.vectors,
        vector_fingerprint=vector_fingerprint(models.vectors),
        vector_size=models.vectors.size,
        settings=replace(models.settings, min_score=min_score),
        segments=(),
    )
    rows = [segment.cells.row(row) for segment in store.segments for row in segment.live_rows]
    if rows:
        after = replace(after, segments=(write_rows(store, models, rows, advance),))
    store.become(after)
    num_cut = models.matcher.num_cut([row[QUESTION] for row in rows])
    return models, Changes(rebuilt=len(rows), num_cut=num_cut, dropped=dropped)


def _kept_source(manifest: Manifest) -> str:
    """The source of vectors that stays; a matcher's own may take another form in the next one."""
    source = manifest.vector_source
    return "auto" if source in (STATES, ENCODING) else source

"""A search in a store: the engine recalls rows, and every score is computed here.

N rows, D width of a vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError
from softquery.search.query.index_models import IndexModels, QueryWords
from softquery.search.query.misspelt import MORE_USUAL, replaced
from softquery.search.query.retrieval import (
    FUSION,
    MOST_CANDIDATES,
    RecallResult,
    RowPlace,
    SearchOptions,
    fuse,
)
from softquery.search.query.stages import RERANK, VECTORS, WORDS
from softquery.search.storage.entries import MATCHED
from softquery.search.storage.packed_encodings import EncodingPacker
from softquery.search.storage.searched_texts import read_text
from softquery.search.storage.spelling import LONG, Spellings, is_spelt
from softquery.search.storage.word_recall import most_weight, query_weights
from softquery.search.stores.row_store import RecallRequest, RowStore, StoredRow
from softquery.search.stores.word_weights import bm25, kept_word

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FoundWordScores:
    """BM25 of the rows that were recalled; see `RowWordScores`."""

    by_place: Mapping[RowPlace, float]
    most: float

    def of(self, places: Sequence[RowPlace]) -> Floats:
        """BM25 of some of the rows that were recalled: [N]."""
        return np.array([self.by_place[place] for place in places], dtype=np.float32)


class StoreRows:
    """The rows of a store as one search sees them; see `SearchedRows`.

    Args:
        store: Recalls rows.
        packer: Reads their encodings; None if the index stores none.
        models: The models of the index.
        columns: All columns, in their order; engines keep none.
    """

    def __init__(
        self,
        store: RowStore,
        packer: EncodingPacker | None,
        models: IndexModels,
        columns: Sequence[str],
    ) -> None:
        self._store, self._packer, self._models = store, packer, models
        self._columns = columns
        self._rows: dict[RowPlace, StoredRow] = {}
        self._packed: dict[RowPlace, bytes] = {}

    def recall(self, models: IndexModels, text: str, options: SearchOptions) -> RecallResult:
        """See `SearchedRows`."""
        stages, count = options.stages, max(options.candidates, options.top_k)
        times = [perf_counter()]
        if WORDS in stages:
            text = self._spelt_right(models, text)
        if RERANK in stages:
            models.matcher.encodings([text])  # which keeps it for the comparisons
        vector = models.vector(text) if VECTORS in stages else None
        times.append(perf_counter())
        if stages == (RERANK,):
            return RecallResult(self._every_row(options), seconds={"read": times[1] - times[0]})
        query = _kept(models.query_words(text)) if WORDS in stages else None
        known = self._store.statistics([] if query is None else dict.fromkeys(query.words))
        weights: dict[str, float] = {}
        words: FoundWordScores | None = None
        if query is not None:
            counts = {word: known.counts.get(word, 0) for word in query.words}
            weights = query_weights(query.words, counts, known.num_rows, query.usual)
            mass = most_weight(query.words, counts, known.num_rows, query.usual)
        request = RecallRequest(
            count=count,
            where=options.where,
            vector=vector if vector is not None and vector.any() else None,
            words=weights or None,
        )
        found = self._store.recall(request)
        times.append(perf_counter())
        self._rows = {RowPlace(0, number): row for number, row in found.rows.items()}
        by_vectors: dict[RowPlace, float] = {}
        by_words: dict[RowPlace, float] = {}
        if request.vector is not None:
            by_vectors = self._nearest(found.by_vectors, request.vector, count)
        if query is not None:
            scores = {place: bm25(row.words, weights, known) for place, row in self._rows.items()}
            words = FoundWordScores(scores, mass)
            listed = [place for number in found.by_words if scores[place := RowPlace(0, number)]]
            listed.sort(key=lambda place: (-scores[place], place))
            by_words = {place: scores[place] for place in listed[:count]}
        times.append(perf_counter())
        read, engine, here = np.diff(times).tolist()
        lists = [ranked for ranked in (by_vectors, by_words) if ranked]
        best = len(lists) / (FUSION + 1)
        fused = dict(islice(fuse(lists).items(), count))
        places = {place: score - best for place, score in fused.items()}
        unreranked = by_words or by_vectors
        if WORDS in stages and VECTORS in stages:
            unreranked = {place: score / best for place, score in fused.items()}
        seconds = {"read": read, "store": engine, "scores": here}
        return RecallResult(places, unreranked, by_words, by_vectors, vector, words, seconds, text)

    def _spelt_right(self, models: IndexModels, text: str) -> str:
        """A query with a stored word in place of each that is misspelt; see `misspelt`."""
        query = models.query_words(text)
        known = self._store.statistics(map(kept_word, query.words)).counts
        for word in dict.fromkeys(query.words):
            if not is_spelt(word) or known.get(word):
                continue
            most = 2 if len(word) >= LONG else 1
            near = self._store.words_of_length(len(word) - most, len(word) + most)
            # Of equally near words the first is taken, which is the commonest.
            order = sorted(near, key=lambda each: (-near[each], each))
            found = Spellings(order).nearest(word)
            share = query.usual.get(word, 0.0)
            if found is None or (share and models.usual_share(found[0]) < MORE_USUAL * share):
                continue
            text = replaced(text, word, found[0])
        return text

    def _nearest(self, numbers: Sequence[int], vector: Floats, count: int) -> dict[RowPlace, float]:
        """Rows by their cosines, which folders compute from a query in half precision as well."""
        if not numbers:
            return {}
        places = [RowPlace(0, number) for number in numbers]
        halved = vector.astype(np.float16).astype(np.float32)
        cosines = self.vectors(places) @ halved
        order = np.lexsort((np.array(numbers), -cosines))[:count].tolist()
        return {places[row]: float(cosines[row]) for row in order}

    def _every_row(self, options: SearchOptions) -> dict[RowPlace, float]:
        found = self._store.recall(RecallRequest(count=MOST_CANDIDATES + 1, where=options.where))
        if len(found.rows) > MOST_CANDIDATES:
            raise ConfigError(
                f"rerank alone compares every row and may compare {MOST_CANDIDATES:,}, of which "
                "there are more; name words or vectors as well"
            )
        self._rows = {RowPlace(0, number): row for number, row in found.rows.items()}
        return dict.fromkeys(sorted(self._rows), 0.0)

    def row(self, place: RowPlace) -> dict[str, str]:
        """See `SearchedRows`."""
        columns = self._rows[place].columns
        found = read_text(columns.get(MATCHED, ""), "")
        if found is not None:
            owner = self._store.stored([found.owner]).get(found.owner, columns)
            columns = {**owner, MATCHED: columns[MATCHED]}
        return in_order(columns, self._columns)

    def texts(self, places: Sequence[RowPlace], column: str) -> list[str]:
        """See `SearchedRows`."""
        return [self._rows[place].columns.get(column, "") for place in places]

    def vectors(self, places: Sequence[RowPlace]) -> Floats:
        """See `SearchedRows`."""
        found: Floats = np.stack([self._rows[place].vector for place in places]).astype(np.float32)
        return found

    def lengths(self, places: Sequence[RowPlace]) -> list[int | None]:
        """See `SearchedRows`."""
        packed = self._read(places)
        if self._packer is None:
            return [None] * len(places)
        return [self._packer.num_tokens(packed[place]) for place in places]

    def encodings(self, places: Sequence[RowPlace]) -> list[Floats] | None:
        """See `SearchedRows`."""
        packed = self._read(places)
        if self._packer is None:
            return None
        return [self._packer.unpack(packed[place]) for place in places]

    def _read(self, places: Sequence[RowPlace]) -> dict[RowPlace, bytes]:
        """Fetch encodings once; those of rows that are gone, or too long to store, are made."""
        if self._packer is None:
            return {}
        missing = [place for place in places if place not in self._packed]
        if missing:
            found = self._store.encodings([self._rows[place] for place in missing])
            fitting = {row: each for row, each in found.items() if self._packer.fits(each)}
            self._packed |= {place: fitting[place.row] for place in missing if place.row in fitting}
            others = [place for place in missing if place.row not in fitting]
            if others:
                texts = [self._rows[place].columns["question"] for place in others]
                made = self._packer.pack(self._models.matcher.encodings(texts))
                self._packed |= dict(zip(others, made, strict=True))
        return self._packed


def in_order(values: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """The columns of a row in the order of the index.

    >>> in_order({"size": "M", "id": "a"}, ["id", "question", "size"])
    {'id': 'a', 'size': 'M'}
    """
    known = {column: values[column] for column in columns if column in values}
    return {**known, **values}


def _kept(query: QueryWords) -> QueryWords:
    """The words of a query as stores keep them."""
    usual = {kept_word(word): share for word, share in query.usual.items()}
    return QueryWords([kept_word(word) for word in query.words], usual)

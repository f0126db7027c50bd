"""The parts of a search: recall by words and by vectors, fusion, and comparison by the matcher.

The likeliest rows by words and by vectors become one list by reciprocal rank fusion; then the
matcher compares the query with the stored encoding of each. `search_steps` puts them together.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError, counted
from softquery.explain.lettering import shortened
from softquery.runtime.call_checks import whole_number
from softquery.search.query.filters import Masks, Where, check_where
from softquery.search.query.index_models import IndexModels, QueryWords
from softquery.search.query.misspelt import spelt_right
from softquery.search.query.stages import RERANK, STAGES, VECTORS, WORDS, Stages
from softquery.search.storage.entries import (
    ANSWER,
    ID,
    MATCHED,
    PHRASINGS,
    QUESTION,
    phrasings_of,
)
from softquery.search.storage.manifest import check_min_score, check_number
from softquery.search.storage.searched_texts import read_text
from softquery.search.storage.segment import Segment
from softquery.search.storage.word_recall import most_weight, query_weights

if TYPE_CHECKING:
    from softquery.search.query.searched_rows import SearchedRows

Floats = NDArray[np.float32]
MOST_CANDIDATES = 10_000
FUSION = 60
"""The constant k of reciprocal rank fusion (Cormack et al. 2009); larger means flatter."""


class RowPlace(NamedTuple):
    """The place of a row: the number of its segment, and its number within the segment."""

    segment: int
    row: int


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Rows that may answer, likeliest first.

    Attributes:
        places: The fused list; each row with how far it is behind a row that leads both lists, as
            a number of at most 0.
        scores: The same rows with the scores they have if nothing is reranked; see `stages`.
        by_words: The list by words alone, with BM25.
        by_vectors: The list by vectors alone, with cosines.
        vector: That of the query, if vectors were looked up.
        words: What BM25 says of every row, if words were looked up.
        seconds: Time by stage.
        text: The query as it was read, without typos; empty if it was read as it is.
    """

    places: dict[RowPlace, float] = field(default_factory=dict)
    scores: dict[RowPlace, float] = field(default_factory=dict)
    by_words: dict[RowPlace, float] = field(default_factory=dict)
    by_vectors: dict[RowPlace, float] = field(default_factory=dict)
    vector: Floats | None = None
    words: "RowWordScores | None" = None
    seconds: dict[str, float] = field(default_factory=dict)
    text: str = ""


class RowWordScores(Protocol):
    """BM25 of rows; `most` is what a row could reach that has all words of the query."""

    @property
    def most(self) -> float:
        """What a row could reach at most that has all words of the query, known or not."""

    def of(self, places: Sequence[RowPlace]) -> Floats:
        """BM25 of some of the rows that were recalled: [N]."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """BM25 of all rows.

    Attributes:
        of_segments: Of every row of each segment.
        most: What a row could reach at most that has all words of the query, known or not.
    """

    of_segments: list[Floats]
    most: float

    def of(self, places: Sequence[RowPlace]) -> Floats:
        """BM25 of some rows: [N]."""
        found = [self.of_segments[place.segment][place.row] for place in places]
        return np.array(found, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        query: The query.
        hits: Rows that are good enough, best first; none if there is no good answer.
        others: The best rows that are not good enough; with the hits at most `top_k`.
        seconds: Time by stage: `read`, `vectors`, `words`, `rerank` as far as they were used,
            `explain` if that was asked for, and `total`.
        stages: The stages that were used; they say what the scores are, see `stages`.
        score: What the scores are, in words: `"a probability"`, or `"a cosine"`.
        note: What whoever asks must know, such as that no model reads the query's language; None
            if there is nothing.
    """

    query: str
    hits: list[dict[str, Any]]
    others: list[dict[str, Any]]
    seconds: dict[str, float] = field(default_factory=dict)
    stages: Stages = STAGES
    note: str | None = None
    score: str = "a probability"

    @property
    def nearest(self) -> list[dict[str, Any]]:
        """Where there is no good answer, the best rows with their scores; else none."""
        return [] if self.hits else self.others

    def __repr__(self) -> str:
        found = "no good answer"
        if self.hits:
            best = self.hits[0]
            shown = f"best {best['score']:.3f}: {shortened(best[QUESTION])!r}"
            found = f"{counted(len(self.hits), 'hit')}, {shown}"
        return f"{type(self).__name__}({shortened(self.query)!r}, {found})"

    def _repr_html_(self) -> str:
        """The hits as a table, or the nearest rows in grey, as notebooks show it."""
        from softquery.explain.notebook import table_html

        caption = self.query if self.hits else f"{self.query}: no good answer; nearest questions"
        names = ("score", QUESTION, ANSWER)
        return table_html(caption, names, self.hits or self.others, quiet=not self.hits)


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenOptions:
    """What a caller says beside the query, before an index adds its own; see `Index.search`."""

    top_k: int
    where: Where | None
    min_score: float | None
    candidates: int
    explain: bool
    stages: Stages | None
    aim: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchOptions:
    """What is asked of a search beside the query; see `Index.search`.

    Raises:
        ConfigError: Names what is wrong.
    """

    top_k: int = 5
    where: Where = field(default_factory=dict)
    min_score: float | None = None
    """The score that a hit needs; None for any score."""
    candidates: int = 50
    explain: bool = False
    stages: Stages = STAGES

    def __post_init__(self) -> None:
        try:
            whole_number(self.top_k, "top_k")
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if not _is_whole(self.candidates) or not 1 <= self.candidates <= MOST_CANDIDATES:
            most = f"from 1 to {MOST_CANDIDATES:,}"
            raise ConfigError(f"candidates must be {most}, got {self.candidates!r:.40}")
        if self.min_score is not None:
            (check_min_score if RERANK in self.stages else check_number)(self.min_score)
        check_where(self.where)


def recall(
    segments: Sequence[Segment],
    models: IndexModels,
    text: str,
    count: int,
    allowed: Masks,
    stages: Stages = STAGES,
) -> RecallResult:
    """The rows that are likeliest to answer a query.

    Words and vectors are looked up one after the other: both are fast, and two threads would lose
    more to the interpreter lock than they gain.

    Args:
        segments: The segments of the index.
        models: The models of the index.
        text: The query.
        count: The most rows of each list, and of the fused list.
        allowed: Which rows of each segment may be found.
        stages: What the search uses; without words and vectors, all allowed rows are recalled.
    """
    by_vectors: dict[RowPlace, float] = {}
    by_words: dict[RowPlace, float] = {}
    times = [perf_counter()]
    if WORDS in stages:
        text = spelt_right(segments, models.query_words(text), text, models.usual_share)
    if RERANK in stages:
        models.matcher.encodings([text])  # which keeps it for the comparisons
    vector = models.vector(text) if VECTORS in stages else None
    times.append(perf_counter())
    if vector is not None:
        by_vectors = nearest_vectors(segments, vector, count, allowed)
    times.append(perf_counter())
    words = None
    if WORDS in stages:
        words = word_scores(segments, models.query_words(text))
    if words is not None:
        by_words = best_words(words, count, allowed)
    times.append(perf_counter())
    seconds = dict(zip(("read", VECTORS, WORDS), np.diff(times).tolist(), strict=True))
    seconds = {name: each for name, each in seconds.items() if name in (*stages, "read")}
    if stages == (RERANK,):
        return RecallResult(_every_row(allowed), seconds=seconds)
    lists = [ranked for ranked in (by_vectors, by_words) if ranked]
    best = len(lists) / (FUSION + 1)
    fused = dict(islice(fuse(lists).items(), count))
    places = {place: score - best for place, score in fused.items()}
    scores = by_words or by_vectors
    if WORDS in stages and VECTORS in stages:
        scores = {place: score / best for place, score in fused.items()}
    return RecallResult(places, scores, by_words, by_vectors, vector, words, seconds, text)


def _every_row(allowed: Masks) -> dict[RowPlace, float]:
    """All allowed rows, none of them behind another."""
    num_rows = sum(int(mask.sum()) for mask in allowed)
    if num_rows > MOST_CANDIDATES:
        raise ConfigError(
            f"rerank alone compares every row, here {num_rows:,}, and may compare "
            f"{MOST_CANDIDATES:,}; name words or vectors as well"
        )
    return {
        RowPlace(number, row): 0.0
        for number, mask in enumerate(allowed)
        for row in np.flatnonzero(mask).tolist()
    }


def nearest_vectors(
    segments: Sequence[Segment], vector: Floats, count: int, allowed: Masks
) -> dict[RowPlace, float]:
    """Rows by their vectors, nearest first, with their cosines."""
    if not vector.any():  # the model knows no word of the query
        return {}
    found = []
    num_rows = sum(map(len, segments))
    for number, (segment, mask) in enumerate(zip(segments, allowed, strict=True)):
        rows, scores = segment.vectors.nearest(vector, count, mask, num_rows=num_rows)
        found += [
            (-score, number, row) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]
    return {RowPlace(number, row): -score for score, number, row in sorted(found)[:count]}


def word_scores(segments: Sequence[Segment], query: QueryWords) -> WordScores:
    """What BM25 says of every row."""
    distinct = dict.fromkeys(query.words)
    counts = {
        word: sum(segment.words.num_rows_with(word) for segment in segments) for word in distinct
    }
    num_rows = sum(len(segment) for segment in segments)
    weights = query_weights(query.words, counts, num_rows, query.usual)
    found = [segment.words.scores(weights) for segment in segments]
    return WordScores(found, most_weight(query.words, counts, num_rows, query.usual))


def best_words(words: WordScores, count: int, allowed: Masks) -> dict[RowPlace, float]:
    """Rows by the query's words, best first, with BM25; a row with none of them is not listed."""
    found = []
    for number, (scores, mask) in enumerate(zip(words.of_segments, allowed, strict=True)):
        scores = scores if mask.all() else scores * mask
        rows = highest(scores, count)
        found += [
            (-score, number, row)
            for row, score in zip(rows.tolist(), scores[rows].tolist(), strict=True)
        ]
    return {RowPlace(number, row): -score for score, number, row in sorted(found)[:count]}


def highest(scores: Floats, count: int) -> NDArray[np.int64]:
    """Places of the highest scores above 0, in any order; ties for the last place go to the first.

    >>> sorted(highest(np.array([1, 3, 2, 0, 2, 2], dtype=np.float32), 3).tolist())
    [1, 2, 4]
    """
    places = np.flatnonzero(scores > 0)  # np.partition is slow if most are equal, as zeros are
    found = scores[places]
    if count >= len(found):
        return places
    edge = np.partition(found, len(found) - count)[len(found) - count]
    above = places[found > edge]
    level = places[found == edge][: count - len(above)]
    return np.concatenate([above, level])


def fuse(lists: Sequence[Iterable[RowPlace]]) -> dict[RowPlace, float]:
    """Several lists as one by reciprocal ranks (Cormack et al. 2009): sums of 1 / (60 + rank).

    >>> a, b, c = RowPlace(0, 1), RowPlace(0, 2), RowPlace(0, 3)
    >>> list(fuse([[a, b], [b, c]])) == [b, a, c]
    True
    """
    scores: dict[RowPlace, float] = {}
    for ranked in lists:
        for rank, place in enumerate(ranked, start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (FUSION + rank)
    return dict(sorted(scores.items(), key=lambda each: (-each[1], each[0])))


def compared(
    searched: "SearchedRows", models: IndexModels, text: str, places: Sequence[RowPlace]
) -> dict[RowPlace, float]:
    """What the matcher says of a text and each of some rows, in the order of the rows.

    Rows may be compared all at once or in the batches in which a matcher compares them when it is
    given all of them, which is the same to the bit.
    """
    matcher = models.matcher
    encodings = searched.encodings(places)
    if encodings is None:
        encodings = matcher.encodings(searched.texts(places, QUESTION))
    order = sorted(range(len(places)), key=lambda row: len(encodings[row]))
    rows = matcher.compare(matcher.encodings([text]), [encodings[row] for row in order])
    found = dict(zip(order, rows[:, matcher.column()].tolist(), strict=True))
    return {place: found[row] for row, place in enumerate(places)}


def best_first(
    recalled: Mapping[RowPlace, float], probabilities: Mapping[RowPlace, float], weight: float
) -> list[tuple[RowPlace, float]]:
    """Rows with their blended scores, best first.

    Args:
        recalled: Rows, each with how far it is behind one that leads both lists of recall.
        probabilities: What the matcher says of each row.
        weight: How much recall counts.
    """
    scores = {
        place: blended(probabilities[place], weight * behind) for place, behind in recalled.items()
    }
    order = sorted(scores, key=lambda place: (-scores[place], -probabilities[place]))
    return [(place, scores[place]) for place in order]


def blended(probability: float, log_odds: float) -> float:
    """The matcher's probability shifted by recall's judgement, in log-odds.

    The matcher was calibrated on pairs; it does not know that of two rows with the same words the
    one that recall put first is likelier to be meant. A row that leads both lists of recall keeps
    the matcher's probability, that of any other is lowered.

    >>> blended(0.8, 0.0), round(blended(0.8, -1.0), 3)
    (0.8, 0.595)
    """
    if log_odds == 0 or not 0 < probability < 1:
        return probability
    odds = probability / (1 - probability) * math.exp(log_odds)
    return odds / (1 + odds)


def stored_encodings(
    segments: Sequence[Segment], places: Sequence[RowPlace]
) -> list[Floats] | None:
    """Encodings in the order of the rows, each segment read once; None if they are not stored."""
    found: dict[RowPlace, Floats] = {}
    for number, segment in enumerate(segments):
        rows = [place.row for place in places if place.segment == number]
        if segment.encodings is None:
            return None
        found.update(
            (RowPlace(number, row), encoding)
            for row, encoding in zip(rows, segment.encodings.of(rows), strict=True)
        )
    return [found[place] for place in places]


def hit_of(values: Mapping[str, str], score: float, text: str) -> dict[str, Any]:
    """A row as a hit: its columns, its score, and the text by which it was found.

    Args:
        values: Its columns; `matched` if it was found by another text than its question.
        score: How good it is.
        text: What it was found by.
    """
    hit: dict[str, Any] = {**values, ANSWER: values.get(ANSWER, ""), "score": score}
    found = read_text(hit.pop(MATCHED, ""), text)
    if found is not None:
        hit |= {ID: found.owner, MATCHED: found.shown()}
    if PHRASINGS in hit:
        hit[PHRASINGS] = phrasings_of(values)
    return hit


def found_by(hit: Mapping[str, Any]) -> str:
    """The text by which a hit was found."""
    text: str = hit[MATCHED]["text"] if MATCHED in hit else hit[QUESTION]
    return text


def question_at(segments: Sequence[Segment], place: RowPlace) -> str:
    """The question of a row."""
    return segments[place.segment].cells.text(place.row, QUESTION)


def check_query(text: object) -> None:
    """Refuse what no search can be made of."""
    if not isinstance(text, str):
        several = "; search_many takes several" if isinstance(text, (list, tuple)) else ""
        raise ConfigError(f"the query is of type {type(text).__name__}, expected text{several}")
    if not text.strip():
        raise ConfigError("the query is empty")


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)

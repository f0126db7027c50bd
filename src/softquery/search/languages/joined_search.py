"""One query to several parts of an index: what they find is ordered by its scores."""

from collections.abc import Iterator, Sequence
from typing import Any

from softquery.search.query.retrieval import RecallResult, RowPlace, SearchResult
from softquery.search.query.search_steps import AnySearch, SearchStep
from softquery.search.storage.entries import ID

PART = 1 << 24
"""More segments than a part can have: places of part `n` begin at `n * PART`."""
Hits = list[dict[str, Any]]


class JoinedSearch:
    """A search of several parts, as if it were one; see `SearchSteps`.

    Args:
        searches: The same query to each part.
    """

    def __init__(self, searches: Sequence[AnySearch]) -> None:
        self._searches = searches
        self.text, self.options = searches[0].text, searches[0].options
        self.num_tokens = sum(each.num_tokens for each in searches)
        self.is_truncated = any(each.is_truncated for each in searches)

    @property
    def num_weights(self) -> int:
        """Weights of all alignments."""
        return sum(each.num_weights for each in self._searches)

    @property
    def recalled(self) -> RecallResult:
        """What recall has found, the first of each part before the second of any."""
        found = [each.recalled for each in self._searches]
        return RecallResult(
            places=_taken_in_turns([each.places for each in found]),
            by_words=_taken_in_turns([each.by_words for each in found]),
            by_vectors=_taken_in_turns([each.by_vectors for each in found]),
        )

    @property
    def ranked(self) -> list[tuple[RowPlace, float]]:
        """All rows that were found, best first."""
        found = [
            (_moved(place, number), score)
            for number, each in enumerate(self._searches)
            for place, score in each.ranked
        ]
        return sorted(found, key=lambda each: -each[1])

    def ids(self, places: Sequence[RowPlace]) -> list[str]:
        """The ids of the rows at some places."""
        return [
            self._searches[place.segment // PART].ids([RowPlace(place.segment % PART, place.row)])[
                0
            ]
            for place in places
        ]

    def run(self) -> SearchResult:
        """All steps at once."""
        for each in self._searches:
            each.run()
        return self.result()

    def recall(self) -> Iterator[None]:
        """Find the rows to compare, part by part."""
        for each in self._searches:
            yield from each.recall()

    def comparisons(self) -> list[SearchStep]:
        """The query with all recalled rows."""
        return [step for each in self._searches for step in each.comparisons()]

    def alignments(self) -> list[SearchStep]:
        """The alignments of the hits, if they are asked for."""
        return [step for each in self._searches for step in each.alignments()]

    def result(self) -> SearchResult:
        """What was found, by its scores; of rows with the same id the best."""
        found = [each.result() for each in self._searches]
        seconds: dict[str, float] = {}
        for each in found:
            for name, value in each.seconds.items():
                seconds[name] = seconds.get(name, 0.0) + value
        hits = _best([hit for each in found for hit in each.hits], set())
        shown = {str(hit[ID]) for hit in hits}
        others = _best([hit for each in found for hit in each.others], shown)
        top_k = self.options.top_k
        hits = hits[:top_k]
        notes = [each.note for each in found]
        return SearchResult(
            query=self.text,
            hits=hits,
            others=others[: top_k - len(hits)],
            seconds=seconds,
            stages=self.options.stages,
            note=notes[0] if all(notes) else None,
            score=found[0].score,
        )


def _best(rows: Hits, seen: set[str]) -> Hits:
    """Rows by their scores, each id once."""
    found: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: -float(row["score"])):
        if row[ID] not in seen:
            found.setdefault(str(row[ID]), row)
    return list(found.values())


def _moved(place: RowPlace, number: int) -> RowPlace:
    return RowPlace(place.segment + number * PART, place.row)


def _taken_in_turns(lists: Sequence[dict[RowPlace, float]]) -> dict[RowPlace, float]:
    """Several lists as one: first places, then second ones, and so on."""
    ranked = [
        (rank, number, _moved(place, number), score)
        for number, each in enumerate(lists)
        for rank, (place, score) in enumerate(each.items())
    ]
    return {place: score for _, _, place, score in sorted(ranked)}

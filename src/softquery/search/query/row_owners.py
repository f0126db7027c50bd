"""Each row once in what a search has found, by the best of its texts; and what rows weigh."""

from collections.abc import Sequence

from softquery.search.query.retrieval import RowPlace
from softquery.search.query.searched_rows import SearchedRows
from softquery.search.storage.entries import ID, MATCHED, WEIGHT
from softquery.search.storage.searched_texts import owner_of, read_text

Ranked = list[tuple[RowPlace, float]]


def owner_ids(searched: SearchedRows, places: Sequence[RowPlace]) -> list[str]:
    """The id of each row; of a further text that of the row that it belongs to."""
    ids, cells = (searched.texts(places, column) for column in (ID, MATCHED))
    return [owner_of(key, cell) for key, cell in zip(ids, cells, strict=True)]


def owners_once(searched: SearchedRows, ranked: Ranked, *, has_weights: bool) -> Ranked:
    """The best text of each row, best first.

    Args:
        searched: The rows.
        ranked: All texts that were found, best first.
        has_weights: Whether the odds of scores are multiplied by what rows weigh.
    """
    places = [place for place, _ in ranked]
    if has_weights:
        weights = searched.texts(places, WEIGHT)
        if any(weights):
            weighed = [
                (place, weighted(score, cell))
                for (place, score), cell in zip(ranked, weights, strict=True)
            ]
            ranked = sorted(weighed, key=lambda each: -each[1])
            places = [place for place, _ in ranked]
    cells = searched.texts(places, MATCHED)
    if not any(cells):
        return ranked
    return _best_texts(owner_ids(searched, places), cells, ranked)


def _best_texts(owners: Sequence[str], cells: Sequence[str], ranked: Ranked) -> Ranked:
    """The first of each owner, with the score of its best text.

    Of a long text, the place that says where the passage stands is worth more than its beginning.
    """
    best: dict[str, tuple[RowPlace, float]] = {}
    passages: dict[str, RowPlace] = {}
    for owner, cell, (place, score) in zip(owners, cells, ranked, strict=True):
        best.setdefault(owner, (place, score))
        found = read_text(cell, "")
        if found is not None and found.column == "question":
            passages.setdefault(owner, place)
    is_whole = {place for (place, _), cell in zip(ranked, cells, strict=True) if not cell}
    return [
        (passages.get(owner, place) if place in is_whole else place, score)
        for owner, (place, score) in best.items()
    ]


def weighted(score: float, weight: str) -> float:
    """A probability with its odds multiplied.

    >>> weighted(0.5, "3"), weighted(0.5, ""), weighted(1.0, "3")
    (0.75, 0.5, 1.0)
    """
    try:
        factor = float(weight) if weight.strip() else 1.0
    except ValueError:  # an index that was made before weights counted
        return score
    if factor == 1 or not factor > 0 or not 0 < score < 1:
        return score
    odds = factor * score / (1 - score)
    return odds / (1 + odds)

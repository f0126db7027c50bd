"""How good vectors are at finding and comparing texts; BM25 beside them.

N stored texts, Q asked ones, E width of a vector.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks.embed.sentence_sets import COUNTED, PAIRS, Intents, Language, Metric
from numpy.typing import NDArray

from softquery.measure import auc, spearman
from softquery.measure.encode_scores import most_accurate_threshold
from softquery.search.storage.word_recall import K1, B, SearchTokenizer
from softquery.text import TextConfig

Floats = NDArray[np.float32]
Figures = dict[str, Any]
BLOCK = 512
"""Asked texts whose cosines with all stored ones are in memory at a time."""


def nearest(stored: Floats, asked: Floats) -> tuple[NDArray[np.int64], Floats]:
    """For each asked vector [Q, E] the place of the nearest stored one [N, E], and its cosine.

    Of equally near ones the first is taken.

    >>> places, cosines = nearest(np.eye(2, dtype=np.float32), np.array([[0.6, 0.8]], np.float32))
    >>> places.tolist(), round(float(cosines[0]), 3)
    ([1], 0.8)
    """
    places = np.empty(len(asked), np.int64)
    best = np.empty(len(asked), np.float32)
    for start in range(0, len(asked), BLOCK):
        cosines = asked[start : start + BLOCK] @ stored.T
        found = cosines.argmax(axis=1)
        places[start : start + BLOCK] = found
        best[start : start + BLOCK] = cosines[np.arange(len(found)), found]
    return places, best


def intent_figures(
    intents: Intents, places: Sequence[int], best: Sequence[float], outside: Sequence[float]
) -> Figures:
    """First answers, and how well the best score tells what is out of scope.

    Args:
        intents: The set.
        places: Of the row that answers each asked text; -1 where none does.
        best: Its score.
        outside: The best score of each text that is out of scope.
    """
    answers = [intents.stored_labels[place] if place >= 0 else None for place in places]
    right = [answer == label for answer, label in zip(answers, intents.asked_labels, strict=True)]
    found: Figures = {
        "stored": len(intents.stored),
        "n": len(intents.asked),
        "first_answer": sum(right) / len(right),
    }
    if len(outside):
        gold = [1] * len(best) + [0] * len(outside)
        found |= {"out_of_scope": len(outside), "out_of_scope_auc": auc(gold, [*best, *outside])}
    return found


def pair_figures(metric: Metric, labels: Sequence[float], cosines: NDArray[Any]) -> Figures:
    """Spearman's correlation of grades; AUC and accuracy of two labels.

    The threshold is the most accurate one on the first half of the rows, and the accuracy is that
    on the second half.
    """
    if metric == "spearman":
        return {"n": len(labels), "spearman": spearman(labels, cosines)}
    same, half = np.asarray(labels) == max(labels), len(labels) // 2
    threshold = most_accurate_threshold(cosines[:half], same[:half].astype(np.int64))
    right = (cosines[half:] >= threshold) == same[half:]
    return {
        "n": len(labels),
        "auc": auc(same.astype(np.int64), cosines),
        "accuracy": float(right.mean()),
        "threshold": threshold,
    }


def mean_figures(language: Language, pairs: Figures, intents: Figures) -> Figures:
    """The mean of first answers over the sets that count, and the mean of all three, in points.

    A mean is None where one of its sets is missing; without sets that count there is none.
    """
    counted = [intents.get(name, {}).get("first_answer") for name in COUNTED[language]]
    compared = [pairs.get(name, {}).get(metric) for name, metric in PAIRS[language].items()]
    first = _mean(counted)
    means = {"first_answers": first, "mean": _mean([*compared, first])}
    return {name: None if mean is None else 100 * mean for name, mean in means.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of values; None without any, or where one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


class Bm25:
    """Stored texts that are found by their words.

    Args:
        stored: The texts; words are cut as an index of softquery cuts them.
    """

    def __init__(self, stored: Sequence[str]) -> None:
        import bm25s

        self._words = SearchTokenizer(TextConfig()).words
        self._ids: dict[str, int] = {}
        rows = [
            [self._ids.setdefault(word, len(self._ids)) for word in self._words(text)]
            for text in stored
        ]
        self._ranker = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy")
        self._ranker.index((rows, self._ids), create_empty_token=False, show_progress=False)

    def best(self, text: str) -> tuple[int, float]:
        """The place of the best row and its score; -1 where no word of the text is stored."""
        known = [self._ids[word] for word in self._words(text) if word in self._ids]
        if not known:
            return -1, 0.0
        scores = self._ranker.get_scores(known)
        place = int(scores.argmax())
        return place, float(scores[place])


def bm25_figures(intents: Intents) -> Figures:
    """What BM25 reaches on an intent set."""
    ranker = Bm25(intents.stored)
    places, best = zip(*map(ranker.best, intents.asked), strict=True)
    return intent_figures(intents, places, best, [ranker.best(t)[1] for t in intents.out_of_scope])

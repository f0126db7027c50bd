"""How good an order is: recall, reciprocal rank and discounted gain of ranked lists."""

import math
from collections.abc import Mapping, Sequence


def recall_at(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """The share of what is relevant among the first k.

    >>> recall_at(["b", "a", "c"], {"a": 1, "d": 1}, 2)
    0.5
    """
    _check(relevant, k)
    wanted = {name for name, grade in relevant.items() if grade > 0}
    return len(wanted & set(ranked[:k])) / len(wanted)


def found_at(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """1 where something relevant is among the first k, else 0: what a reader of a list notices.

    >>> found_at(["b", "a", "c"], {"a": 1, "d": 1}, 2)
    1.0
    """
    _check(relevant, k)
    return float(any(relevant.get(name, 0) > 0 for name in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Mapping[str, float]) -> float:
    """One over the place of the first that is relevant, 0 where there is none.

    >>> reciprocal_rank(["b", "a", "c"], {"a": 1, "c": 1})
    0.5
    """
    _check(relevant, 1)
    for rank, name in enumerate(ranked, start=1):
        if relevant.get(name, 0) > 0:
            return 1 / rank
    return 0.0


def ndcg_at(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Discounted gain of the first k, as a share of the best order's (Järvelin & Kekäläinen 2002).

    Gains are the grades themselves, discounts the binary logarithms of places.

    >>> round(ndcg_at(["b", "a"], {"a": 1}, 10), 3)
    0.631
    """
    _check(relevant, k)
    gains = [relevant.get(name, 0.0) for name in ranked[:k]]
    best = sorted(relevant.values(), reverse=True)[:k]
    return _discounted(gains) / _discounted(best)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _check(relevant: Mapping[str, float], k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not any(grade > 0 for grade in relevant.values()):
        raise ValueError("nothing is relevant, so that no order is better than another")
    if any(grade < 0 for grade in relevant.values()):
        raise ValueError("grades must be 0 or more")

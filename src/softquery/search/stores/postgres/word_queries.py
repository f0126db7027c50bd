"""Rows by words in PostgreSQL: the best of those that matter, but not all that share a word.

Most rows share a common word with a query. Such words weigh little: rows that have nothing else can
not be among the best. So the rows of the rarest words are read first. The worst of the best rows
among them then says which words a row needs at least one of (MaxScore, Turtle & Flood 1995), by the
most that each word weighs in any row.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from softquery.search.storage.word_recall import K1, B
from softquery.search.stores.word_weights import COMPONENTS, sparse_query

FIRST_ROWS = 2000
"""Rows with one of the rarest words that are read first, about."""
MORE = 2
"""How many times as many rows are recalled by words as are asked for: stored weights assume a usual
length, and the best by today's mean length are among these."""


def rows_by_words(
    cursor: Any,
    schema: str,
    weights: Mapping[str, float],
    count: int,
    condition: str,
    values: Sequence[Any],
) -> list[int]:
    """Numbers of rows by stored weights, best first; exact up to `count`, then about as many more.

    Args:
        cursor: Reads one state.
        schema: The index.
        weights: Those of the query's words.
        count: How many are asked for.
        condition: A filter as SQL.
        values: Those of its placeholders.
    """
    cursor.execute(
        f"SELECT word, num_rows, most FROM {schema}.word_counts WHERE word = ANY(%s)",
        (list(weights),),
    )
    known = {word: (num_rows, most) for word, num_rows, most in cursor.fetchall() if num_rows > 0}
    # What a word can add to the score of a row; single precision may round it up.
    most = {word: 1.0001 * weights[word] * known[word][1] for word in known}
    order = sorted(known, key=lambda word: (-most[word], word))
    if not order:
        return []
    first = rarest(order, {word: known[word][0] for word in order})
    found = _best(cursor, schema, first, weights, count, condition, values)
    least = found[count - 1][1] if len(found) >= count else 0.0
    needed = essential([most[word] for word in order], least)
    if needed > len(first):
        found = _best(cursor, schema, order[:needed], weights, count, condition, values)
    return [number for number, _ in found]


def rarest(order: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The first words, one at least, as long as not too many rows have them.

    >>> rarest(["ink", "comment", "of"], {"ink": 10, "comment": 100, "of": 16_000})
    ['ink', 'comment']
    """
    found, total = [order[0]], counts[order[0]]
    for word in order[1:]:
        total += counts[word]
        if total > FIRST_ROWS:
            break
        found.append(word)
    return found


def essential(most: Sequence[float], least: float) -> int:
    """How many of the first words a row needs at least one of, to score more than `least`.

    >>> essential([9.0, 5.0, 1.5, 1.0], 2.6), essential([9.0, 5.0, 1.5, 1.0], 0.0)
    (2, 4)
    """
    rest = 0.0
    for place in range(len(most) - 1, -1, -1):
        rest += most[place]
        if rest >= least:
            return place + 1
    return 0


def _best(
    cursor: Any,
    schema: str,
    words: Sequence[str],
    weights: Mapping[str, float],
    count: int,
    condition: str,
    values: Sequence[Any],
) -> list[tuple[int, float]]:
    """Rows that have one of some words, with their scores by all words, best first."""
    asked = sparse_text(sparse_query(weights))
    cursor.execute(
        f"SELECT number, sparse <#> %s::sparsevec AS below FROM {schema}.entries "
        f"WHERE words && %s::text[] AND {condition} ORDER BY below, number LIMIT %s",
        (asked, list(words), *values, MORE * count),
    )
    return [(number, -below) for number, below in cursor.fetchall()]


def sparse_text(weights: Mapping[int, float]) -> str:
    """A sparse vector as SQL spells it, with components from 1.

    >>> sparse_text({0: 1.5, 4: 2.0})
    '{1:1.5,5:2}/1000000000'
    """
    spelt = ",".join(f"{place + 1}:{weights[place]:.9g}" for place in sorted(weights))
    return f"{{{spelt}}}/{COMPONENTS}"


def saturated_sql(count: str, length: str) -> str:
    """`saturated` as SQL; its placeholder is the usual length."""
    return f"{count} / ({count} + {K1} * ({1 - B} + {B} * {length} / %s))"

"""Misspelt words of a query, as the rows of an index spell them."""

import re
from collections.abc import Callable, Sequence

from softquery.search.query.index_models import QueryWords
from softquery.search.storage.segment import Segment
from softquery.search.storage.spelling import is_spelt

MORE_USUAL = 20
"""How much more usual a stored word is than a word that is taken for a typo of it."""
KNOWN = 1e-4
"""The share of texts that contain a word which is no typo, however usual the stored one is."""


def spelt_right(
    segments: Sequence[Segment], query: QueryWords, text: str, usual: Callable[[str], float]
) -> str:
    """A query with the stored word in place of each that is misspelt: see `spelling`.

    Vocabularies hold common typos, too: a rare word that no row has is one if the stored word is
    far more usual. One that is not rare is meant, such as `bake` where a row has `take`.

    Args:
        segments: The rows.
        query: The words of the query.
        text: It.
        usual: The share of texts in general that contain a word.
    """
    for word in dict.fromkeys(query.words):
        if not is_spelt(word) or any(each.words.num_rows_with(word) for each in segments):
            continue
        found = _nearest_spelling(segments, word)
        share = query.usual.get(word, 0.0)
        is_typo = not share or (share < KNOWN and usual(found or "") >= MORE_USUAL * share)
        if found is not None and is_typo:
            text = replaced(text, word, found)
    return text


def replaced(text: str, word: str, other: str) -> str:
    """A text with another word in place of one, whose plural ending stays.

    >>> replaced("Any Vuochers?", "vuocher", "voucher")
    'Any vouchers?'
    """
    pattern = rf"(?<!\w){re.escape(word)}(?=s?(?!\w))"
    return re.sub(pattern, lambda match: other, text, flags=re.IGNORECASE)


def _nearest_spelling(segments: Sequence[Segment], word: str) -> str | None:
    """The stored word that is nearest to a misspelt one; of equally near ones the commonest."""
    found = [each for segment in segments if (each := segment.words.spellings.nearest(word))]
    if not found:
        return None
    least = min(mistakes for _, mistakes in found)
    near = {name for name, mistakes in found if mistakes == least}
    count = {name: sum(each.words.num_rows_with(name) for each in segments) for name in near}
    return max(sorted(near), key=lambda name: count[name])

"""Texts as sparse vectors, whose product is BM25: for stores that keep such vectors themselves."""

import math
import zlib
from collections import Counter
from collections.abc import Sequence

from softquery.search.query.index_models import IndexModels
from softquery.search.storage.segment import Segment
from softquery.search.storage.word_recall import K1, USUAL_ROWS, idf


def sparse_weights(segments: Sequence[Segment], models: IndexModels, text: str) -> dict[int, float]:
    """The words of a text, each with the square root of its idf times its saturated count.

    The product of a query's and a document's weights is the sum over the words they share of
    idf × (k1 + 1) tf / (k1 + tf), once for the document and once for the query: BM25 without
    regard to length (b = 0), since a text by itself does not say which of the two it is. How
    informative words are is counted in the rows of the index, and in texts in general.

    Args:
        segments: Those of the index.
        models: Those of the index, which cut texts into words.
        text: A query, or a document.

    Returns:
        Weights by the number of the word, which is its CRC-32 and the same in every index; in the
        order of these numbers.
    """
    query = models.query_words(text)
    num_rows = sum(len(segment) for segment in segments)
    found: dict[int, float] = {}
    for word, count in Counter(query.words).items():
        rows_with = sum(segment.words.num_rows_with(word) for segment in segments)
        common = rows_with + USUAL_ROWS * query.usual.get(word, 0.0)
        weight = math.sqrt(idf(num_rows + USUAL_ROWS, common)) * (K1 + 1) * count / (K1 + count)
        number = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        found[number] = max(weight, found.get(number, 0.0))
    return dict(sorted(found.items()))

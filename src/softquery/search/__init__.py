"""An index of questions: recall by words and vectors, rerank by a matcher over stored encodings."""

from softquery.search.building import Changes
from softquery.search.duplicates import Duplicate
from softquery.search.entries import Repeat
from softquery.search.evaluate import SearchEvaluation, evaluate_index
from softquery.search.finding import SearchResult
from softquery.search.index import Index
from softquery.search.manifest import IndexSettings, Manifest, is_index

__all__ = [
    "Changes",
    "Duplicate",
    "SearchResult",
    "Index",
    "IndexSettings",
    "Manifest",
    "Repeat",
    "SearchEvaluation",
    "evaluate_index",
    "is_index",
]

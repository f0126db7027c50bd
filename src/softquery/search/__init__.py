"""An index of questions: recall by words and by vectors, then rerank over stored encodings."""

from softquery.search.building import Changes
from softquery.search.duplicates import Duplicate
from softquery.search.entries import Repeat
from softquery.search.index import Index
from softquery.search.index_evaluation import (
    SearchEvaluation,
    StageComparison,
    compare_stages,
    evaluate_index,
)
from softquery.search.manifest import IndexSettings, Manifest, is_index
from softquery.search.retrieval import SearchResult
from softquery.search.stages import STAGES

__all__ = [
    "Changes",
    "Duplicate",
    "Index",
    "IndexSettings",
    "Manifest",
    "Repeat",
    "STAGES",
    "SearchEvaluation",
    "SearchResult",
    "StageComparison",
    "compare_stages",
    "evaluate_index",
    "is_index",
]

"""An index of questions: recall by words and by vectors, then rerank over stored encodings."""

from softquery.search.any_index import open_index
from softquery.search.changes.building import Changes
from softquery.search.changes.duplicates import Duplicate
from softquery.search.index import Index
from softquery.search.index_evaluation import (
    SearchEvaluation,
    StageComparison,
    compare_stages,
    evaluate_index,
)
from softquery.search.index_view import IndexView
from softquery.search.languages.language_index import LanguageIndex
from softquery.search.query.retrieval import SearchResult
from softquery.search.query.stages import STAGES
from softquery.search.report.collect import SearchReport, report_index
from softquery.search.storage.entries import Repeat
from softquery.search.storage.manifest import IndexSettings, Manifest, is_index
from softquery.search.stores.migration import migrate
from softquery.search.stores.shards import ShardedIndex
from softquery.search.stores.store_index import StoreIndex
from softquery.search.tuning.tune_report import TunedFigure, TuneReport

__all__ = [
    "Changes",
    "Duplicate",
    "Index",
    "IndexSettings",
    "IndexView",
    "LanguageIndex",
    "Manifest",
    "Repeat",
    "STAGES",
    "SearchEvaluation",
    "SearchReport",
    "SearchResult",
    "ShardedIndex",
    "StageComparison",
    "StoreIndex",
    "TuneReport",
    "TunedFigure",
    "compare_stages",
    "evaluate_index",
    "is_index",
    "migrate",
    "open_index",
    "report_index",
]

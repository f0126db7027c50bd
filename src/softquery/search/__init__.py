"""An index of questions: recall by words and by vectors, then rerank over stored encodings."""

from softquery.search.changes.building import Changes
from softquery.search.changes.duplicates import Duplicate
from softquery.search.index import Index
from softquery.search.index_evaluation import (
    SearchEvaluation,
    StageComparison,
    compare_stages,
    evaluate_index,
)
from softquery.search.query.retrieval import SearchResult
from softquery.search.query.stages import STAGES
from softquery.search.report.collect import SearchReport, report_index
from softquery.search.storage.entries import Repeat
from softquery.search.storage.manifest import IndexSettings, Manifest, is_index
from softquery.search.tuning.tune_report import TunedFigure, TuneReport

__all__ = [
    "Changes",
    "Duplicate",
    "Index",
    "IndexSettings",
    "Manifest",
    "Repeat",
    "STAGES",
    "SearchEvaluation",
    "SearchReport",
    "SearchResult",
    "StageComparison",
    "TuneReport",
    "TunedFigure",
    "compare_stages",
    "evaluate_index",
    "is_index",
    "report_index",
]

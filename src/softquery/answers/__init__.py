"""What answers look like, without torch: labels, grades, tags, spans, and who matched."""

from softquery.answers.calibration import Calibration
from softquery.answers.classified import Classified
from softquery.answers.labels import parse_class, parse_distribution, parse_grade
from softquery.answers.match import Match
from softquery.answers.pages import Page, Paging, Passage, Place, Sheet, lay_out
from softquery.answers.reading import Answer, candidates, settle
from softquery.answers.reading_rules import ReadingRules
from softquery.answers.schemes import (
    Scheme,
    Span,
    converted,
    detect_scheme,
    misfit,
    spans_of,
    tags_of,
)
from softquery.answers.span_choice import SpanChoice, SpanScores, best_spans
from softquery.answers.tag_set import TagError, TagSet
from softquery.answers.tagged import Tagged
from softquery.answers.written import Written, written_record

__all__ = [
    "Answer",
    "Calibration",
    "Classified",
    "Match",
    "Page",
    "Paging",
    "Passage",
    "Place",
    "ReadingRules",
    "Scheme",
    "Sheet",
    "Span",
    "SpanChoice",
    "SpanScores",
    "TagError",
    "TagSet",
    "Tagged",
    "Written",
    "best_spans",
    "candidates",
    "converted",
    "detect_scheme",
    "lay_out",
    "misfit",
    "parse_class",
    "parse_distribution",
    "parse_grade",
    "settle",
    "spans_of",
    "tags_of",
    "written_record",
]

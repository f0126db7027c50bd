"""What answers look like, without torch: labels, grades, tags, spans, and who matched."""

from softquery.answers.answer import Answer, candidates, settle
from softquery.answers.calibration import Calibration
from softquery.answers.classified import Classified
from softquery.answers.generated import Generated, generated_record
from softquery.answers.labels import parse_class, parse_distribution, parse_grade
from softquery.answers.match import Match
from softquery.answers.pages import (
    ContextWindow,
    ContextWindows,
    Paging,
    TokenSpan,
    WindowedContext,
    lay_out,
)
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

__all__ = [
    "Answer",
    "Calibration",
    "Classified",
    "Match",
    "ContextWindow",
    "Paging",
    "WindowedContext",
    "TokenSpan",
    "ReadingRules",
    "Scheme",
    "ContextWindows",
    "Span",
    "SpanChoice",
    "SpanScores",
    "TagError",
    "TagSet",
    "Tagged",
    "Generated",
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
    "generated_record",
]

"""The answers of every task as values, without torch: labels, grades, tags, spans and texts."""

from softquery.answers.answer_columns import answer_columns
from softquery.answers.calibration import Calibration
from softquery.answers.classify import Classified
from softquery.answers.context_windows import (
    ContextWindow,
    ContextWindows,
    SlidingWindow,
    WindowedContext,
    WindowPlace,
    make_windows,
)
from softquery.answers.fill import Filled, filled_record
from softquery.answers.generate import Generated, generated_record
from softquery.answers.labels import parse_class, parse_distribution, parse_grade
from softquery.answers.match import Match
from softquery.answers.read import (
    Answer,
    ReadingRules,
    SpanChoice,
    SpanScores,
    best_spans,
    candidates,
    choose_answers,
)
from softquery.answers.tag import TagError, Tagged, TagSet
from softquery.answers.tag_schemes import (
    Scheme,
    Span,
    converted,
    detect_scheme,
    misfit,
    spans_of,
    tags_of,
)

__all__ = [
    "Answer",
    "Calibration",
    "Classified",
    "Filled",
    "Match",
    "ContextWindow",
    "SlidingWindow",
    "WindowedContext",
    "WindowPlace",
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
    "answer_columns",
    "best_spans",
    "candidates",
    "converted",
    "detect_scheme",
    "filled_record",
    "make_windows",
    "misfit",
    "parse_class",
    "parse_distribution",
    "parse_grade",
    "choose_answers",
    "spans_of",
    "tags_of",
    "generated_record",
]

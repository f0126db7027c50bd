"""What answers look like, without torch: labels, grades, tags, spans, and who matched."""

from softquery.answers.calibration import Calibration
from softquery.answers.classified import Classified
from softquery.answers.labels import parse_class, parse_distribution, parse_grade
from softquery.answers.match import Match
from softquery.answers.schemes import (
    Scheme,
    Span,
    converted,
    detect_scheme,
    misfit,
    spans_of,
    tags_of,
)
from softquery.answers.tag_set import TagError, TagSet
from softquery.answers.tagged import Tagged
from softquery.answers.written import Written, written_record

__all__ = [
    "Calibration",
    "Classified",
    "Match",
    "Scheme",
    "Span",
    "TagError",
    "TagSet",
    "Tagged",
    "Written",
    "converted",
    "detect_scheme",
    "misfit",
    "parse_class",
    "parse_distribution",
    "parse_grade",
    "spans_of",
    "tags_of",
    "written_record",
]

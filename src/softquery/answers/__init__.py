"""What answers look like, without torch: labels, grades, and who matched."""

from softquery.answers.calibration import Calibration
from softquery.answers.labels import parse_class, parse_distribution, parse_grade
from softquery.answers.match import Match

__all__ = ["Calibration", "Match", "parse_class", "parse_distribution", "parse_grade"]

"""Bundle to answers."""

from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.matcher import Matcher, load

__all__ = ["Evaluation", "Matcher", "evaluate", "load"]

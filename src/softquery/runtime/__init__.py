"""Bundle to answers."""

from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher
from softquery.runtime.tagger import Tagger

__all__ = ["Evaluation", "Matcher", "Tagger", "evaluate", "load"]

"""Bundle to answers."""

from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher
from softquery.runtime.requests import Request
from softquery.runtime.tagger import Tagger
from softquery.runtime.writer import Writer

__all__ = ["Evaluation", "Matcher", "Request", "Tagger", "Writer", "evaluate", "load"]

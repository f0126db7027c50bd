"""Bundle to answers."""

from softquery.runtime.classifier import Classifier, load_classifier
from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher
from softquery.runtime.tagger import Tagger

__all__ = ["Classifier", "Evaluation", "Matcher", "Tagger", "evaluate", "load", "load_classifier"]

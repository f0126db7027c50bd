"""Bundle to answers."""

from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher
from softquery.runtime.tagger import Tagger
from softquery.runtime.word_space import WordSpace, load_vectors

__all__ = ["Evaluation", "Matcher", "Tagger", "WordSpace", "evaluate", "load", "load_vectors"]

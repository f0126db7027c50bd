"""Bundle to answers."""

from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.matcher import Matcher, load
from softquery.runtime.word_space import WordSpace, load_vectors

__all__ = ["Evaluation", "Matcher", "WordSpace", "evaluate", "load", "load_vectors"]

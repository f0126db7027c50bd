"""Bundle to answers."""

from softquery.runtime.embedder import Embedder, EmbeddingStream, open_embedder
from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.layer_choice import Mix
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher, load_matcher
from softquery.runtime.words_in_context import WordsInContext

__all__ = [
    "Embedder",
    "EmbeddingStream",
    "Evaluation",
    "Matcher",
    "Mix",
    "WordsInContext",
    "evaluate",
    "load",
    "load_matcher",
    "open_embedder",
]

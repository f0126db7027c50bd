"""Bundle to answers."""

from softquery.runtime.embedder import Embedder, EmbeddingStream, open_embedder
from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.layer_choice import Mix
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher, load_matcher
from softquery.runtime.reader import Reader, load_reader
from softquery.runtime.tagger import Tagger, load_tagger
from softquery.runtime.word_space import WordSpace, load_vectors
from softquery.runtime.words_in_context import WordsInContext

__all__ = [
    "Embedder",
    "EmbeddingStream",
    "Evaluation",
    "Matcher",
    "Mix",
    "Reader",
    "Tagger",
    "WordSpace",
    "WordsInContext",
    "evaluate",
    "load",
    "load_matcher",
    "load_reader",
    "load_tagger",
    "load_vectors",
    "open_embedder",
]

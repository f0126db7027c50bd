"""Bundle to answers."""

from softquery.runtime.classifier import Classifier, load_classifier
from softquery.runtime.embedder import Embedder, EmbeddingStream, open_embedder
from softquery.runtime.evaluation import Evaluation, evaluate
from softquery.runtime.layer_choice import Mix
from softquery.runtime.loading import load
from softquery.runtime.matcher import Matcher, load_matcher
from softquery.runtime.piece_embedder import PieceEmbedder, open_pieces
from softquery.runtime.reader import Reader, load_reader
from softquery.runtime.requests import Request
from softquery.runtime.tagger import Tagger, load_tagger
from softquery.runtime.word_space import WordSpace, load_vectors
from softquery.runtime.words_in_context import WordsInContext
from softquery.runtime.writer import Writer, load_writer

__all__ = [
    "Classifier",
    "Embedder",
    "EmbeddingStream",
    "Evaluation",
    "Matcher",
    "Mix",
    "PieceEmbedder",
    "Reader",
    "Request",
    "Tagger",
    "WordSpace",
    "WordsInContext",
    "Writer",
    "evaluate",
    "load",
    "load_classifier",
    "load_matcher",
    "load_reader",
    "load_tagger",
    "load_vectors",
    "load_writer",
    "open_embedder",
    "open_pieces",
]

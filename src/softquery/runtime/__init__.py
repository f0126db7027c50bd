"""From a bundle to answers: a folder per task, and beside them what the tasks share."""

import warnings
from typing import Any

from softquery.runtime.classify.model import Classifier, load_classifier
from softquery.runtime.embed.layer_choice import Mix
from softquery.runtime.embed.model import ContextEmbedder, EmbeddingStream, open_embedder
from softquery.runtime.embed.piece_embedder import PieceEmbedder, open_pieces
from softquery.runtime.embed.word_layers import WordsInContext
from softquery.runtime.encode.evaluate import EncodeEvaluation
from softquery.runtime.encode.model import SentenceEncoder, load_sentence_encoder
from softquery.runtime.fill.model import FillRequest, MaskFiller, open_filler
from softquery.runtime.generate.model import Generator, load_generator
from softquery.runtime.generate.request import GenerateRequest
from softquery.runtime.loading import evaluate, load
from softquery.runtime.match.evaluate import MatchEvaluation
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.runtime.read.model import Reader, load_reader
from softquery.runtime.tag.model import Tagger, load_tagger
from softquery.runtime.vectors.model import WordVectors, load_vectors

__all__ = [
    "Classifier",
    "ContextEmbedder",
    "EmbeddingStream",
    "EncodeEvaluation",
    "FillRequest",
    "GenerateRequest",
    "Generator",
    "MaskFiller",
    "MatchEvaluation",
    "Matcher",
    "Mix",
    "PieceEmbedder",
    "Reader",
    "SentenceEncoder",
    "Tagger",
    "WordVectors",
    "WordsInContext",
    "evaluate",
    "load",
    "load_classifier",
    "load_generator",
    "load_matcher",
    "load_reader",
    "load_sentence_encoder",
    "load_tagger",
    "load_vectors",
    "open_embedder",
    "open_filler",
    "open_pieces",
]

_FORMER = {"Writer": "Generator", "WordSpace": "WordVectors", "Embedder": "ContextEmbedder"}
"""Names of version 0.1, kept for one version."""


def __getattr__(name: str) -> Any:
    """A former name as what it is called now, with a warning."""
    if name not in _FORMER:
        raise AttributeError(f"module 'softquery.runtime' has no attribute {name!r}")
    now = _FORMER[name]
    warnings.warn(f"softquery.{name} is now softquery.{now}", DeprecationWarning, stacklevel=2)
    return globals()[now]

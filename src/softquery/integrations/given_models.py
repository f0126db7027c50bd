"""What people hand to an integration: models and indexes by name, by folder, or open already."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from softquery.errors import ConfigError
from softquery.runtime import SentenceEncoder, load

if TYPE_CHECKING:
    from softquery.search import Index

Verb = Literal["encode", "rank", "predict"]
Content = Literal["answer", "question"]
DOES: Mapping[Verb, str] = {
    "encode": "gives no vectors of texts",
    "rank": "does not rank texts",
    "predict": "does not answer",
}


def open_model(given: Any, verb: Verb, *, threads: int | None = None) -> Any:
    """An open model that can do what is asked of it.

    Args:
        given: Its name, its folder, or the model itself.
        verb: What it is for.
        threads: Threads of one call, for a model that is opened here; None for all cores.

    Raises:
        ConfigError: It cannot.

    >>> open_model("embed-en", "encode").output_size
    384
    >>> open_model("match-en", "rank").rank("pay", ["how do I pay?"])[0]["corpus_id"]
    0
    """
    model = load(given, threads=threads) if isinstance(given, (str, PathLike)) else given
    if not callable(getattr(model, verb, None)):
        named = given if isinstance(given, (str, PathLike)) else type(given).__name__
        raise ConfigError(f"{named}: {DOES[verb]}")
    return model


def vectors_of(
    model: Any, texts: Sequence[str], *, dimensions: int | None = None
) -> list[list[float]]:
    """A vector for each text, as lists of numbers, which other frameworks expect.

    Args:
        model: An open model that has `encode`.
        texts: The texts.
        dimensions: How many numbers of each vector to keep; sentence encoders alone can cut.

    >>> len(vectors_of(open_model("embed-en", "encode"), ["a man eats"], dimensions=64)[0])
    64
    """
    if isinstance(model, SentenceEncoder):
        return list(model.encode(texts, dimensions=dimensions).tolist())
    if dimensions is not None:
        raise ConfigError("dimensions are for a sentence encoder; omit them for other models")
    return list(model.encode(texts).tolist())


def open_index(given: Any, *, threads: int | None = None) -> "Index":
    """An open index: one that is given, or that of a folder."""
    from softquery.search import Index

    if isinstance(given, Index):
        return given
    if not isinstance(given, (str, PathLike)):
        raise ConfigError(f"index must be an Index or its folder, got {given!r:.60}")
    return Index.open(given, threads=threads)


def document_of(hit: Mapping[str, Any], content: Content) -> tuple[str, dict[str, Any]]:
    """The text of a hit and all else about it, as frameworks keep documents.

    Args:
        hit: As `Index.search` returns it.
        content: Which column is the text; a row without an answer has its question as the text.

    >>> document_of({"id": "7", "question": "Pay?", "answer": "", "score": 0.9}, "answer")
    ('Pay?', {'id': '7', 'question': 'Pay?', 'answer': '', 'score': 0.9})
    """
    if content not in ("answer", "question"):
        raise ConfigError(f"content must be 'answer' or 'question', got {content!r:.40}")
    return str(hit[content] or hit["question"]), dict(hit)

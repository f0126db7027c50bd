"""spaCy: a tagger and vectors as components of a pipeline.

Importing this file registers `softquery_tagger` and `softquery_vectors`; spaCy then finds them by
these names. Their settings are values, so that a pipeline with them is saved and loaded as any
other.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from softquery.errors import ConfigError, MissingExtra
from softquery.runtime import ContextEmbedder, SentenceEncoder, Tagger, load

try:
    from spacy.language import Language
    from spacy.parts_of_speech import IDS
    from spacy.tokens import Doc, Span, Token
    from spacy.util import filter_spans, minibatch
except ImportError:
    raise MissingExtra("spacy", needed_for="components of spaCy") from None

DOCS = 64
"""How many documents are computed together."""


class _Component:
    """What the components share: they are called with a document, or piped many."""

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int = DOCS) -> Iterator[Doc]:
        """Annotate documents, several at a time, in their order."""
        for docs in minibatch(stream, batch_size):
            self.annotate(docs)
            yield from docs

    def annotate(self, docs: list[Doc]) -> None:
        """Write what the model says into some documents."""
        raise TypeError(f"{type(self).__name__} writes nothing")


class DocTagger(_Component):
    """Writes a tagger's tags into documents.

    Tags of words become `token.tag_`, and `token.pos_` where they are Universal Dependencies'. Tags
    of spans, such as names, become `doc.ents`; entities that are there already stay where the two
    overlap. The tagger reads the tokens that spaCy cut; spaces get no tag.

    Args:
        tagger: An opened tagger.
    """

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger

    def annotate(self, docs: list[Doc]) -> None:
        """Write the tags of some documents."""
        tokens = [[token for token in doc if not token.is_space] for doc in docs]
        answers = self.tagger.predict([[token.text for token in each] for each in tokens])
        for doc, words, answer in zip(docs, tokens, answers, strict=True):
            if self.tagger.tags.scheme == "plain":
                _write_tags(words, answer.tags)
            else:
                _write_spans(doc, words, answer.spans)


class DocVectors(_Component):
    """Gives documents the vectors of a model, through spaCy's hooks.

    Words in context (ELMo) give every token its own vector, which depends on its sentence, and
    stand in `doc.tensor`; a document's or a span's is the mean of its tokens. A sentence encoder
    gives documents and spans the vector of their text, and a token that of its word.

    Args:
        model: An opened model: a `ContextEmbedder` or a `SentenceEncoder`.
        layers: Which layers of words in context, as `ContextEmbedder.embed` takes them, but one.
    """

    def __init__(self, model: Any, layers: Any = "mix") -> None:
        if not isinstance(model, (ContextEmbedder, SentenceEncoder)):
            message = "expected words in context (ELMo) or a sentence encoder"
            raise ConfigError(f"{message}, got {type(model).__name__}")
        if layers == "all":
            raise ConfigError("layers must be one: 'mix', 'top', 'average' or a number, got 'all'")
        self.model, self.layers = model, layers

    def annotate(self, docs: list[Doc]) -> None:
        """Compute the vectors of some documents, and hook them in."""
        if isinstance(self.model, ContextEmbedder):
            words = [[token.text for token in doc if not token.is_space] for doc in docs]
            found = self.model.embed(words, layers=self.layers)
            for doc, vectors in zip(docs, found, strict=True):
                doc.tensor = _by_token(doc, vectors[0])
                _hook(doc, _mean, _row)
            return
        for doc, vector in zip(docs, self.model.encode([doc.text for doc in docs]), strict=True):
            doc.tensor = vector[None]
            _hook(doc, self._of_text, self._of_text)

    def _of_text(self, given: Doc | Span | Token) -> Any:
        if isinstance(given, Doc):
            return given.tensor[0]
        return self.model.encode([given.text])[0]


def _write_tags(words: list[Token], tags: Iterable[str]) -> None:
    for token, tag in zip(words, tags, strict=True):
        token.tag_ = tag
        if tag in IDS:
            token.pos_ = tag


def _write_spans(doc: Doc, words: list[Token], spans: Iterable[Any]) -> None:
    found = [
        Span(doc, words[each.start].i, words[each.end - 1].i + 1, label=each.label)
        for each in spans
    ]
    taken = {token.i for entity in doc.ents for token in entity}
    free = [each for each in found if not taken & set(range(each.start, each.end))]
    doc.ents = filter_spans([*doc.ents, *free])


def _by_token(doc: Doc, vectors: Any) -> Any:
    """A row for each token; spaces, and words beyond the model's limit, have zeros."""
    rows = np.zeros((len(doc), vectors.shape[1]), dtype=np.float32)
    places = [token.i for token in doc if not token.is_space][: len(vectors)]
    rows[places] = vectors
    return rows


def _mean(given: Doc | Span) -> Any:
    rows = given.tensor
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1], dtype=np.float32)


def _row(token: Token) -> Any:
    return token.doc.tensor[token.i]


def _hook(doc: Doc, of_texts: Callable[[Any], Any], of_tokens: Callable[[Any], Any]) -> None:
    """Let spaCy ask here for vectors, their lengths and similarities."""
    for hooks, vector in (
        (doc.user_hooks, of_texts),
        (doc.user_span_hooks, of_texts),
        (doc.user_token_hooks, of_tokens),
    ):
        hooks["vector"] = vector
        hooks["has_vector"] = lambda given: bool(given.vector.any())
        hooks["vector_norm"] = lambda given: float(np.linalg.norm(given.vector))
        hooks["similarity"] = _cosine


def _cosine(given: Any, other: Any) -> float:
    lengths = float(np.linalg.norm(given.vector) * np.linalg.norm(other.vector))
    return float(given.vector @ other.vector) / lengths if lengths else 0.0


@Language.factory(  # type: ignore[untyped-decorator]
    "softquery_tagger", default_config={"model": "tagger-en", "threads": None}
)
def make_tagger(nlp: Language, name: str, model: str, threads: int | None) -> DocTagger:
    """The component `softquery_tagger`, from its settings."""
    opened = load(model, threads=threads)
    if not isinstance(opened, Tagger):
        raise ConfigError(f"{model}: is no tagger")
    return DocTagger(opened)


@Language.factory(  # type: ignore[untyped-decorator]
    "softquery_vectors", default_config={"model": "elmo-en", "layers": "mix", "threads": None}
)
def make_vectors(
    nlp: Language, name: str, model: str, layers: str | int, threads: int | None
) -> DocVectors:
    """The component `softquery_vectors`, from its settings."""
    return DocVectors(load(model, threads=threads), layers)

"""The verbs of models as the engine computes them: items of many requests in one batch.

One class per verb and kind of model. Each is made from a model's name and the opened model.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Generated
from softquery.errors import InputError, SoftqueryError
from softquery.runtime import ContextEmbedder, GenerateRequest, Matcher, PieceEmbedder
from softquery.runtime.vectors.text_vectors import WordVectorAverages, mean_in_context, own_vectors
from softquery.search import SearchResult
from softquery.serve.engine import SplitRequest
from softquery.serve.telemetry import log

Floats = NDArray[np.float32]
TokenIds = tuple[int, ...]
REFRESH = 1.0
"""Seconds after which an index is checked for changes again."""
SEARCH_COST = 1000
"""Tokens that a search costs: fifty rows of ten words, each compared with a query of ten."""


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """Texts to be compared: pairwise, or one text with every text of the other side."""

    first: Sequence[str]
    second: Sequence[str]


class MatchHandler:
    """A matcher's probabilities of pairs: a list of floats for each.

    Args:
        name: The name of the model.
        matcher: The model, opened for one thread.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher = name, matcher

    def split(self, request: MatchRequest) -> SplitRequest:
        """Tokenise every distinct text once; an item is a pair."""
        texts = list(dict.fromkeys([*request.first, *request.second]))
        ids, cuts = self.matcher.read(texts)
        sentence = {text: tuple(found) for text, found in zip(texts, ids, strict=True)}
        first = [sentence[text] for text in request.first]
        second = [sentence[text] for text in request.second]
        if len(first) != len(second):
            first, second = first * len(second), second * len(first)
        return SplitRequest(
            list(zip(first, second, strict=True)),
            [len(one) + len(other) for one, other in zip(first, second, strict=True)],
            num_tokens=sum(map(len, ids)),
            num_truncated=sum(cut > 0 for cut in cuts),
        )

    def compute(self, items: Sequence[tuple[TokenIds, TokenIds]]) -> list[list[float]]:
        """Encode the texts that are not in the matcher's cache, then compare."""
        unique = list(dict.fromkeys(side for pair in items for side in pair))
        encoding = dict(zip(unique, self.matcher.encode_read(unique), strict=True))
        queries = {first for first, _ in items}
        first = [items[0][0]] if len(queries) == 1 else [first for first, _ in items]
        rows = self.matcher.compare(
            [encoding[side] for side in first], [encoding[second] for _, second in items]
        )
        found: list[list[float]] = rows.tolist()
        return found


class MatcherVectorHandler:
    """A matcher's vectors of texts.

    Args:
        name: The name of the model.
        matcher: The model, which encodes each text by itself.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher, self.vectors = name, matcher, own_vectors(matcher)
        self.vector_size, self.pooling = self.vectors.size, self.vectors.pooling

    def split(self, request: Sequence[str]) -> SplitRequest:
        """Tokenise the texts; an item is a text."""
        ids, cuts = self.matcher.read(request)
        costs = [len(sentence) for sentence in ids]
        return SplitRequest(ids, costs, sum(costs), sum(cut > 0 for cut in cuts))

    def compute(self, items: Sequence[Sequence[int]]) -> list[Floats]:
        """Encode and pool."""
        encodings = self.matcher.encode_read(items)
        return [self.vectors.pooled(*pair) for pair in zip(items, encodings, strict=True)]


class ContextVectorHandler:
    """Vectors of texts from an embedder of words in context, or from an encoder without a head.

    Args:
        name: The name of the model.
        embedder: The model, opened for one thread.
    """

    pooling = "mean"

    def __init__(self, name: str, embedder: ContextEmbedder | PieceEmbedder) -> None:
        self.name, self.embedder = name, embedder
        self.vector_size = embedder.output_size

    def split(self, request: Sequence[str]) -> SplitRequest:
        """Cut the texts into words; an item is a text."""
        words = self.embedder.tokens(request)
        kept = [sentence[: self.embedder.max_tokens] for sentence in words]
        costs = [len(sentence) for sentence in kept]
        return SplitRequest(kept, costs, sum(costs), self.embedder.num_cut(words))

    def compute(self, items: Sequence[list[str]]) -> list[Floats]:
        """The mean over the words of each text."""
        found = self.embedder.embed_tokens(items, layers="mix")
        return [mean_in_context(self.embedder, each) for each in found]


class WordVectorHandler:
    """Vectors of texts from the vectors of their words.

    Args:
        name: The name of the bundle.
        vectors: The word vectors, which average those of a text.
    """

    pooling = "mean"

    def __init__(self, name: str, vectors: WordVectorAverages) -> None:
        self.name, self.vectors, self.vector_size = name, vectors, vectors.size

    def split(self, request: Sequence[str]) -> SplitRequest:
        """Cut the texts into words; an item is a text."""
        words = self.vectors.read(request)
        costs = [len(sentence) for sentence in words]
        return SplitRequest(words, costs, sum(costs))

    def compute(self, items: Sequence[list[str]]) -> list[Floats]:
        """The weighted mean over the words of each text."""
        return [self.vectors.pooled(words) for words in items]


class ExplainHandler:
    """A matcher's alignments of pairs, as plain values ready for JSON.

    Args:
        name: The name of the model.
        matcher: The model, which aligns words.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher = name, matcher

    def split(self, request: tuple[str, str]) -> SplitRequest:
        """The pair is one item: it is aligned by itself."""
        return SplitRequest([request], [sum(map(len, request))])

    def compute(self, items: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Align one pair after the other."""
        return [self._explained(*pair) for pair in items]

    def _explained(self, first: str, second: str) -> dict[str, Any]:
        found = self.matcher.explain(first, second)
        return {
            "first": first,
            "second": second,
            "first_tokens": list(found.first_tokens),
            "second_tokens": list(found.second_tokens),
            "first_to_second": np.round(found.first_to_second.astype(np.float64), 4).tolist(),
            "second_to_first": np.round(found.second_to_first.astype(np.float64), 4).tolist(),
            "label": found.label,
            "score": found.score,
            "probabilities": found.probabilities,
            "model": self.name,
        }


class PredictingModel(Protocol):
    """A classifier, a tagger or a reader: one answer per text, which depends on no other text."""

    def predict(self, texts: Sequence[Any], /) -> Sequence[Any]:
        """Answers in the order of the texts."""


class PredictHandler:
    """The answers of a model that predicts something of each text by itself.

    Args:
        name: The name of the model.
        model: The model.
    """

    def __init__(self, name: str, model: PredictingModel) -> None:
        self.name, self.model = name, model

    def split(self, request: Sequence[Any]) -> SplitRequest:
        """An item is a text; its cost is estimated by its length."""
        costs = [1 + _num_characters(text) // 4 for text in request]
        return SplitRequest(list(request), costs, sum(costs))

    def compute(self, items: Sequence[Any]) -> Sequence[Any]:
        """Predict all texts in one call."""
        return self.model.predict(items)


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Texts to generate from, and how."""

    texts: Sequence[str]
    options: GenerateRequest


class GeneratingModel(Protocol):
    """A generator: texts in, generated texts out."""

    def generate(self, texts: Sequence[str], request: GenerateRequest) -> list[list[Generated]]:
        """The generated texts for each source, best first; none if the rules allow none."""


class GenerateHandler:
    """A generator's texts for each text, best first.

    Args:
        name: The name of the model.
        generator: The model, opened for one thread.
    """

    def __init__(self, name: str, generator: GeneratingModel) -> None:
        self.name, self.generator = name, generator

    def split(self, request: GenerationRequest) -> SplitRequest:
        """An item is a text; it costs its length times the hypotheses that the search keeps."""
        options = request.options
        lengths = [1 + len(text) // 4 for text in request.texts]
        kept = getattr(options.strategy, "size", 1) * (1 + (options.rank == "both_ways"))
        items = [(text, options) for text in request.texts]
        return SplitRequest(items, [length * kept for length in lengths], sum(lengths))

    def compute(self, items: Sequence[tuple[str, GenerateRequest]]) -> list[list[Generated]]:
        """Generate together for those texts that have the same options."""
        places_by_options: dict[GenerateRequest, list[int]] = {}
        for place, (_, options) in enumerate(items):
            places_by_options.setdefault(options, []).append(place)
        found: list[list[Generated]] = [[]] * len(items)
        for options, places in places_by_options.items():
            generated = self.generator.generate([items[place][0] for place in places], options)
            for place, answers in zip(places, generated, strict=True):
                if not answers:
                    raise InputError(f"the rules leave no text for {items[place][0]!r:.80}")
                found[place] = answers
        return found


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to an index."""

    query: str
    top_k: int = 5
    where: Mapping[str, str | Sequence[str]] | None = None
    min_score: float | None = None
    candidates: int = 50
    explain: bool = False


class SearchableIndex(Protocol):
    """An index of questions and answers."""

    def find(
        self,
        query: str,
        *,
        top_k: int,
        where: Mapping[str, str | Sequence[str]] | None,
        min_score: float | None,
        candidates: int,
        explain: bool,
    ) -> SearchResult:
        """The best hits, best first, and time by stage."""

    def refresh(self) -> bool:
        """Load what other processes have changed."""


class SearchHandler:
    """Searches an index, and regularly loads what other processes have changed in it.

    Args:
        name: The name of the index.
        index: Safe to use from many threads.
    """

    def __init__(self, name: str, index: SearchableIndex) -> None:
        self.name, self.index = name, index
        self._next_refresh = 0.0
        self._lock = threading.Lock()

    def split(self, request: SearchRequest) -> SplitRequest:
        """The query is one item: an index batches its own work."""
        return SplitRequest([request], [SEARCH_COST])

    def compute(self, items: Sequence[SearchRequest]) -> list[SearchResult]:
        """What each query found; a blank query finds nothing."""
        self._refresh_if_due()
        return [self._search(request) for request in items]

    def _search(self, request: SearchRequest) -> SearchResult:
        if not request.query.strip():
            return SearchResult(request.query, [], [])
        return self.index.find(
            request.query,
            top_k=request.top_k,
            where=request.where,
            min_score=request.min_score,
            candidates=request.candidates,
            explain=request.explain,
        )

    def _refresh_if_due(self) -> None:
        """Load changes; if that fails, the index is served as it was."""
        if time.monotonic() < self._next_refresh or not self._lock.acquire(blocking=False):
            return
        try:
            self.index.refresh()
        except (SoftqueryError, OSError) as error:
            fields = {"index": self.name, "error": type(error).__name__}
            log(
                logging.WARNING, "an index could not be refreshed; its last state is served", fields
            )
        finally:
            self._next_refresh = time.monotonic() + REFRESH
            self._lock.release()


def _num_characters(text: Any) -> int:
    if isinstance(text, str):
        return len(text)
    return sum(map(_num_characters, text)) if isinstance(text, (list, tuple)) else 0

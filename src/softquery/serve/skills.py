"""What models can do, as the engine computes it: pieces of many requests together."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softquery.answers import Generated
from softquery.errors import InputError, SoftqueryError
from softquery.runtime import ContextEmbedder, GenerateRequest, Matcher, PieceEmbedder
from softquery.runtime.vectors.text_vectors import (
    EncodingVectors,
    StateVectors,
    WordVectorAverages,
    mean_in_context,
)
from softquery.search import SearchResult
from softquery.serve.engine import SplitRequest
from softquery.serve.request_log import log
from softquery.serve.vector_json import Floats

Sentence = tuple[int, ...]
REFRESH = 1.0
"""Seconds after which an index is looked at again."""
SEARCH_COST = 1000
"""Tokens that a search costs: fifty rows of ten words, each compared with a query of ten."""


@dataclass(frozen=True, slots=True)
class PairRequest:
    """Texts to be compared: pairwise, or one with every one of the other side."""

    first: Sequence[str]
    second: Sequence[str]


class PairLane:
    """A matcher's probabilities of pairs: a list of floats for each.

    Args:
        name: Of the model.
        matcher: The model, opened for one thread.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher = name, matcher

    def cut(self, request: PairRequest) -> SplitRequest:
        """Number all texts, each of them once."""
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
            num_cut=sum(cut > 0 for cut in cuts),
        )

    def answers(self, pieces: Sequence[tuple[Sentence, Sentence]]) -> list[list[float]]:
        """Encode what was not encoded of late, then compare."""
        unique = list(dict.fromkeys(side for pair in pieces for side in pair))
        encoding = dict(zip(unique, self.matcher.encode_read(unique), strict=True))
        askers = {first for first, _ in pieces}
        first = [pieces[0][0]] if len(askers) == 1 else [first for first, _ in pieces]
        rows = self.matcher.compare(
            [encoding[side] for side in first], [encoding[second] for _, second in pieces]
        )
        found: list[list[float]] = rows.tolist()
        return found


class MatcherVectorLane:
    """A matcher's vectors of texts.

    Args:
        name: Of the model.
        matcher: The model.
        vectors: What makes one of an encoding.
    """

    def __init__(
        self, name: str, matcher: Matcher, vectors: StateVectors | EncodingVectors
    ) -> None:
        self.name, self.matcher, self.vectors = name, matcher, vectors

    def cut(self, request: Sequence[str]) -> SplitRequest:
        """Number the texts."""
        ids, cuts = self.matcher.read(request)
        costs = [len(sentence) for sentence in ids]
        return SplitRequest(ids, costs, sum(costs), sum(cut > 0 for cut in cuts))

    def answers(self, pieces: Sequence[Sequence[int]]) -> list[Floats]:
        """Encode and pool."""
        encodings = self.matcher.encode_read(pieces)
        return [self.vectors.pooled(*pair) for pair in zip(pieces, encodings, strict=True)]


class EmbedderLane:
    """An embedder's vectors of texts, or those of an encoder without a head.

    Args:
        name: Of the model.
        embedder: The model, opened for one thread.
    """

    def __init__(self, name: str, embedder: ContextEmbedder | PieceEmbedder) -> None:
        self.name, self.embedder = name, embedder

    def cut(self, request: Sequence[str]) -> SplitRequest:
        """Cut texts into words."""
        words = self.embedder.tokens(request)
        kept = [sentence[: self.embedder.max_tokens] for sentence in words]
        costs = [len(sentence) for sentence in kept]
        return SplitRequest(kept, costs, sum(costs), self.embedder.num_cut(words))

    def answers(self, pieces: Sequence[list[str]]) -> list[Floats]:
        """The mean over the words of each text."""
        found = self.embedder.embed_tokens(pieces, layers="mix")
        return [mean_in_context(self.embedder, each) for each in found]


class WordVectorLane:
    """Vectors of texts by their words' vectors.

    Args:
        name: Of the bundle.
        vectors: What it holds.
    """

    def __init__(self, name: str, vectors: WordVectorAverages) -> None:
        self.name, self.vectors = name, vectors

    def cut(self, request: Sequence[str]) -> SplitRequest:
        """Cut texts into words."""
        words = self.vectors.read(request)
        costs = [len(sentence) for sentence in words]
        return SplitRequest(words, costs, sum(costs))

    def answers(self, pieces: Sequence[list[str]]) -> list[Floats]:
        """The weighted mean over the words of each text."""
        return [self.vectors.pooled(words) for words in pieces]


class ExplainLane:
    """A matcher's alignments of pairs, as plain values ready for JSON.

    Args:
        name: Of the model.
        matcher: The model, which aligns words.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher = name, matcher

    def cut(self, request: tuple[str, str]) -> SplitRequest:
        """One piece: a pair is aligned by itself."""
        return SplitRequest([request], [sum(map(len, request))])

    def answers(self, pieces: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """One after the other."""
        return [self._explained(*piece) for piece in pieces]

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


class TextLane:
    """A model that answers texts, such as a classifier or a tagger.

    Args:
        name: Of the model.
        predict: Takes texts and gives one answer each, which depends on no other text.
    """

    def __init__(self, name: str, predict: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self.name, self.predict = name, predict

    def cut(self, request: Sequence[Any]) -> SplitRequest:
        """A text a piece, its cost guessed by its length."""
        costs = [1 + _num_characters(text) // 4 for text in request]
        return SplitRequest(list(request), costs, sum(costs))

    def answers(self, pieces: Sequence[Any]) -> Sequence[Any]:
        """All of them together."""
        return self.predict(pieces)


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """Texts to write for, and how."""

    texts: Sequence[str]
    how: GenerateRequest


class Writes(Protocol):
    """What writes texts for texts."""

    def generate(self, texts: Sequence[str], request: GenerateRequest) -> list[list[Generated]]:
        """Texts for each source, best first; none where the rules leave none."""
        ...


class WriteLane:
    """A generator's texts for each text, best first.

    Args:
        name: Of the model.
        writer: The model, opened for one thread.
    """

    def __init__(self, name: str, writer: Writes) -> None:
        self.name, self.writer = name, writer

    def cut(self, request: WriteRequest) -> SplitRequest:
        """A text a piece; every text that the search keeps costs as much as it is long."""
        lengths = [1 + len(text) // 4 for text in request.texts]
        kept = getattr(request.how.strategy, "size", 1) * (1 + (request.how.rank == "both_ways"))
        pieces = [(text, request.how) for text in request.texts]
        return SplitRequest(pieces, [length * kept for length in lengths], sum(lengths))

    def answers(self, pieces: Sequence[tuple[str, GenerateRequest]]) -> list[list[Generated]]:
        """Those that are to be written alike are written together."""
        alike: dict[GenerateRequest, list[int]] = {}
        for number, (_, how) in enumerate(pieces):
            alike.setdefault(how, []).append(number)
        found: list[list[Generated]] = [[]] * len(pieces)
        for how, numbers in alike.items():
            written = self.writer.generate([pieces[number][0] for number in numbers], how)
            for number, answers in zip(numbers, written, strict=True):
                if not answers:
                    raise InputError(f"the rules leave no text for {pieces[number][0]!r:.80}")
                found[number] = answers
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


class Searches(Protocol):
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
        """Take up what other processes have changed."""


class SearchLane:
    """Searches an index, and takes up now and then what other processes have changed in it.

    Args:
        name: Of the index.
        index: Safe from many threads.
    """

    def __init__(self, name: str, index: Searches) -> None:
        self.name, self.index = name, index
        self._next = 0.0
        self._lock = threading.Lock()

    def cut(self, request: SearchRequest) -> SplitRequest:
        """One piece: an index batches its own work."""
        return SplitRequest([request], [SEARCH_COST])

    def answers(self, pieces: Sequence[SearchRequest]) -> list[SearchResult]:
        """What each query found; one of blanks finds nothing."""
        self._keep_up()
        return [self._found(piece) for piece in pieces]

    def _found(self, asked: SearchRequest) -> SearchResult:
        if not asked.query.strip():
            return SearchResult(asked.query, [], [])
        return self.index.find(
            asked.query,
            top_k=asked.top_k,
            where=asked.where,
            min_score=asked.min_score,
            candidates=asked.candidates,
            explain=asked.explain,
        )

    def _keep_up(self) -> None:
        """An index that cannot be read any more is served as it was when it could."""
        if time.monotonic() < self._next or not self._lock.acquire(blocking=False):
            return
        try:
            self.index.refresh()
        except (SoftqueryError, OSError) as error:
            fields = {"index": self.name, "error": type(error).__name__}
            log(logging.WARNING, "an index cannot be read anew", fields)
        finally:
            self._next = time.monotonic() + REFRESH
            self._lock.release()


def _num_characters(text: Any) -> int:
    if isinstance(text, str):
        return len(text)
    return sum(map(_num_characters, text)) if isinstance(text, (list, tuple)) else 0


def log_odds(probability: float) -> float:
    """The score whose sigmoid is the probability, kept finite.

    >>> log_odds(0.5), log_odds(1.0) < 40
    (0.0, True)
    """
    safe = min(max(probability, 1e-15), 1 - 1e-15)
    return float(np.log(safe / (1 - safe)))

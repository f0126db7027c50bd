"""What the dialects have in common: texts in, numbers out, limits kept, time bounded."""

import asyncio
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from softquery.answers import Generated, Match
from softquery.errors import SoftqueryError, counted
from softquery.search import SearchResult
from softquery.serve.catalogue import Catalogue, Served, Skill
from softquery.serve.engine import Engine, EngineResult, Overloaded
from softquery.serve.faults import Fault, FaultKind, overloaded
from softquery.serve.metrics import Metrics
from softquery.serve.settings import Limits
from softquery.serve.skills import PairRequest, SearchRequest, WriteRequest
from softquery.serve.vector_json import Floats, normalised

REQUEST: ContextVar[dict[str, Any]] = ContextVar("softquery_request")
"""What is known of the request that is being answered: its deadline, and what its log line says."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores in the order of the texts, and what they cost."""

    model: str
    scores: list[float]
    num_tokens: int

    def best_first(self, top: int | None = None) -> list[tuple[int, float]]:
        """Places and scores; equal scores keep their order.

        >>> Scored("m", [0.1, 0.9, 0.9], 3).best_first(2)
        [(1, 0.9), (2, 0.9)]
        """
        places = sorted(range(len(self.scores)), key=lambda place: -self.scores[place])
        return [(place, self.scores[place]) for place in places[:top]]


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors in the order of the texts, and what they cost."""

    model: str
    vectors: list[Floats]
    num_tokens: int


class Service:
    """Answers; every method is a coroutine that ends within the request's time.

    Args:
        catalogue: What there is to ask.
        engine: Computes.
        limits: What one request may ask.
        metrics: Is told of texts that were cut.
    """

    def __init__(
        self, catalogue: Catalogue, engine: Engine, limits: Limits, metrics: Metrics
    ) -> None:
        self.catalogue, self.engine, self.limits = catalogue, engine, limits
        self.metrics = metrics

    async def score(
        self,
        model: str | None,
        first: Sequence[str],
        second: Sequence[str],
        *,
        truncate: bool | None = None,
    ) -> Scored:
        """How well texts match: pairwise, or one with all others."""
        served = self.catalogue.find("match", model)
        answered = await self._pairs(served, first, second, truncate)
        column = served.thing.column()
        return Scored(served.name, [row[column] for row in answered.answers], answered.num_tokens)

    async def match(
        self,
        model: str | None,
        pairs: Sequence[tuple[str, str]],
        *,
        truncate: bool | None = None,
    ) -> tuple[Served, list[Match], int]:
        """What each pair is, and how many tokens were read."""
        served = self.catalogue.find("match", model)
        first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        answered = await self._pairs(served, first, second, truncate)
        return served, served.thing.answers(np.array(answered.answers)), answered.num_tokens

    async def explain(self, model: str | None, first: str, second: str) -> dict[str, Any]:
        """Which words of two texts looked at which."""
        self.check_texts([first, second])
        answered = await self.ask(self.catalogue.find("explain", model), "explain", (first, second))
        found: dict[str, Any] = answered.answers[0]
        return found

    async def embed(
        self,
        model: str | None,
        texts: Sequence[str],
        *,
        normalize: bool = True,
        dimensions: int | None = None,
        truncate: bool | None = None,
    ) -> EmbeddedTexts:
        """A vector for each text."""
        served = self.catalogue.find_vectors(model, dimensions)
        self.check_texts(texts)
        answered = await self.ask(served, "embed", texts, truncate=truncate)
        vectors = normalised(answered.answers) if normalize else answered.answers
        return EmbeddedTexts(served.name, vectors, answered.num_tokens)

    async def search(
        self, index: str | None, request: SearchRequest
    ) -> tuple[Served, list[dict[str, Any]]]:
        """The best hits of an index."""
        served = self.catalogue.find("search", index)
        self.check_texts([request.query])
        if request.candidates > self.limits.max_texts:
            most = f"one request may compare {self.limits.max_texts:,}"
            raise Fault(FaultKind.VALIDATION, f"{request.candidates:,} candidates; {most}")
        found: SearchResult = (await self.ask(served, "search", request)).answers[0]
        for stage, seconds in found.seconds.items():
            self.metrics.stage(f"search {stage}", served.name, seconds)
        return served, found.hits

    async def predict(
        self, skill: Skill, model: str | None, texts: Sequence[Any]
    ) -> tuple[Served, list[Any]]:
        """What a classifier, a tagger or a reader says of each text."""
        served = self.catalogue.find(skill, model)
        self.check_texts([part for text in texts for part in _strings(text)], len(texts))
        return served, (await self.ask(served, skill, texts)).answers

    async def write(
        self, model: str | None, request: WriteRequest
    ) -> tuple[Served, list[list[Generated]]]:
        """What a generator writes for each text, best first."""
        served = self.catalogue.find("generate", model)
        how = request.how
        self.check_texts(request.texts)
        self.check_texts([how.prefix, *how.banned, *how.required])
        return served, (await self.ask(served, "generate", request)).answers

    def check_texts(self, texts: Sequence[str], count: int | None = None) -> None:
        """Refuse more than one request may ask."""
        most, longest = self.limits.max_texts, self.limits.max_text
        number = len(texts) if count is None else count
        if number > most:
            raise Fault(FaultKind.VALIDATION, f"{number:,} texts; one request may hold {most:,}")
        if any(len(text) > longest for text in texts):
            raise Fault(FaultKind.VALIDATION, f"a text is longer than {longest:,} characters")

    async def _pairs(
        self, served: Served, first: Sequence[str], second: Sequence[str], truncate: bool | None
    ) -> EngineResult:
        self.check_texts(first)
        self.check_texts(second)
        if len(first) != len(second) and 1 not in (len(first), len(second)):
            raise Fault(
                FaultKind.VALIDATION,
                f"{len(first)} first texts and {len(second)} second ones; expected as many, "
                "or one of one kind",
            )
        return await self.ask(served, "match", PairRequest(first, second), truncate=truncate)

    async def ask(
        self, served: Served, skill: Skill, request: Any, *, truncate: bool | None = None
    ) -> EngineResult:
        """Wait for the engine, no longer than the request may take."""
        known = REQUEST.get({})
        left = known.get("deadline", time.monotonic() + self.limits.timeout) - time.monotonic()
        try:
            waiting = asyncio.wrap_future(self.engine.submit(served.lanes[skill], request))
            answered = await asyncio.wait_for(waiting, max(0.001, left))
        except Overloaded as error:
            raise overloaded(error.retry_after) from None
        except asyncio.TimeoutError:
            raise _too_late(self.limits.timeout, self.engine.retry_after()) from None
        except Fault:
            raise
        except SoftqueryError as error:
            raise Fault(FaultKind.VALIDATION, str(error)) from None
        known.update(model=served.name, tokens=answered.num_tokens, computed=time.perf_counter())
        if answered.num_cut:
            self._note_cuts(served, answered.num_cut, truncate)
            known["cut"] = answered.num_cut
        return answered

    def _note_cuts(self, served: Served, count: int, truncate: bool | None) -> None:
        if truncate is False:
            many = counted(count, "text is", "texts are")
            raise Fault(
                FaultKind.VALIDATION,
                f"{many} longer than the {served.max_tokens} tokens that {served.name} reads; "
                "allow truncate",
            )
        self.metrics.cut.labels(served.name).inc(count)


def _too_late(seconds: float, retry_after: int) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"not answered within {seconds:g} s",
        headers={"Retry-After": str(retry_after)},
    )


def _strings(text: Any) -> list[str]:
    if isinstance(text, str):
        return [text]
    return [part for each in text for part in _strings(each)]

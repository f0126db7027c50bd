"""What all dialects share: it checks limits, asks the engine, and bounds the time."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softquery.answers import Filled, Generated, Match
from softquery.errors import SoftqueryError, StoreError, counted
from softquery.measure.word_scores import unit_rows
from softquery.search import IndexView, SearchResult
from softquery.search.query.filters import Where
from softquery.search.query.stages import RERANK
from softquery.serve.catalogue import Catalogue, ServedModel, Verb
from softquery.serve.engine import Engine, Overloaded
from softquery.serve.faults import Fault, FaultKind, overloaded
from softquery.serve.handlers import Floats, GenerationRequest, MatchRequest
from softquery.serve.prediction_handlers import FillingRequest
from softquery.serve.queued_request import BatchHandler, EngineResult, TooManyTokens
from softquery.serve.search_handler import SearchRequest
from softquery.serve.settings import Limits
from softquery.serve.telemetry import Metrics

REQUEST: ContextVar[dict[str, Any]] = ContextVar("softquery_request")
"""The deadline of the present request, and the fields that its log line will have."""


@dataclass(frozen=True, slots=True)
class ScoredTexts:
    """Scores in the order of the texts, and the tokens that were read."""

    model: str
    scores: list[float]
    num_tokens: int

    def best_first(self, top: int | None = None) -> list[tuple[int, float]]:
        """Places and scores, best first; equal scores keep their order.

        >>> ScoredTexts("m", [0.1, 0.9, 0.9], 3).best_first(2)
        [(1, 0.9), (2, 0.9)]
        """
        places = sorted(range(len(self.scores)), key=lambda place: -self.scores[place])
        return [(place, self.scores[place]) for place in places[:top]]


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors in the order of the texts, and the tokens that were read."""

    model: str
    vectors: list[Floats]
    num_tokens: int


class Service:
    """Answers requests; every method is a coroutine that ends within the request's time.

    Args:
        catalogue: The models and indexes.
        engine: Computes batches.
        limits: How much one request may ask.
        metrics: Counts truncated texts.
        refresh: Adds the indexes that other processes have made, if any may.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        engine: Engine,
        limits: Limits,
        metrics: Metrics,
        *,
        refresh: Callable[[], object] | None = None,
    ) -> None:
        self.catalogue, self.engine, self.limits = catalogue, engine, limits
        self.metrics, self._refresh = metrics, refresh

    async def score(
        self,
        model: str | None,
        first: Sequence[str],
        second: Sequence[str],
        *,
        truncate: bool | None = None,
    ) -> ScoredTexts:
        """How well texts match: pairwise, or one text with all others."""
        served = self.catalogue.find("match", model)
        result = await self._match(served, first, second, truncate)
        column = served.model.column()
        scores = [row[column] for row in result.answers]
        return ScoredTexts(served.name, scores, result.num_tokens)

    async def match(
        self,
        model: str | None,
        pairs: Sequence[tuple[str, str]],
        *,
        truncate: bool | None = None,
    ) -> tuple[ServedModel, list[Match], int]:
        """The match of each pair, and how many tokens were read."""
        served = self.catalogue.find("match", model)
        first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        result = await self._match(served, first, second, truncate)
        return served, served.model.answers(np.array(result.answers)), result.num_tokens

    async def explain(self, model: str | None, first: str, second: str) -> dict[str, Any]:
        """Which words of two texts attended to which."""
        self.check_texts([first, second])
        served = self.catalogue.find("explain", model)
        found: dict[str, Any] = (await self.ask(served, "explain", (first, second))).answers[0]
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
        result = await self.ask(served, "embed", texts, truncate=truncate)
        found = [vector[:dimensions] for vector in result.answers]
        vectors = normalised(found) if normalize else found
        return EmbeddedTexts(served.name, vectors, result.num_tokens)

    async def find_index(self, name: str | None) -> ServedModel:
        """The index of a name, which another process may have just made."""
        if all(each.name != name for each in self.catalogue.indexes):
            await self.refresh_indexes()
        return self.catalogue.find("search", name)

    async def refresh_indexes(self) -> None:
        """Serve the indexes that other processes have made."""
        if self._refresh is not None:
            await asyncio.to_thread(self._refresh)

    async def search(
        self, index: str | None, request: SearchRequest
    ) -> tuple[ServedModel, list[SearchResult]]:
        """What an index has for each query."""
        served = await self.find_index(index)
        self.check_texts(request.queries)
        self._check_rows(served, request)
        self._check_conditions(request.where or {})
        request = replace(request, max_weights=self.limits.max_tokens)
        found: list[SearchResult] = (await self.ask(served, "search", request)).answers
        for each in found:
            for stage, seconds in each.seconds.items():
                self.metrics.observe_stage(f"search {stage}", served.name, seconds)
        return served, found

    async def predict(
        self, verb: Verb, model: str | None, texts: Sequence[Any]
    ) -> tuple[ServedModel, list[Any]]:
        """What a classifier, a tagger or a reader predicts of each text."""
        served = self.catalogue.find(verb, model)
        self.check_texts([part for text in texts for part in _strings(text)], len(texts))
        return served, (await self.ask(served, verb, texts)).answers

    async def generate(
        self, model: str | None, request: GenerationRequest
    ) -> tuple[ServedModel, list[list[Generated]]]:
        """What a generator makes of each text, best first."""
        served = self.catalogue.find("generate", model)
        options = request.options
        self.check_texts(request.texts)
        self.check_texts([options.prefix, *options.ban, *options.require])
        return served, (await self.ask(served, "generate", request)).answers

    async def fill(
        self, model: str | None, request: FillingRequest
    ) -> tuple[ServedModel, list[list[Filled]]]:
        """Words for the masks of each text."""
        served = self.catalogue.find("fill", model)
        self.check_texts(request.texts)
        self.check_texts(request.options.candidates)
        return served, (await self.ask(served, "fill", request)).answers

    def check_texts(self, texts: Sequence[str], count: int | None = None) -> None:
        """Refuse more texts, or longer ones, than one request may hold."""
        most, longest = self.limits.max_texts, self.limits.max_text
        number = len(texts) if count is None else count
        if number > most:
            message = f"{number:,} texts; one request may hold {most:,}"
            raise Fault(FaultKind.VALIDATION, message, tei="Validation")
        if any(len(text) > longest for text in texts):
            message = f"a text is longer than {longest:,} characters"
            raise Fault(FaultKind.VALIDATION, message, tei="Validation")

    def _check_rows(self, served: ServedModel, request: SearchRequest) -> None:
        """Refuse to compare more rows than one request may; without recall, that is every row."""
        most, count = f"one request may compare {self.limits.max_texts:,}", len(request.queries)
        times = "" if count == 1 else f" for each of {count:,} queries"
        if request.candidates * count > self.limits.max_texts:
            raise Fault(FaultKind.VALIDATION, f"{request.candidates:,} candidates{times}; {most}")
        is_alone = request.stages == (RERANK,) and isinstance(served.model, IndexView)
        if is_alone and len(served.model) * count > self.limits.max_texts:
            every = f"rerank alone compares all {len(served.model):,} rows{times}"
            message = f"{every}; {most}; name words or vectors as well"
            raise Fault(FaultKind.VALIDATION, message)

    def _check_conditions(self, where: Where) -> None:
        """Refuse more values of conditions, or longer ones, than one request may hold."""
        lists = [
            list(map(str, value.values())) if isinstance(value, Mapping) else _strings(value)
            for value in where.values()
        ]
        values = [each for found in lists for each in found]
        if len(values) > self.limits.max_texts:
            most = f"one request may hold {self.limits.max_texts:,}"
            raise Fault(FaultKind.VALIDATION, f"where: {len(values):,} values; {most}")
        self.check_texts(values)

    async def _match(
        self,
        served: ServedModel,
        first: Sequence[str],
        second: Sequence[str],
        truncate: bool | None,
    ) -> EngineResult:
        self.check_texts(first)
        self.check_texts(second)
        if len(first) != len(second) and 1 not in (len(first), len(second)):
            raise Fault(
                FaultKind.VALIDATION,
                f"{len(first)} first texts and {len(second)} second ones; expected as many of "
                "both, or one text on one side",
            )
        return await self.ask(served, "match", MatchRequest(first, second), truncate=truncate)

    async def ask(
        self, served: ServedModel, verb: Verb, request: Any, *, truncate: bool | None = None
    ) -> EngineResult:
        """Let the engine compute a request, for no longer than the request may take."""
        return await self.compute(served, served.handlers[verb], request, truncate=truncate)

    async def compute(
        self,
        served: ServedModel,
        handler: BatchHandler,
        request: Any,
        *,
        truncate: bool | None = None,
    ) -> EngineResult:
        """As `ask`, by a handler that is given."""
        known = REQUEST.get({})
        submitted = time.perf_counter()
        left = known.get("deadline", time.monotonic() + self.limits.timeout) - time.monotonic()
        try:
            waiting = asyncio.wrap_future(self.engine.submit(handler, request))
            result = await asyncio.wait_for(waiting, max(0.001, left))
        except Overloaded as error:
            raise overloaded(error.retry_after) from None
        except asyncio.TimeoutError:
            raise _timed_out(self.limits.timeout, self.engine.retry_after()) from None
        except TooManyTokens as error:
            raise Fault(FaultKind.TOO_LARGE, str(error)) from None
        except Fault:
            raise
        except StoreError:  # whose message tells where the database is
            raise _no_store(self.engine.retry_after()) from None
        except SoftqueryError as error:
            raise Fault(FaultKind.VALIDATION, str(error)) from None
        known.update(model=served.name, tokens=result.num_tokens, computed=time.perf_counter())
        known.update(submitted=known.get("submitted", submitted), stages=result.stages)
        if result.num_truncated:
            self._check_truncated(served, result.num_truncated, truncate)
            known["cut"] = result.num_truncated
        return result

    def _check_truncated(self, served: ServedModel, count: int, truncate: bool | None) -> None:
        """Count truncated texts, or refuse them if the client does not want that."""
        if truncate is False:
            many = counted(count, "text is", "texts are")
            raise Fault(
                FaultKind.VALIDATION,
                f"{many} longer than the {served.max_tokens} tokens that {served.name} reads; "
                "allow truncate, or send shorter texts",
                tei="Validation",
            )
        self.metrics.truncated.labels(served.name).inc(count)


def _timed_out(seconds: float, retry_after: int) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        f"not answered within {seconds:g} s",
        headers={"Retry-After": str(retry_after)},
    )


def _no_store(retry_after: int) -> Fault:
    return Fault(
        FaultKind.UNAVAILABLE,
        "the database of this index cannot be asked at the moment; try again",
        headers={"Retry-After": str(retry_after)},
    )


def normalised(vectors: Sequence[Floats]) -> list[Floats]:
    """Vectors of length 1; a vector of zeros stays as it is."""
    return list(unit_rows(np.stack(vectors)))


def cosines(one: Floats, others: Sequence[Floats]) -> list[float]:
    """The cosine of a vector with each of the others, from -1 to 1."""
    (query,) = normalised([one])
    return [float(np.clip(query @ each, -1.0, 1.0)) for each in normalised(others)]


def _strings(text: Any) -> list[str]:
    if isinstance(text, str):
        return [text]
    return [part for each in text for part in _strings(each)]

"""Cohere's `/v2/rerank`, and `/v1/rerank` for clients of Jina and older ones of Cohere.

A document may be a text or an object with a `text`. Their fields that change nothing here are
ignored: `max_tokens_per_doc`, `max_chunks_per_doc`, `rank_fields`, `priority`.
"""

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from softquery.serve.bodies import (
    LIMIT,
    Count,
    Model,
    RequestBody,
    ResponseBody,
    Text,
    Usage,
    refusals,
    usage,
)
from softquery.serve.faults import Dialect
from softquery.serve.json_responses import Json
from softquery.serve.service import ScoredTexts, Service


class Document(RequestBody):
    """A document as an object; all fields but its text are ignored."""

    text: Text


Documents = Annotated[
    list[Text | Document], Field(min_length=1, json_schema_extra={LIMIT: "texts"})
]


class CohereRerank(RequestBody):
    """Documents to be ordered by how well they match a query."""

    query: Text
    documents: Documents
    top_n: Count | None = None
    return_documents: bool | None = None
    model: Model = None


class JinaRerank(RequestBody):
    """Documents to be ordered; the response repeats them unless that is declined."""

    query: Text
    documents: Documents
    top_n: Count | None = None
    return_documents: bool | None = True
    rank_fields: Annotated[
        list[Literal["text"]] | None, Field(description="Fields other than the text are not read.")
    ] = None
    model: Model = None


class ShownDocument(ResponseBody):
    """A document in a response."""

    text: str


class Relevance(ResponseBody):
    """One document of a ranking."""

    index: int
    relevance_score: float
    document: ShownDocument | None = None


class ApiVersion(ResponseBody):
    """The version of the API that answered."""

    version: str


class BilledUnits(ResponseBody):
    """What Cohere would bill."""

    search_units: int


class TokenCounts(ResponseBody):
    """The tokens that were read."""

    input_tokens: int


class Meta(ResponseBody):
    """Cohere's bookkeeping."""

    api_version: ApiVersion
    billed_units: BilledUnits
    tokens: TokenCounts


class CohereRanked(ResponseBody):
    """A ranking in the shape of Cohere."""

    id: str
    results: list[Relevance]
    meta: Meta


class JinaRanked(ResponseBody):
    """A ranking in the shape of Jina, vLLM and Cohere's first version."""

    id: str
    object: str
    model: str
    results: list[Relevance]
    usage: Usage
    meta: Meta


async def cohere_response(service: Service, body: CohereRerank) -> Json:
    """Rank documents, and respond in the shape of Cohere."""
    texts = _texts(body.documents)
    found = await service.score(body.model, [body.query], texts)
    shown = texts if body.return_documents else None
    return Json(
        {
            "id": secrets.token_hex(16),
            "results": _results(found, body.top_n, shown),
            "meta": _meta(found, "2"),
        }
    )


async def jina_response(service: Service, body: JinaRerank) -> Json:
    """Rank documents, and respond in the shape of Jina, which older clients of Cohere read too."""
    texts = _texts(body.documents)
    found = await service.score(body.model, [body.query], texts)
    shown = None if body.return_documents is False else texts
    return Json(
        {
            "id": f"rerank-{secrets.token_hex(16)}",
            "object": "list",
            "model": found.model,
            "results": _results(found, body.top_n, shown),
            "usage": usage(found.num_tokens),
            "meta": _meta(found, "1"),
        }
    )


def _texts(documents: list[str | Document]) -> list[str]:
    return [each if isinstance(each, str) else each.text for each in documents]


def _results(found: ScoredTexts, top: int | None, texts: list[str] | None) -> list[dict[str, Any]]:
    return [
        {
            "index": place,
            "relevance_score": score,
            **({} if texts is None else {"document": {"text": texts[place]}}),
        }
        for place, score in found.best_first(top)
    ]


def _meta(found: ScoredTexts, version: str) -> dict[str, Any]:
    return {
        "api_version": {"version": version},
        "billed_units": {"search_units": 1},
        "tokens": {"input_tokens": found.num_tokens},
    }


def rerank_routes(service: Service) -> APIRouter:
    """The addresses of Cohere and Jina, if a matcher is served."""
    router = APIRouter()
    if not service.catalogue.able("match"):
        return router

    async def cohere_rerank(body: CohereRerank) -> Json:
        """Documents ordered by how well they match the query, best first."""
        return await cohere_response(service, body)

    async def jina_rerank(body: JinaRerank) -> Json:
        """Documents ordered by how well they match the query, best first."""
        return await jina_response(service, body)

    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.RERANK)}
    router.add_api_route(
        "/v2/rerank", cohere_rerank, response_model=CohereRanked, tags=["Cohere"], **common
    )
    router.add_api_route(
        "/v1/rerank", jina_rerank, response_model=JinaRanked, tags=["Jina"], **common
    )
    return router

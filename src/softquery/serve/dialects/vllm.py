"""vLLM's `/v1/score`: how well texts match, without ordering them."""

import secrets
import time
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AliasChoices, Field

from softquery.serve.bodies import (
    Json,
    Model,
    RequestBody,
    ResponseBody,
    Text,
    Texts,
    Usage,
    as_list,
    refusals,
    usage,
)
from softquery.serve.faults import Dialect
from softquery.serve.service import Service


class ScoreTexts(RequestBody):
    """One text with one or many, or many with as many."""

    text_1: Text | Texts = Field(validation_alias=AliasChoices("text_1", "data_1"))
    text_2: Text | Texts = Field(validation_alias=AliasChoices("text_2", "data_2"))
    model: Model = None

    def sides(self) -> tuple[Text | Texts, Text | Texts]:
        """First and second texts."""
        return self.text_1, self.text_2


class ScoreQueries(RequestBody):
    """Likewise, under newer names."""

    queries: Text | Texts
    documents: Text | Texts = Field(validation_alias=AliasChoices("documents", "items"))
    model: Model = None

    def sides(self) -> tuple[Text | Texts, Text | Texts]:
        """First and second texts."""
        return self.queries, self.documents


class Score(ResponseBody):
    """The score of one pair."""

    index: int
    object: str
    score: float


class Scores(ResponseBody):
    """The scores of all pairs, in order."""

    id: str
    object: str
    created: int
    model: str
    data: list[Score]
    usage: Usage


ScoreBody = Annotated[ScoreTexts | ScoreQueries, Field(union_mode="left_to_right")]


def vllm_routes(service: Service) -> APIRouter:
    """Addresses, where a matcher is at hand."""
    router = APIRouter(tags=["vLLM"])
    if not service.catalogue.able("match"):
        return router

    async def score(body: ScoreBody) -> Json:
        """How well texts match: one with each of the others, or pairwise."""
        first, second = body.sides()
        found = await service.score(body.model, as_list(first), as_list(second))
        data = [
            {"index": place, "object": "score", "score": score}
            for place, score in enumerate(found.scores)
        ]
        return Json(
            {
                "id": f"score-{secrets.token_hex(16)}",
                "object": "list",
                "created": int(time.time()),
                "model": found.model,
                "data": data,
                "usage": usage(found.num_tokens),
            }
        )

    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.OPENAI)}
    for path in ("/v1/score", "/score"):
        router.add_api_route(path, score, response_model=Scores, **common)
    return router

"""OpenAI's `/v1/embeddings` and `/v1/models`, and `/v1/score`, which vLLM adds to them.

OpenAI's Python client asks for base64 by default, which is a quarter of the size of decimals.
Tokens instead of texts are refused: they would be ids of another vocabulary. `/v1/score` says how
well texts match without ordering them.
"""

import base64
import json
import secrets
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import AliasChoices, ConfigDict, Field

from softquery.serve.bodies import (
    Count,
    Model,
    RequestBody,
    ResponseBody,
    TextOrTexts,
    Usage,
    as_list,
    refusals,
    usage,
)
from softquery.serve.faults import Dialect
from softquery.serve.handlers import Floats
from softquery.serve.json_responses import Json, RawJson, vectors_as_json
from softquery.serve.service import Service


class EmbeddingsBody(RequestBody):
    """Texts to be embedded."""

    input: TextOrTexts
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: Count | None = None
    model: Model = None


class Embedding(ResponseBody):
    """The vector of one text: numbers, or little-endian float32 in base64."""

    object: str
    index: int
    embedding: list[float] | str


class Embeddings(ResponseBody):
    """A vector for each text."""

    object: str
    model: str
    data: list[Embedding]
    usage: Usage


class KnownModel(ResponseBody):
    """The name of a model or an index."""

    model_config = ConfigDict(protected_namespaces=())
    id: str
    object: str
    created: int
    owned_by: str


class KnownModels(ResponseBody):
    """The names of all models and indexes."""

    object: str
    data: list[KnownModel]


class ScoreTexts(RequestBody):
    """One text to be scored with one or many, or many with as many."""

    text_1: TextOrTexts = Field(validation_alias=AliasChoices("text_1", "data_1"))
    text_2: TextOrTexts = Field(validation_alias=AliasChoices("text_2", "data_2"))
    model: Model = None

    def sides(self) -> tuple[TextOrTexts, TextOrTexts]:
        """The first and the second texts."""
        return self.text_1, self.text_2


class ScoreQueries(RequestBody):
    """Texts to be scored, under the newer names of the fields."""

    queries: TextOrTexts
    documents: TextOrTexts = Field(validation_alias=AliasChoices("documents", "items"))
    model: Model = None

    def sides(self) -> tuple[TextOrTexts, TextOrTexts]:
        """The first and the second texts."""
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


def openai_routes(service: Service) -> APIRouter:
    """The addresses of OpenAI; `/v1/embeddings` only if a model gives vectors."""
    router, names = APIRouter(tags=["OpenAI"]), service.catalogue.names

    async def embeddings(body: EmbeddingsBody) -> RawJson:
        """A vector of length 1 for each text."""
        found = await service.embed(body.model, as_list(body.input), dimensions=body.dimensions)
        packed = body.encoding_format == "base64"
        vectors = _packed(found.vectors) if packed else await vectors_as_json(found.vectors)
        data = [
            b'{"object":"embedding","index":%d,"embedding":%s}' % each
            for each in enumerate(vectors)
        ]
        rest = {"object": "list", "model": found.model, "usage": usage(found.num_tokens)}
        head = json.dumps(rest).encode().removesuffix(b"}")
        return RawJson(head + b',"data":[' + b",".join(data) + b"]}")

    async def models() -> Json:
        """The names of all models and indexes."""
        return Json({"object": "list", "data": list(map(_known_model, names))})

    async def model(name: Annotated[str, Path(json_schema_extra={"enum": list(names)})]) -> Json:
        """One of these models or indexes."""
        (found, *_) = service.catalogue.named(name)
        return Json(_known_model(found.name))

    common: dict[str, Any] = {"responses": refusals(Dialect.OPENAI)}
    if service.catalogue.able("embed"):
        for path in ("/v1/embeddings", "/embeddings"):
            router.add_api_route(
                path, embeddings, methods=["POST"], response_model=Embeddings, **common
            )
    known: dict[int | str, dict[str, Any]] = {401: refusals(Dialect.OPENAI)[401]}
    one: dict[int | str, dict[str, Any]] = {**known, 404: refusals(Dialect.OPENAI)[404]}
    router.add_api_route("/v1/models", models, response_model=KnownModels, responses=known)
    router.add_api_route("/v1/models/{name:path}", model, response_model=KnownModel, responses=one)
    return router


def _known_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "softquery"}


def vllm_routes(service: Service) -> APIRouter:
    """The address of vLLM, if a matcher is served."""
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


def _packed(vectors: list[Floats]) -> list[bytes]:
    return [b'"%s"' % base64.b64encode(vector.astype("<f4").tobytes()) for vector in vectors]

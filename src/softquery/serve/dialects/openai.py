"""OpenAI's `/v1/embeddings` and `/v1/models`.

Its Python client asks for base64 by itself, which is a quarter of the size of decimals. Tokens in
place of texts are refused: they would be numbers of somebody else's vocabulary.
"""

import base64
import json
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict

from softquery.serve.bodies import (
    Count,
    Json,
    Model,
    RawJson,
    RequestBody,
    ResponseBody,
    Text,
    Texts,
    Usage,
    as_list,
    refusals,
    usage,
    written,
)
from softquery.serve.faults import Dialect
from softquery.serve.service import Service
from softquery.serve.vector_json import Floats


class EmbeddingsBody(RequestBody):
    """Texts to be embedded."""

    input: Text | Texts
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: Count | None = None
    model: Model = None


class Embedding(ResponseBody):
    """One vector: numbers, or little-endian float32 in base64."""

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
    """A model or index by its name."""

    model_config = ConfigDict(protected_namespaces=())
    id: str
    object: str
    created: int
    owned_by: str


class KnownModels(ResponseBody):
    """All of them."""

    object: str
    data: list[KnownModel]


def openai_routes(service: Service) -> APIRouter:
    """Addresses, as far as models give vectors."""
    router = APIRouter(tags=["OpenAI"])

    async def embeddings(body: EmbeddingsBody) -> RawJson:
        """A vector of length 1 for each text."""
        found = await service.embed(body.model, as_list(body.input), dimensions=body.dimensions)
        packed = body.encoding_format == "base64"
        vectors = _packed(found.vectors) if packed else await written(found.vectors)
        data = [
            b'{"object":"embedding","index":%d,"embedding":%s}' % each
            for each in enumerate(vectors)
        ]
        rest = {"object": "list", "model": found.model, "usage": usage(found.num_tokens)}
        head = json.dumps(rest).encode().removesuffix(b"}")
        return RawJson(head + b',"data":[' + b",".join(data) + b"]}")

    async def models() -> Json:
        """What can be asked, by name."""
        every = (*service.catalogue.models, *service.catalogue.indexes)
        data = [
            {"id": each.name, "object": "model", "created": 0, "owned_by": "softquery"}
            for each in every
        ]
        return Json({"object": "list", "data": data})

    common: dict[str, Any] = {"responses": refusals(Dialect.OPENAI)}
    if service.catalogue.able("embed"):
        for path in ("/v1/embeddings", "/embeddings"):
            router.add_api_route(
                path, embeddings, methods=["POST"], response_model=Embeddings, **common
            )
    only_key: dict[int | str, dict[str, Any]] = {401: refusals(Dialect.OPENAI)[401]}
    router.add_api_route(
        "/v1/models", models, methods=["GET"], response_model=KnownModels, responses=only_key
    )
    return router


def _packed(vectors: list[Floats]) -> list[bytes]:
    return [b'"%s"' % base64.b64encode(vector.astype("<f4").tobytes()) for vector in vectors]

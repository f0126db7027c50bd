"""What bodies have in common, in both directions."""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import Response

from softquery.serve.faults import Dialect

LIMIT = "x-limit"
"""Marks a place of the OpenAPI document whose limit the server's settings decide."""

Item = TypeVar("Item")
Text = Annotated[str, Field(json_schema_extra={LIMIT: "text"})]
"""Something to be read by a model."""
Texts = Annotated[list[Text], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
Model = Annotated[
    str | None, Field(description="One of the names at /v1/models; by default the first that can.")
]


def _whole(value: Any) -> Any:
    """JSON knows no difference between 3 and 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_whole)]
SmallCount = Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)]


class RequestBody(BaseModel):
    """A request: types are taken as they are, fields that nobody knows are passed over."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, protected_namespaces=())


class ResponseBody(BaseModel):
    """An answer, as the OpenAPI document describes it."""

    model_config = ConfigDict(protected_namespaces=())


class Usage(ResponseBody):
    """What a request cost."""

    prompt_tokens: int
    total_tokens: int


class TeiError(ResponseBody):
    """A refusal as TEI words it."""

    error: str
    error_type: str


class OpenAIErrorInside(ResponseBody):
    """The inner part of a refusal."""

    message: str
    type: str
    param: str | None
    code: int


class OpenAIError(ResponseBody):
    """A refusal as OpenAI words it."""

    error: OpenAIErrorInside


class RerankError(ResponseBody):
    """A refusal as Cohere and Jina word it."""

    message: str
    detail: str


ERRORS: dict[Dialect, type[ResponseBody]] = {
    Dialect.TEI: TeiError,
    Dialect.OPENAI: OpenAIError,
    Dialect.RERANK: RerankError,
}
_SAID = {
    401: "There are keys, and this is none of them.",
    404: "No model of that name can do this.",
    408: "The body took too long to arrive.",
    413: "The body is larger than one may be.",
    429: "The queue is full; Retry-After says when to come back.",
    503: "Not answered in time; Retry-After says when to come back.",
}


def refusals(dialect: Dialect) -> dict[int | str, dict[str, Any]]:
    """The statuses that an address may answer besides 200, for its OpenAPI entry."""
    wrong = 422 if dialect is Dialect.TEI else 400
    said = {wrong: "The body is not what was expected.", **_SAID}
    return {
        status: {"model": ERRORS[dialect], "description": words}
        for status, words in sorted(said.items())
    }


class Json(Response):
    """JSON whose text stays readable, and which never fails on half a character."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes; a lone surrogate becomes the escape that JSON has for it."""
        text = json.dumps(
            content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
        )
        return text.encode("utf-8", "backslashreplace")


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy, which an index may put into its hits."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


LARGE = 20_000
"""Numbers above which an answer is written aside, so that other requests go on meanwhile."""


async def written(vectors: Sequence[NDArray[np.float32]]) -> list[bytes]:
    """Each vector as JSON, to eight digits."""
    if sum(map(len, vectors)) <= LARGE:
        return _written(vectors)
    return await asyncio.to_thread(_written, vectors)


def _written(vectors: Sequence[NDArray[np.float32]]) -> list[bytes]:
    # One at a time: between two of them, other threads get their turn.
    return [
        json.dumps(vector.astype(np.float64).round(8).tolist(), separators=(",", ":")).encode()
        for vector in vectors
    ]


class RawJson(Response):
    """JSON that is bytes already."""

    media_type = "application/json"


def usage(num_tokens: int) -> dict[str, int]:
    """As OpenAI, Jina and vLLM count."""
    return {"prompt_tokens": num_tokens, "total_tokens": num_tokens}


def as_list(given: Item | list[Item]) -> list[Item]:
    """One or many as many."""
    return given if isinstance(given, list) else [given]

"""What the bodies of requests and responses share, and the OpenAPI document that describes them."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from softquery.serve.faults import Dialect, TeiType
from softquery.serve.settings import Limits

LIMIT = "x-limit"
"""Marks a field of the OpenAPI document whose limit comes from the server's settings."""
_UNUSED = ("HTTPValidationError", "ValidationError")
"""Schemas of FastAPI's own refusals, which this server never sends."""

Item = TypeVar("Item")
Text = Annotated[str, Field(json_schema_extra={LIMIT: "text"})]
"""A text that a model reads."""
Texts = Annotated[list[Text], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
TextOrTexts = Text | Texts
Model = Annotated[
    str | None,
    Field(description="A name from /v1/models; by default the first model that can do it."),
]


def _whole(value: Any) -> Any:
    """A whole number as int: JSON does not distinguish 3 from 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_whole)]
TokenNumber = Annotated[int, Field(ge=0, le=2**31 - 1), BeforeValidator(_whole)]
SmallCount = Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)]


MOST_NAMES = 1_000
"""The most names of an object that may have any."""


def _bound_faults(node: Any) -> None:
    """Let every list in a schema end at its first fault, and refuse large dictionaries at once.

    Pydantic hands out parts of a schema again for every route that uses them: what is bounded
    already stays as it is.
    """
    if isinstance(node, dict):
        if _is_bounded(node):
            _bound_faults(node["schema"].get("values_schema"))
            return
        for value in node.values():
            _bound_faults(value)
        if node.get("type") == "list":
            node["fail_fast"] = True
        if node.get("type") == "dict":
            inside = dict(node)
            node.clear()
            node.update(core_schema.no_info_before_validator_function(_few_names, inside))
    elif isinstance(node, list):
        for value in node:
            _bound_faults(value)


def _is_bounded(node: dict[str, Any]) -> bool:
    function = node.get("function")
    return isinstance(function, dict) and function.get("function") is _few_names


def _few_names(value: Any) -> Any:
    """Refuse an object of very many names before they are looked at."""
    if isinstance(value, dict) and len(value) > MOST_NAMES:
        raise PydanticCustomError("too_long", f"an object may have at most {MOST_NAMES:,} names")
    return value


class RequestBody(BaseModel):
    """The body of a request: types are not converted, unknown fields are ignored.

    The first wrong item of a list is reported alone. To collect a fault for each of some 100,000
    items would take many seconds, in which the server could answer nobody.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, protected_namespaces=())

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """The schema of the class, in which lists fail fast and dictionaries are bounded."""
        found = handler(source)
        _bound_faults(found)
        return found


class ResponseBody(BaseModel):
    """The body of a response, as the OpenAPI document describes it."""

    model_config = ConfigDict(protected_namespaces=())


class Usage(ResponseBody):
    """The tokens of a request."""

    prompt_tokens: int
    total_tokens: int


class TeiError(ResponseBody):
    """A refusal in the shape of TEI."""

    error: str
    error_type: TeiType


class OpenAIErrorInside(ResponseBody):
    """What is wrong, inside a refusal in the shape of OpenAI."""

    message: str
    type: str
    param: str | None
    code: int


class OpenAIError(ResponseBody):
    """A refusal in the shape of OpenAI."""

    error: OpenAIErrorInside


class RerankError(ResponseBody):
    """A refusal in the shape of Cohere and Jina."""

    message: str
    detail: str


ERRORS: dict[Dialect, type[ResponseBody]] = {
    Dialect.TEI: TeiError,
    Dialect.OPENAI: OpenAIError,
    Dialect.RERANK: RerankError,
}
_DESCRIPTIONS = {
    401: "The key is missing or unknown; send a valid one as Authorization: Bearer KEY.",
    404: "No model of that name can do this.",
    408: "The body did not arrive in time.",
    413: "The body is larger than this server accepts.",
    429: "The queue is full; try again after the seconds in Retry-After.",
    503: "There was no answer in time; try again after the seconds in Retry-After.",
}


_TOO_MUCH = "The body is larger, has more texts or longer ones than this server accepts."


def refusals(dialect: Dialect) -> dict[int | str, dict[str, Any]]:
    """The statuses that an address may answer besides 200, for its OpenAPI entry."""
    wrong = 422 if dialect is Dialect.TEI else 400
    described = {wrong: "The body is not what was expected.", **_DESCRIPTIONS}
    if dialect is Dialect.TEI:
        described |= {413: _TOO_MUCH, 424: "No model of this server, or not this one, can do it."}
    return {
        status: {"model": ERRORS[dialect], "description": description}
        for status, description in sorted(described.items())
    }


def usage(num_tokens: int) -> dict[str, int]:
    """The tokens of a request as OpenAI, Jina and vLLM count them."""
    return {"prompt_tokens": num_tokens, "total_tokens": num_tokens}


def as_list(given: Item | list[Item]) -> list[Item]:
    """A single item as a list of one; a list as it is."""
    return given if isinstance(given, list) else [given]


def openapi_document(app: FastAPI, limits: Limits, *, has_keys: bool) -> dict[str, Any]:
    """The OpenAPI document: addresses, what they take within this server's limits, and answer.

    Args:
        app: The application with all its routes.
        limits: Inserted into the fields that are marked with `LIMIT`.
        has_keys: Whether a key is needed.
    """
    found = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    bounds: dict[str, dict[str, Any]] = {
        "text": {"maxLength": limits.max_text},
        "texts": {"maxItems": limits.max_texts},
        "count": {"maximum": limits.max_texts},
    }
    _insert_limits(found, bounds)
    _drop_unused(found)
    if has_keys:
        _require_keys(found)
    return found


def _insert_limits(node: Any, bounds: Mapping[str, Mapping[str, Any]]) -> None:
    if isinstance(node, dict):
        mark = node.pop(LIMIT, None)
        if mark is not None:
            node.update(bounds[mark])
            if "default" in node and "maximum" in node:
                node["default"] = min(node["default"], node["maximum"])
        for value in node.values():
            _insert_limits(value, bounds)
    elif isinstance(node, list):
        for value in node:
            _insert_limits(value, bounds)


def _drop_unused(found: dict[str, Any]) -> None:
    """Remove the refusals that FastAPI announces in a shape of its own, and never sends."""
    for operation in _operations(found):
        refusal = operation["responses"].get("422", {})
        if "HTTPValidationError" in str(refusal):
            del operation["responses"]["422"]
    for name in _UNUSED:
        found.get("components", {}).get("schemas", {}).pop(name, None)


def _require_keys(found: dict[str, Any]) -> None:
    scheme = {"bearer": {"type": "http", "scheme": "bearer"}}
    found.setdefault("components", {})["securitySchemes"] = scheme
    for operation in _operations(found):
        if "401" in operation["responses"]:
            operation["security"] = [{"bearer": []}]


def _operations(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in found["paths"].values() for operation in path.values()]

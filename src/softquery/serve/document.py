"""The OpenAPI document: with the limits of this very server in it."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from softquery.serve.bodies import LIMIT
from softquery.serve.settings import Limits

_UNUSED = ("HTTPValidationError", "ValidationError")


def document(app: FastAPI, limits: Limits, *, has_keys: bool) -> dict[str, Any]:
    """What addresses there are, what they take, and what they answer.

    Args:
        app: With all its routes.
        limits: Put where bodies are marked.
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
    _bound(found, bounds)
    _drop_unused(found)
    if has_keys:
        _require_keys(found)
    return found


def _bound(node: Any, bounds: Mapping[str, Mapping[str, Any]]) -> None:
    if isinstance(node, dict):
        mark = node.pop(LIMIT, None)
        if mark is not None:
            node.update(bounds[mark])
            if "default" in node and "maximum" in node:
                node["default"] = min(node["default"], node["maximum"])
        for value in node.values():
            _bound(value, bounds)
    elif isinstance(node, list):
        for value in node:
            _bound(value, bounds)


def _drop_unused(found: dict[str, Any]) -> None:
    """FastAPI announces refusals of its own shape, which never come."""
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

"""`/info`, `/health` and `/metrics`: what is here, whether it lives, and how it fares."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from softquery import __version__
from softquery.runtime import Matcher
from softquery.runtime.vectors.text_vectors import own_vectors
from softquery.search import Index
from softquery.serve.bodies import Json, ResponseBody, refusals
from softquery.serve.catalogue import Served
from softquery.serve.faults import Dialect
from softquery.serve.service import Service
from softquery.serve.settings import Settings


class Info(ResponseBody):
    """TEI's description of its one model, here the first; `models` and `indexes` list all."""

    model_id: str
    model_dtype: str
    model_type: dict[str, Any]
    max_concurrent_requests: int
    max_input_length: int | None
    max_batch_tokens: int
    max_client_batch_size: int
    auto_truncate: bool
    version: str
    models: list[dict[str, Any]]
    indexes: list[dict[str, Any]]
    limits: dict[str, float]


class Health(ResponseBody):
    """The server lives."""

    status: str


def described(served: Served) -> dict[str, Any]:
    """One model or index."""
    found: dict[str, Any] = {"name": served.name, "kind": served.kind, "can": list(served.lanes)}
    if served.max_tokens is not None:
        found["max_tokens"] = served.max_tokens
    if served.vector_size:
        found |= {"vector_size": served.vector_size, "pooling": served.pooling}
    if isinstance(served.thing, Matcher):
        found["labels"] = list(served.thing.labels)
        found["language"] = _language(served.thing)
    if isinstance(served.thing, Index):
        found |= _of_index(served.thing)
    if getattr(served.thing, "is_couplet", False):
        found["form"] = "couplet"
    return found


def _of_index(index: Index) -> dict[str, Any]:
    return {
        "rows": len(index),
        "columns": list(index.manifest.columns),
        "min_score": index.min_score,
        "language": _language(index.matcher),
        "explains": own_vectors(index.matcher).pooling != "own",
    }


def _language(matcher: Matcher) -> str:
    """Which language a model reads, as far as its pipeline tells."""
    return "zh" if matcher.pipeline.config.unit in ("characters", "jieba") else "en"


def _dtype(served: Served) -> str:
    bundle = getattr(served.thing, "bundle", None)
    export = {} if bundle is None else bundle.metrics.get("export", {})
    return str(export.get("precision", "float32")) if isinstance(export, dict) else "float32"


def _type(served: Served) -> dict[str, Any]:
    """As TEI puts it."""
    labels = list(getattr(served.thing, "labels", ()))
    if labels:
        name = "reranker" if served.kind == "matcher" else "classifier"
        numbered = {str(number): label for number, label in enumerate(labels)}
        return {name: {"id2label": numbered, "label2id": {v: int(k) for k, v in numbered.items()}}}
    return {"embedding": {"pooling": served.pooling}} if served.pooling else {served.kind: {}}


def information_routes(service: Service, settings: Settings) -> APIRouter:
    """Addresses that tell about the server itself."""
    router = APIRouter(tags=["Server"])
    catalogue, limits = service.catalogue, settings.limits
    first = [*catalogue.models, *catalogue.indexes][0]

    async def info() -> Json:
        """Which models and indexes are served, and within which limits."""
        return Json(
            {
                "model_id": first.name,
                "model_dtype": _dtype(first),
                "model_type": _type(first),
                "max_concurrent_requests": limits.queue,
                "max_input_length": first.max_tokens,
                "max_batch_tokens": limits.batch_tokens,
                "max_client_batch_size": limits.max_texts,
                "auto_truncate": True,
                "version": __version__,
                "models": list(map(described, catalogue.models)),
                "indexes": list(map(described, catalogue.indexes)),
                "limits": {
                    "max_body": limits.max_body,
                    "max_text": limits.max_text,
                    "max_texts": limits.max_texts,
                    "timeout": limits.timeout,
                },
            }
        )

    async def health() -> Json:
        """200 while the server lives."""
        return Json({"status": "ok"})

    async def metrics() -> Response:
        """Numbers for Prometheus."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(service.metrics.text(), media_type=kind)

    needs_key: dict[int | str, dict[str, Any]] = {401: refusals(Dialect.TEI)[401]}
    router.add_api_route("/info", info, response_model=Info, responses=needs_key)
    router.add_api_route("/health", health, response_model=Health)
    plain = {"description": "Numbers", "content": {"text/plain": {"schema": {"type": "string"}}}}
    router.add_api_route(
        "/metrics", metrics, response_class=Response, responses={200: plain, **needs_key}
    )
    return router

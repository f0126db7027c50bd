"""The server's own addresses: `/info`, `/health` and `/metrics`, and the pages at `/` and `/docs`.

The policy of the pages allows nothing from other servers and nothing inline, so that no text of a
user can become markup, script or style even if a page tried to show it as such.
"""

import hashlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from softquery import __version__
from softquery.answers.label_names import label_names
from softquery.answers.tag_schemes import label_of
from softquery.bundle import Bundle
from softquery.explain.colours import ramp_css
from softquery.runtime import Tagger
from softquery.search import IndexView
from softquery.serve.bodies import ResponseBody, refusals
from softquery.serve.catalogue import Catalogue, ServedModel
from softquery.serve.faults import Dialect, Fault, FaultKind
from softquery.serve.indexes.index_summary import index_facts, language_of_bundle
from softquery.serve.json_responses import Json
from softquery.serve.operation.readiness import Readiness
from softquery.serve.service import Service
from softquery.serve.settings import Settings

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGES = {"/": "index.html", "/docs": "docs.html"}
PANELS = ("ask", "classify", "fill", "generate", "pair", "rank", "read", "similarity", "tag")
FILES = (
    "page.css", "panels.css", "docs.css", "icon.svg", "alignment.js", "asking.js", "docs.js",
    "languages.js", "nodes.js", "page.js", "reasons.js", "share.js", "task_panel.js", "upload.js",
    "words.js", "words_en.js", "words_zh.js", *(f"panels/{name}.js" for name in PANELS),
)  # fmt: skip
RAMP = "ramp.css"
"""The colours of weights, which `softquery.explain` defines."""
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Info(ResponseBody):
    """The first model as TEI describes its only one; `models` and `indexes` list all."""

    model_id: str
    model_dtype: str
    model_type: dict[str, Any]
    max_concurrent_requests: int
    max_input_length: int | None
    max_batch_tokens: int
    max_client_batch_size: int
    auto_truncate: bool
    tokenization_workers: int
    version: str
    models: list[dict[str, Any]]
    indexes: list[dict[str, Any]]
    limits: dict[str, float]
    uploads: bool


class Health(ResponseBody):
    """The server is running."""

    status: str


def description(served: ServedModel) -> dict[str, Any]:
    """What `/info` says about one model or index."""
    found: dict[str, Any] = {"name": served.name, "kind": served.kind, "can": list(served.handlers)}
    if served.max_tokens is not None:
        found["max_tokens"] = served.max_tokens
    if served.vector_size:
        found |= {"vector_size": served.vector_size, "pooling": served.pooling}
    if isinstance(served.model, IndexView):
        found |= index_facts(served.model)
    elif (bundle := getattr(served.model, "bundle", None)) is not None:
        found["language"] = language_of_bundle(bundle)
        found |= _labels(served.model, bundle)
    if getattr(served.model, "is_couplet", False):
        found["form"] = "couplet"
    return found


def _labels(model: Any, bundle: Bundle) -> dict[str, Any]:
    """The labels that a model may answer, of spans without their places, and what they are called.

    Labels without a name are shown as they are.
    """
    if isinstance(model, Tagger):
        tags = model.tags
        labels = dict.fromkeys(map(label_of, tags.labels)) if tags.has_spans else tags.labels
        found = [label for label in labels if label]
    else:
        found = list(getattr(model, "labels", ()))
    if not found:
        return {}
    return {"labels": found, "label_names": label_names(bundle.config.task, found)}


def _dtype(served: ServedModel) -> str:
    bundle = getattr(served.model, "bundle", None)
    export = {} if bundle is None else bundle.metrics.get("export", {})
    return str(export.get("precision", "float32")) if isinstance(export, dict) else "float32"


def _type(served: ServedModel) -> dict[str, Any]:
    """The type of a model in the words of TEI."""
    labels = list(getattr(served.model, "labels", ()))
    if labels:
        name = "reranker" if served.kind == "matcher" else "classifier"
        numbered = {str(number): label for number, label in enumerate(labels)}
        return {name: {"id2label": numbered, "label2id": {v: int(k) for k, v in numbered.items()}}}
    return {"embedding": {"pooling": served.pooling}} if served.pooling else {served.kind: {}}


def information(served: ServedModel, catalogue: Catalogue, settings: Settings) -> dict[str, Any]:
    """What `/info` says: one model as TEI describes its only one, all others, and the limits.

    Args:
        served: The model to begin with.
        catalogue: All models and indexes.
        settings: How much one request may ask, and whether files may be sent to be indexed.
    """
    limits = settings.limits
    return {
        "model_id": served.name,
        "model_dtype": _dtype(served),
        "model_type": _type(served),
        "max_concurrent_requests": limits.queue,
        "max_input_length": served.max_tokens,
        "max_batch_tokens": limits.batch_tokens,
        "max_client_batch_size": limits.max_texts,
        "auto_truncate": True,
        "tokenization_workers": settings.num_threads,  # texts are cut where they are computed
        "version": __version__,
        "models": list(map(description, catalogue.models)),
        "indexes": list(map(description, catalogue.indexes)),
        "limits": {
            "max_body": limits.max_body,
            "max_text": limits.max_text,
            "max_texts": limits.max_texts,
            "timeout": limits.timeout,
            "max_rows": limits.max_rows,
        },
        "uploads": settings.uploads is not None,
    }


def information_routes(service: Service, settings: Settings) -> APIRouter:
    """The addresses that describe the server itself, or one of its models."""
    router, catalogue = APIRouter(tags=["Server"]), service.catalogue
    name_of_one = Annotated[str, Path(json_schema_extra={"enum": list(catalogue.names)})]

    def described(name: str | None) -> Json:
        (found, *_) = catalogue.named(name)
        return Json(information(found, catalogue, settings))

    async def info() -> Json:
        """Which models and indexes are served, and within which limits."""
        await service.refresh_indexes()
        return described(None)

    async def info_of_one(name: name_of_one) -> Json:
        """The same, beginning with the model or index of that name."""
        return described(name)

    async def health_of_one(name: name_of_one) -> Json:
        """200 while the server is running and has a model or an index of that name."""
        catalogue.named(name)
        return Json({"status": "ok"})

    async def metrics() -> Response:
        """Metrics for Prometheus."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(service.metrics.text(), media_type=kind)

    needs_key: dict[int | str, dict[str, Any]] = {401: refusals(Dialect.TEI)[401]}
    of_one: dict[int | str, dict[str, Any]] = {**needs_key, 404: refusals(Dialect.TEI)[404]}
    router.add_api_route("/info", info, response_model=Info, responses=needs_key)
    router.add_api_route("/models/{name}/info", info_of_one, response_model=Info, responses=of_one)
    router.add_api_route(
        "/models/{name}/health", health_of_one, response_model=Health, responses=of_one
    )
    plain = {"description": "Metrics", "content": {"text/plain": {"schema": {"type": "string"}}}}
    router.add_api_route(
        "/metrics", metrics, response_class=Response, responses={200: plain, **needs_key}
    )
    return router


def health_routes(service: Service, readiness: Readiness) -> APIRouter:
    """What asks whether the process works, and whether requests should come."""
    router = APIRouter(tags=["Server"])

    async def health() -> Json:
        """200 while the server works; if not, it should be restarted."""
        if not service.engine.is_alive:
            raise Fault(FaultKind.UNAVAILABLE, "a thread that computes has ended")
        return Json({"status": "ok"})

    async def ready() -> Json:
        """200 while requests should come; 503 while the queue is full or the server is stopping."""
        problem = readiness.problem(service.engine)
        if problem is not None:
            raise Fault(FaultKind.UNAVAILABLE, problem, headers={"Retry-After": "1"})
        return Json({"status": "ok"})

    not_now: dict[int | str, dict[str, Any]] = {503: refusals(Dialect.TEI)[503]}
    router.add_api_route("/health", health, response_model=Health, responses=not_now)
    router.add_api_route("/ready", ready, response_model=Health, responses=not_now)
    return router


@lru_cache(maxsize=32)
def read_asset(name: str) -> bytes:
    """A file of the pages, read once."""
    if name == RAMP:
        return ramp_css().encode()
    return (files("softquery.serve") / "page" / name).read_bytes()


def _response(request: Request, name: str) -> Response:
    content = read_asset(name)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {
        "Content-Security-Policy": PAGE_POLICY,
        "Cache-Control": "no-cache",
        "ETag": tag,
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers=headers)


def asset_routes() -> APIRouter:
    """The addresses of the pages and, not in the OpenAPI document, of their files."""
    router = APIRouter(tags=["Server"])
    for path, name in PAGES.items():
        router.add_api_route(
            path, _asset_response(name), methods=["GET"], response_class=HTMLResponse, name=name
        )
    for name in (*FILES, RAMP):
        router.add_api_route(
            f"/page/{name}", _asset_response(name), methods=["GET"], include_in_schema=False
        )
    return router


def _asset_response(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def read(request: Request) -> Response:
        """A page for people."""
        return _response(request, name)

    return read

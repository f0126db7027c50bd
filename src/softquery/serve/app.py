"""The application: models behind an engine, dialects before it, admission control around all."""

import logging
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.requests import Request

from softquery import __version__
from softquery.serve.admission import AdmissionControl
from softquery.serve.bodies import openapi_document
from softquery.serve.catalogue import Catalogue, open_catalogue
from softquery.serve.dialects.hugging_face import hugging_face_routes
from softquery.serve.dialects.indexes import index_routes
from softquery.serve.dialects.openai import openai_routes, vllm_routes
from softquery.serve.dialects.own import own_routes
from softquery.serve.dialects.rerank import rerank_routes
from softquery.serve.dialects.tei import tei_routes
from softquery.serve.dialects.tei_tokens import tei_token_routes, unable_routes
from softquery.serve.engine import Engine
from softquery.serve.faults import Dialect, Fault, FaultKind, validation
from softquery.serve.indexes.uploads import Uploads, open_uploads
from softquery.serve.json_responses import Json
from softquery.serve.keys import KeyRing
from softquery.serve.operation.server_state import ServerState, open_state
from softquery.serve.server_routes import asset_routes, health_routes, information_routes
from softquery.serve.service import Service
from softquery.serve.settings import Settings, from_environment
from softquery.serve.telemetry import log, set_up_logs

DESCRIPTION = (
    "Models that match, rank, explain, embed and search texts, through the APIs of TEI, OpenAI, "
    "Cohere, Jina and vLLM."
)
NO_TELEMETRY = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)
"""FastAPI's own traces and logs, which newer versions send, may quote users; ours do not.
Older versions pass over the argument."""
_BY_TAG = {
    "TEI": Dialect.TEI,
    "Hugging Face": Dialect.TEI,
    "Cohere": Dialect.RERANK,
    "Jina": Dialect.RERANK,
    "Server": Dialect.TEI,
}
_NAME = re.compile(r"\{name(?::path)?\}")
"""Stands for the name of a model or an index in an address."""
_BY_STATUS = {kind.value: kind for kind in FaultKind}


@dataclass(frozen=True, slots=True)
class ServedGeneration:
    """Everything that answers requests, from the same opening of models and indexes."""

    admission: AdmissionControl
    service: Service
    state: ServerState

    def close(self) -> None:
        """Finish what is in progress; the process is about to end."""
        self.service.engine.close()
        self.state.close()


def build_app(settings: Settings, catalogue: Catalogue | None = None) -> AdmissionControl:
    """An ASGI application that serves what the settings name.

    Args:
        settings: What to serve, and within which limits.
        catalogue: The models and indexes, if they are open already.
    """
    return open_generation(settings, catalogue).admission


def open_generation(
    settings: Settings, catalogue: Catalogue | None = None, state: ServerState | None = None
) -> ServedGeneration:
    """Open what the settings name, with an application around it.

    Args:
        settings: What to serve, and within which limits.
        catalogue: The models and indexes, if they are open already.
        state: That of an earlier generation, which goes on.
    """
    catalogue = open_catalogue(settings) if catalogue is None else catalogue
    state, limits = state or open_state(settings), settings.limits
    metrics = state.metrics
    engine = Engine(
        threads=settings.num_threads,
        batch_tokens=limits.batch_tokens,
        max_requests=limits.queue,
        max_tokens=limits.max_tokens,
        observer=metrics,
    )
    uploads = open_uploads(settings, catalogue)
    refresh = None if uploads is None else uploads.refresh
    service = Service(catalogue, engine, limits, metrics, refresh=refresh)
    keys = None if settings.keys is None else KeyRing(settings.keys)
    routers = _routers(service, settings, uploads, state)
    dialects = _dialects(routers, catalogue.names)
    app = _api(service, settings, routers, state)
    admission = AdmissionControl(
        app,
        limits=limits,
        state=state,
        keys=keys,
        dialects=dialects,
        retry_after=engine.retry_after,
        slow=settings.slow,
        log_text=settings.log_text,
    )
    return ServedGeneration(admission, service, state)


def build_from_environment() -> AdmissionControl:
    """The application of a worker process, whose parent put the settings into the environment."""
    _end_with_parent()
    settings = from_environment()
    set_up_logs(log_text=settings.log_text)
    return build_app(settings)


def _end_with_parent() -> None:
    """Watch the process that started this one, if one did, and stop serving when it has ended.

    So a worker ends with its parent, also where that one was killed.
    """
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent,), name="watch-parent", daemon=True).start()


def _watch(parent: BaseProcess) -> None:
    """Wait for the parent's end, which closes a pipe, and ask this process to stop as it would."""
    parent.join()
    log(logging.WARNING, "the process that started this worker has ended; the worker stops", {})
    os.kill(os.getpid(), signal.SIGTERM)


def _routers(
    service: Service, settings: Settings, uploads: Uploads | None, state: ServerState
) -> list[APIRouter]:
    return [
        tei_routes(service),
        tei_token_routes(service),
        hugging_face_routes(service),
        openai_routes(service),
        rerank_routes(service),
        vllm_routes(service),
        own_routes(service, searches=uploads is not None),
        index_routes(service, uploads),
        unable_routes(service),
        information_routes(service, settings),
        health_routes(service, state.readiness),
        asset_routes(),
    ]


def _api(
    service: Service, settings: Settings, routers: Sequence[APIRouter], state: ServerState
) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.engine.close()
        state.close()

    app = FastAPI(
        title="softquery",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,  # type: ignore[arg-type]
    )
    for router in routers:
        app.include_router(router)
    _add_refusals(app, _methods(routers))
    if settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            expose_headers=["retry-after", "x-request-id"],
        )
    described = openapi_document(app, settings.limits, has_keys=settings.keys is not None)
    app.openapi = lambda: described  # type: ignore[method-assign]
    return app


def _add_refusals(app: FastAPI, methods: Mapping[str, str]) -> None:
    def refused(request: Request, fault: Fault) -> Json:
        dialect = _dialect(request.scope.get("route"))
        return Json(fault.body(dialect), status_code=fault.status(dialect), headers=fault.headers)

    async def on_fault(request: Request, error: Any) -> Json:
        return refused(request, error)

    async def on_wrong_body(request: Request, error: Any) -> Json:
        if request.headers.get("content-length", "0") != "0" and not _is_json(request):
            message = "expected JSON, sent with Content-Type: application/json"
            return refused(request, Fault(FaultKind.VALIDATION, message))
        return refused(request, validation(error.errors()))

    async def on_http(request: Request, error: Any) -> Json:
        kind = _BY_STATUS.get(error.status_code, FaultKind.VALIDATION)
        headers = dict(error.headers or {})
        if (
            kind is FaultKind.VALIDATION
        ):  # which FastAPI raises only for a body that it cannot parse
            return refused(request, Fault(kind, "the body is not JSON"))
        if kind is FaultKind.WRONG_METHOD:  # an address may be served by more than one route
            headers["Allow"] = methods.get(request.url.path, headers.get("Allow", ""))
        return refused(request, Fault(kind, str(error.detail), headers=headers))

    app.add_exception_handler(Fault, on_fault)
    app.add_exception_handler(RequestValidationError, on_wrong_body)
    app.add_exception_handler(HTTPException, on_http)


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _methods(routers: Sequence[APIRouter]) -> dict[str, str]:
    """The methods of each address, as the header `Allow` lists them."""
    found: dict[str, set[str]] = {}
    routes: list[Any] = [route for router in routers for route in router.routes]
    for route in routes:
        found.setdefault(route.path, set()).update(route.methods)
    return {path: ", ".join(sorted(methods)) for path, methods in found.items()}


def _dialects(routers: Sequence[APIRouter], names: Sequence[str]) -> dict[str, Dialect]:
    """The dialect of each address; one with a name in it is there for each of the names."""
    routes: list[Any] = [route for router in routers for route in router.routes]
    found: dict[str, Dialect] = {}
    for route in routes:
        before, *after = _NAME.split(route.path)
        for path in [before + name + after[0] for name in names] if after else [before]:
            found.setdefault(path, _dialect(route))
    return found


def _dialect(route: Any) -> Dialect:
    """The dialect of a route; that of OpenAI if there is none."""
    return _BY_TAG.get(next(iter(getattr(route, "tags", ())), ""), Dialect.OPENAI)

"""Start a server: one process, or several behind one socket."""

import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from ipaddress import ip_address

import uvicorn

from softquery.errors import ConfigError
from softquery.serve.keys import read_keys
from softquery.serve.operation.process_signals import (
    LingeringServer,
    LingeringWorkers,
    ended_by_signals,
    reloaded_by_signal,
)
from softquery.serve.operation.reloading import ReloadableApp
from softquery.serve.protocol import BoundedProtocol
from softquery.serve.settings import VARIABLE, Settings
from softquery.serve.telemetry import SHARED_FOLDER, log, set_up_logs

FACTORY = "softquery.serve.app:build_from_environment"
Say = Callable[[str], object]
KEEP_ALIVE = 75
"""Seconds that an idle connection stays open; longer than most proxies keep theirs."""


def serve(settings: Settings, *, say: Say = lambda line: None) -> None:
    """Serve until the process is told to stop, then finish the requests in progress.

    Args:
        settings: What is served, where, and within which limits.
        say: Told the address in a line for people, once somebody can ask; logs tell it in any case.

    Raises:
        SoftqueryError: A model, an index, the file of keys or the address cannot be used.
    """
    set_up_logs(log_text=settings.log_text)
    if settings.keys is not None:
        read_keys(settings.keys)
    with ExitStack() as stack:
        listener = stack.enter_context(_listener(settings))
        if settings.workers > 1:
            stack.enter_context(_shared_metrics())
            _serve_many(settings, listener, say)
        else:
            _serve_one(settings, listener, say)


def _serve_one(settings: Settings, listener: socket.socket, say: Say) -> None:
    from softquery.serve.app import open_generation

    first = open_generation(settings)
    app = ReloadableApp(first, partial(open_generation, settings, state=first.state))
    _announce(settings, listener, say)
    server = LingeringServer(_config(settings, app), first.state.readiness, linger=settings.linger)
    with ended_by_signals(), reloaded_by_signal(app.ask):
        server.run(sockets=[listener])
    log(logging.INFO, "stopped", {})


def _serve_many(settings: Settings, listener: socket.socket, say: Say) -> None:
    """Start workers, which open the models themselves; opening them here finds faults early."""
    from softquery.serve.catalogue import open_catalogue
    from softquery.serve.indexes.uploads import open_uploads
    from softquery.serve.operation.server_state import open_state

    def check() -> None:
        open_uploads(settings, open_catalogue(settings))

    check()
    open_state(settings).usage.close()
    os.environ[VARIABLE] = settings.to_json()
    _announce(settings, listener, say)
    try:
        config = _config(settings, FACTORY)
        LingeringWorkers(config, [listener], linger=settings.linger, check=check).run()
    finally:
        os.environ.pop(VARIABLE, None)
    log(logging.INFO, "stopped", {})


def _config(settings: Settings, app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        factory=isinstance(app, str),
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=BoundedProtocol,
        lifespan="on",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(settings.drain)),
    )


def _listener(settings: Settings) -> socket.socket:
    """The socket, bound here so that a port in use is reported in one line."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"cannot listen at {settings.host}:{settings.port} ({reason.lower()})"
        ) from None
    listener.set_inheritable(True)
    return listener


def _announce(settings: Settings, listener: socket.socket, say: Say) -> None:
    host, port = listener.getsockname()[:2]
    if settings.keys is None and not _is_local(host):
        log(logging.WARNING, "no keys: everybody who reaches this address may ask", {"host": host})
    served = {"models": list(settings.named_models()), "indexes": list(settings.named_indexes())}
    workers = {"workers": settings.workers, "threads": settings.num_threads}
    log(logging.INFO, "listening", {"host": host, "port": port, **served, **workers})
    shown = f"[{host}]" if ":" in host else host
    say(f"softquery serves at http://{shown}:{port} (Ctrl-C stops)")


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _shared_metrics() -> Iterator[None]:
    """A folder in which workers keep their metrics, so that any of them can report all."""
    with tempfile.TemporaryDirectory(prefix="softquery-") as folder:
        os.environ[SHARED_FOLDER] = folder
        try:
            yield
        finally:
            os.environ.pop(SHARED_FOLDER, None)

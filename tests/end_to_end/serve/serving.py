"""Servers for tests: in a thread of this process, or as the command that users type."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from softquery.serve import Settings, build_app
from softquery.serve.protocol import BoundedProtocol


@dataclass(frozen=True)
class Reply:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Asks a server, a connection each time."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 30.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, body: Any = None, *, method: str | None = None, **headers: str
    ) -> Reply:
        """GET, or POST where there is a body: bytes as they are, all else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.seconds)
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = {} if raw is None else {"content-type": "application/json"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = {**kind, **self.headers, **named}
        try:
            connection.request(method or ("GET" if raw is None else "POST"), path, raw, asked)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()


@contextmanager
def in_thread(
    settings: Settings, catalogue: Any = None, protocol: Any = BoundedProtocol
) -> Iterator[Client]:
    """A server in this process."""
    app = build_app(settings, catalogue)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=protocol, log_config=None, lifespan="on", timeout_graceful_shutdown=5
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_for(lambda: server.started)
        yield Client(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)


def wait_for(condition: Any, seconds: float = 30.0) -> None:
    """Until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.02)


class Process:
    """A server as users start it.

    Args:
        words: Options of `softquery serve`; the port is any that is free.
        environment: Further variables.
    """

    def __init__(self, *words: object, **environment: str) -> None:
        program = [sys.executable, "-m", "softquery", "serve", *map(str, words)]
        self.process = subprocess.Popen(
            program,
            env={**os.environ, "SOFTQUERY_PORT": "0", **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[dict[str, Any]] = []
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("{"):
                self.lines.append(json.loads(line))

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    def client(self) -> Client:
        """Wait until it answers."""
        wait_for(lambda: self.events("listening") or self.process.poll() is not None, 60)
        assert self.process.poll() is None, "".join(self.said)
        client = Client(self.events("listening")[0]["port"])
        wait_for(lambda: is_up(client), 60)
        return client

    def stop(self, signal: int) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(signal)
        code = self.process.wait(60)
        self._reader.join(5)
        return code

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(20)
        self._reader.join(5)


def is_up(client: Client) -> bool:
    try:
        return client.ask("/health").status == 200
    except OSError:
        return False

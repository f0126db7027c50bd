"""Which files of softquery run during a command, and which of them run for every batch."""

import asyncio
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType

import softquery

HOME = str(Path(softquery.__file__).parent)
STEP = ("training/steps.py", "_run")
"""The function in whose every call one batch is made, read by the model, and learnt from."""


@dataclass
class TracedFiles:
    """Files whose functions ran, by their path inside `softquery`; module bodies do not count."""

    ran: set[str] = field(default_factory=set)
    spans: Counter[str] = field(default_factory=Counter)
    """In how many spans each file ran."""
    num_spans: int = 0

    @property
    def in_every_span(self) -> set[str]:
        """Files that ran in each of the spans."""
        return {file for file, count in self.spans.items() if count == self.num_spans}


def traced_files(action: Callable[[], object], *, span: tuple[str, str] = STEP) -> TracedFiles:
    """Run an action, in this thread and in those that it starts, and note which files run.

    Args:
        action: Called twice: what the first call imports and keeps does not count.
        span: A file and a function in it; what runs inside its calls is counted by call.
    """
    action()
    found, names = TracedFiles(), dict[CodeType, str | None]()
    current: set[str] = set()
    depth = 0

    def name_of(code: CodeType) -> str | None:
        if code not in names:
            is_ours = code.co_filename.startswith(HOME) and code.co_name != "<module>"
            names[code] = Path(code.co_filename).relative_to(HOME).as_posix() if is_ours else None
        return names[code]

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth
        file = name_of(frame.f_code) if event in ("call", "return") else None
        if file is None:
            return
        is_span = span == (file, frame.f_code.co_name)
        if event == "call":
            found.ran.add(file)
            if depth:
                current.add(file)
            depth += is_span
        elif is_span:
            depth -= 1
            if not depth:
                found.num_spans += 1
                found.spans.update(current)
                current.clear()

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def run_command(*words: object) -> str:
    """Run `softquery` with these words in this process; what it prints is returned."""
    from softquery.cli import main

    printed, before, environment, code = StringIO(), sys.argv, dict(os.environ), None
    sys.argv = ["softquery", *map(str, words)]
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
        os.environ.clear()
        os.environ.update(environment)
    assert not code, printed.getvalue()
    return printed.getvalue()


def post(path: str, body: dict[str, object], *, models: tuple[str, ...]) -> object:
    """Start a server for these models, send it one request in this process, and stop it."""
    from softquery.serve import Settings, build_app

    app = build_app(Settings(models=models, threads=1))
    sent: list[dict[str, object]] = []
    given = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": path, "query_string": b"",
        "raw_path": path.encode(), "root_path": "", "scheme": "http", "client": ("127.0.0.1", 1),
        "headers": [(b"content-type", b"application/json")], "server": ("127.0.0.1", 80),
    }  # fmt: skip

    async def receive() -> dict[str, object]:
        if given:
            return given.pop()
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    async def exchange() -> None:
        await app(scope, receive, send)
        events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

        async def next_event() -> dict[str, object]:
            return events.pop(0)

        await app({"type": "lifespan"}, next_event, send)

    asyncio.run(exchange())
    assert sent[0]["status"] == 200, sent
    return json.loads(b"".join(bytes(part.get("body", b"")) for part in sent[1:]))  # type: ignore[arg-type, call-overload]

"""Opens model folders that may be hostile, each in a process of its own.

Run as a script, it imports what is slow once and then forks for each folder that it is told, so
that a crash, a hang or a thirst for memory can be told from others and blamed on one folder.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

MEMORY = 4 << 30
"""Bytes of address space of a child; a sound one needs less than two."""
SECONDS = 60
SERVED = "served"
LONGEST_LINE = 1000
"""Characters of what is told about a folder."""
ASKED: dict[str, list[Any]] = {
    "matcher": [("w1 w2", "w3"), ("", "w4 漢")],
    "tagger": ["w1 w2", ["w3", "x"]],
    "classifier": ["w1 w2", ""],
    "generator": ["w1 w2"],
    "reader": [("w1", "w1 w2 w3")],
    "embedder": ["w1 w2"],
    "encoder": ["w1 w2"],
}
"""What is asked in Python, by kind."""
SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "matcher": ("/v1/match", {"pairs": [{"sentence1": "w1 w2", "sentence2": "w3"}]}),
    "tagger": ("/v1/tag", {"texts": ["w1 w2"]}),
    "classifier": ("/v1/classify", {"texts": ["w1 w2"]}),
    "generator": ("/v1/generate", {"texts": ["w1 w2"]}),
    "encoder": ("/v1/fill", {"texts": ["w1 [MASK]"]}),
    "reader": ("/v1/read", {"questions": [{"question": "w1", "context": "w1 w2"}]}),
}
"""What is asked over HTTP, and where, by kind."""


class Outcome(NamedTuple):
    """How a child ended: `answered`, `refused` with its line, or what must not happen."""

    end: str
    said: str


class Children:
    """Starts the script, and asks it to open folders."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def open(self, folder: Path, way: str) -> Outcome:
        """Open a folder and ask it something, over HTTP or in Python on a backend."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), way]) + "\n")
        self._process.stdin.flush()
        return Outcome(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """Let the script end."""
        self._process.communicate()


def _child(folder: str, way: str) -> Outcome:
    from softquery.errors import SoftqueryError

    try:
        said = _served(folder) if way == SERVED else _loaded(folder, way)
    except SoftqueryError as error:
        line = str(error)
        is_one = len(line.splitlines()) == 1 and line.isprintable() and len(line) <= LONGEST_LINE
        return Outcome("refused" if is_one else "no clear line", line[:2000])
    except BaseException:
        return Outcome("traceback", traceback.format_exc()[-3000:])
    return Outcome("answered", said)


def _loaded(folder: str, backend: str) -> str:
    import softquery

    if _kind(folder) == "vectors":
        return str(softquery.load_vectors(folder).nearest("w1"))[:200]
    model = softquery.load(folder, threads=1, backend=backend)
    asked = ASKED[model.bundle.config.kind]
    act = model.embed if hasattr(model, "embed") else model.predict
    return str(act(asked))[:200]


def _kind(folder: str) -> str | None:
    """What a folder says that it is, where it can be read at all."""
    path = Path(folder) / "config.json"
    try:
        is_small = path.is_file() and path.stat().st_size < 1 << 20
        found = json.loads(path.read_bytes())["kind"] if is_small else None
    except Exception:
        return None
    return found if isinstance(found, str) else None


def _served(folder: str) -> str:
    from starlette.testclient import TestClient

    from softquery.serve.app import build_app
    from softquery.serve.settings import Settings

    app = build_app(Settings(models=(f"m={folder}",), threads=1))
    path, body = SENT.get(_kind(folder) or "", ("/v1/models", {}))
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.post(path, json=body)
    if answer.status_code >= 500:
        raise RuntimeError(f"{answer.status_code} {answer.text[:500]}")
    return f"{answer.status_code} {answer.text[:200]}"


def _fork(folder: str, way: str) -> Outcome:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        outcome = _child(folder, way)
        os.write(write, json.dumps(outcome).encode())
        os._exit(0)
    os.close(write)
    end = time.monotonic() + SECONDS
    while (status := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(read)
            return Outcome("hang", f"over {SECONDS} s")
        time.sleep(0.002)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(status[1])
    if code or not told:
        return Outcome("signal" if code < 0 else "exit", f"code {code}")
    return Outcome(*json.loads(told))


def main() -> None:
    """Import what is slow, then fork for each line."""
    import starlette.testclient  # noqa: F401
    import torch  # noqa: F401

    import softquery.runtime.classify.onnx
    import softquery.runtime.generate.onnx
    import softquery.runtime.match.onnx
    import softquery.runtime.read.onnx
    import softquery.runtime.tag.onnx
    import softquery.serve.app  # noqa: F401

    for line in sys.stdin:
        print(json.dumps(_fork(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

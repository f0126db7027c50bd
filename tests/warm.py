"""Commands in processes of their own, without the seconds that importing torch takes in each.

One process, the nursery, imports what is slow, and forks for each command: the child has its own
folder, environment and streams, and goes the way that `python -m softquery` goes. What is to begin
with nothing (an import that must fail, a module that must not be loaded) needs an interpreter of
its own instead.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from quickened import draw_curves_once, flush_nothing, parse_with_one_parser, some_picture

LOADED = (
    "torch",
    "torch.utils.tensorboard",
    "lightning_fabric",
    "matplotlib.backends.backend_agg",
    "onnx",
    "bm25s",
    "usearch.index",
    "rich.live",
    "rich.table",
    "softquery.cli",
    "softquery.training",
    "softquery.tasks",
)
"""None of them starts a thread, which forks would lack, as ONNX Runtime does."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
MOMENT = 0.002


class Process:
    """A command under way; the part of `subprocess.Popen` that tests need.

    Args:
        nursery: Its parent.
        pid: Its number.
        streams: What it prints, and what it says beside; one where both go the same way.
    """

    def __init__(self, nursery: "Nursery", pid: int, streams: Sequence[TextIO]) -> None:
        self.pid, self.returncode, self._nursery = pid, None, nursery
        self.stdout, self.stderr = streams[0], streams[-1]

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        if self.returncode is None:
            self.returncode = self._nursery.ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended; after so many seconds it is killed."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                self.kill()
            time.sleep(MOMENT)
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """All that it prints on either stream; after so many seconds it is killed."""
        alarm = threading.Timer(timeout, self.kill)
        alarm.start()
        with ThreadPoolExecutor(1) as beside, self.stdout, self.stderr:
            err = beside.submit("".__str__ if self.stderr is self.stdout else self.stderr.read)
            out = self.stdout.read()
            told = out, err.result()
        alarm.cancel()
        self.wait(timeout)
        return told

    def send_signal(self, number: int) -> None:
        """As `kill` of the shell; its number is its own until it has been asked how it ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """At once, wherever it is."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The process that has imported what is slow, and forks."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **ONE_THREAD},
            )
        atexit.register(self.close)

    def ask(self, wish: Mapping[str, Any], streams: Sequence[int] = ()) -> Any:
        """Send one wish, and hear what comes of it."""
        message = json.dumps(wish).encode() + b"\n"
        sent = socket.send_fds(self._link, [message], list(streams))
        self._link.sendall(message[sent:])
        return json.loads(_line(self._link)[0])

    def close(self) -> None:
        """Let it end; its children's time counts as ours then."""
        self._link.close()
        self._process.wait()


@cache
def _nursery() -> Nursery:
    return Nursery()


def launch(
    words: Sequence[object],
    *,
    code: str | None = None,
    environment: Mapping[str, str] | None = None,
    streams: int = 2,
    answers: int | None = None,
) -> Process:
    """Start `softquery WORDS` here, in a process that has torch at hand.

    Args:
        words: Of the command.
        code: Run in place of the command line; it has to bring `main`, which is called after it.
        environment: Beside what stands in this process's.
        streams: One where all is to be printed on the same.
        answers: A descriptor that what is printed goes to, in place of a pipe.
    """
    pipes = [os.pipe() for _ in range(streams)]
    wish = {
        "words": [str(word) for word in words],
        "code": None if code is None else f"{code}\nmain()",
        "environment": {**os.environ, **ONE_THREAD, **(environment or {})},
        "folder": os.getcwd(),
    }
    nursery = _nursery()
    theirs = [write for _, write in pipes]
    pid = nursery.ask(wish, theirs if answers is None else [answers, *theirs[1:]])
    for _, write in pipes:
        os.close(write)
    return Process(nursery, pid, [open(read, encoding="utf-8") for read, _ in pipes])


def _line(link: socket.socket) -> tuple[bytes, list[int]]:
    """What the other side sent, with the streams that came along; nothing once it is gone."""
    found, streams = b"", []
    while not found.endswith(b"\n"):
        part, some, *_ = socket.recv_fds(link, 1 << 16, 2)
        if not part:
            return b"", []
        found, streams = found + part, streams + some
    return found, streams


def _fork(link: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Answer wishes; returns in a child alone, with what is wished of it."""
    while True:
        line, streams = _line(link)
        if not line:
            os._exit(0)
        wish = json.loads(line)
        if "ended" in wish:
            pid, status = os.waitpid(wish["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                link.close()
                return wish, streams
            for stream in streams:
                os.close(stream)
        link.sendall(json.dumps(answer).encode() + b"\n")


def _live(wish: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Become what a fresh interpreter would be, and run the command."""
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    for place, stream in ((1, streams[0]), (2, streams[-1])):
        os.dup2(stream, place)
    for stream in streams:
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(wish["environment"])
    os.chdir(wish["folder"])
    sys.path[0] = wish["folder"]
    sys.argv = ["-c", *wish["words"]]
    if wish["code"] is None:
        runpy.run_module("softquery", run_name="__main__", alter_sys=True)
    else:
        exec(compile(wish["code"], "<string>", "exec"), {"__name__": "__main__"})


def _exit_code(wish: Mapping[str, Any], streams: Sequence[int]) -> int:
    try:
        _live(wish, streams)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    for name in LOADED:
        with suppress(Exception):  # what is missing here is missing in the commands as well
            import_module(name)
    flush_nothing()
    with suppress(Exception):  # likewise
        parse_with_one_parser(import_module("softquery.cli").app)
    with suppress(Exception):  # likewise
        draw_curves_once(some_picture())
    threads = Path("/proc/self/task")
    assert not threads.exists() or len(list(threads.iterdir())) == 1, "a fork would lack threads"
    gc.freeze()
    exit_code = _exit_code(*_fork(socket.socket(fileno=int(sys.argv[1]))))
    # To take apart what was imported would touch, and so copy, all memory that is shared.
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        exit_code = 120  # as of an interpreter
    os._exit(exit_code)

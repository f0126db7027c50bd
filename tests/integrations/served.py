"""A server with a port of its own, which is started, reloaded and stopped as an operator would."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Server:
    """One process of `softquery serve`.

    Args:
        model: What it serves.
        port: Where, now and after every restart.
        log: Where its log goes.
        options: Further options.
    """

    def __init__(self, model: str, *, port: int, log: Path, options: tuple[str, ...] = ()) -> None:
        self.model, self.port, self.log, self.options = model, port, log, options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        words = ["serve", "--model", self.model, "--port", str(self.port), "--threads", "1"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "softquery", *words, *self.options], stderr=log
            )
        end = time.monotonic() + 60
        while not self.is_ready():
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
            assert time.monotonic() < end, "took too long"
            time.sleep(0.1)

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def restart(self) -> int:
        """Stop it and start it again; the exit code of the first."""
        code = self.stop()
        self.start()
        return code

    def reload(self) -> None:
        """Let it open its models anew."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGHUP)

    def is_ready(self) -> bool:
        """Whether requests should come."""
        try:
            return self.ask("/ready")[0] == 200
        except OSError:
            return False

    def info(self, port: int, *, key: str) -> dict[str, object]:
        """What `/info` says at a port, to the holder of a key."""
        status, body = self.ask("/info", port=port, key=key)
        assert status == 200
        return dict(json.loads(body))

    def ask(self, path: str, *, port: int | None = None, key: str = "") -> tuple[int, bytes]:
        """A response's status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=10)
        try:
            connection.request("GET", path, headers={"authorization": f"Bearer {key}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def count(self, event: str) -> int:
        """How often an event stands in its log."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return sum(json.loads(line)["event"] == event for line in lines if line.startswith("{"))

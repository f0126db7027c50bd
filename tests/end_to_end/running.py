"""Commands as users type them, in this process where that will do, else in one of their own."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import torch  # noqa: F401

from commands_here import run_here
from warm import Process, launch

SMALL = {"model.hidden_size": 8, "model.embedding_size": 8, "data.batch_size": 16}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1"}
DIES_AFTER_AN_EPOCH = """
import os
from softquery.cli import main
from softquery.training.loop import Trainer
plain = Trainer.measure
def measure(self, observer):
    plain(self, observer)
    self._save()
    os._exit(9)
Trainer.measure = measure
"""
"""Code for `start_warm`: a run that is killed once it has been measured and saved."""
DIES_AFTER_A_PART = """
import os
from softquery.cli import main
from softquery.runtime.partial_file import Partial
plain = Partial.append
def append(self, lines):
    plain(self, lines)
    os._exit(9)
Partial.append = append
"""
"""Likewise, killed once the first answers have been written."""


@dataclass(frozen=True)
class Answer:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def settings(**groups: dict[str, object]) -> list[str]:
    """`--set` for small sizes and for what is given, such as `training={"max_steps": 2}`."""
    changes = dict(SMALL)
    for group, fields in groups.items():
        changes.update({f"{group}.{name}": value for name, value in fields.items()})
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def softquery(*words: object) -> Answer:
    """Run a command in this process, where torch has been imported already."""
    out, err = StringIO(), StringIO()
    code = run_here(words, out=out, err=err)
    return Answer(code, out.getvalue(), err.getvalue())


def train(recipe: str, data: Path, output: Path, *words: object) -> Answer:
    """Train in this process, which must succeed."""
    answer = softquery("train", recipe, "--data", data, "--output", output, *words)
    assert answer.code == 0, answer.err
    return answer


def start_warm(*words: object, code: str | None = None) -> Process:
    """Start a command in a process of its own that has torch at hand, after some code or none."""
    return launch(words, code=code, environment=ONE_THREAD)


def start_ranks(*words: object, code: str | None = None) -> list[Process]:
    """Start a command for two devices twice, as torchrun would, and with torch at hand."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    return [
        launch(
            (*words, "--devices", 2),
            code=code,
            environment={**ONE_THREAD, **group, "RANK": rank, "LOCAL_RANK": rank},
        )
        for rank in ("0", "1")
    ]


def start(*words: object, code: str | None = None) -> subprocess.Popen[str]:
    """Likewise in a fresh interpreter: what it imports is what the command needs."""
    program = ["-m", "softquery"] if code is None else ["-c", f"{code}\nmain()"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, words)],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str] | Process, *, seconds: float = 120) -> Answer:
    """Wait for a process."""
    out, err = process.communicate(timeout=seconds)
    return Answer(process.returncode, out, err)

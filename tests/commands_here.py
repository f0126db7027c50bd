"""A command in the process of a test, which it leaves as it found it."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from softquery.cli import main


def run_here(
    words: Sequence[object],
    *,
    out: TextIO,
    err: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run `softquery WORDS`; the exit code.

    Args:
        words: Of the command.
        out: Takes what it prints.
        err: Takes what it says beside.
        environment: Beside what stands in this process's.
    """
    with _left_as_found(), redirect_stdout(out), redirect_stderr(err):
        os.environ.update(environment or {})
        sys.argv = ["softquery", *map(str, words)]
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


@contextmanager
def _left_as_found() -> Iterator[None]:
    words, environment, torch = sys.argv, dict(os.environ), sys.modules.get("torch")
    if torch is not None:
        precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
        torch.set_num_threads(1)
    try:
        yield
    finally:
        sys.argv = words
        os.environ.clear()
        os.environ.update(environment)
        if torch is not None:
            torch.set_float32_matmul_precision(precision)
            torch.set_num_threads(threads)

"""Several processes of one command: who starts them, and which of them speaks."""

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from softquery.errors import SoftqueryError

PATIENCE = 20.0
"""Seconds in which the first process meets the mistake that another one has met."""


def is_first() -> bool:
    """Whether this process speaks for all that torchrun started, or is the only one."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def first_speaks() -> Iterator[None]:
    """Let the first process tell of a mistake that all meet; torchrun then ends the others."""
    try:
        yield
    except SoftqueryError:
        if not is_first():
            time.sleep(PATIENCE)
        raise


def start(devices: int) -> NoReturn:
    """Start this same command once per device, and leave as the first of them that failed."""
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    print(f"starting {devices} processes through torchrun", file=sys.stderr, flush=True)
    logging.disable(logging.ERROR)  # the processes themselves say what went wrong
    words = ["--standalone", f"--nproc-per-node={devices}", "-m", "softquery", *sys.argv[1:]]
    try:
        torchrun.run(torchrun.parse_args(words))  # type: ignore[no-untyped-call]
    except ChildFailedError as failed:
        code = failed.get_first_failure()[1].exitcode
        if code < 0:
            line = f"softquery: a process was killed (signal {-code}); go on with --resume"
            print(line, file=sys.stderr)
        sys.exit(code if code > 0 else 1)
    except SignalException:
        sys.exit(128 + signal.SIGINT)
    sys.exit(0)

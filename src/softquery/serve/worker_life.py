"""A worker process ends with the process that started it, also where that one was killed."""

import logging
import os
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess

from softquery.serve.telemetry import log


def end_with_parent() -> None:
    """Watch the process that started this one, if one did, and stop serving when it has ended."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent,), name="watch-parent", daemon=True).start()


def _watch(parent: BaseProcess) -> None:
    """Wait for the parent's end, which closes a pipe, and ask this process to stop as it would."""
    parent.join()
    log(logging.WARNING, "the process that started this worker has ended; the worker stops", {})
    os.kill(os.getpid(), signal.SIGTERM)

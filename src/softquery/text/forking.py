"""Forked children stay quiet and do not wait for threads that the fork left behind.

Once `tokenizers` has used its thread pool, a forked child cannot use it and the library says so on
the child's stderr, unless it was told beforehand to do without. It is told here for the length of
the fork, and the parent is put back as it was.
"""

import os
from functools import lru_cache
from typing import Final

VARIABLE: Final = "TOKENIZERS_PARALLELISM"


@lru_cache(maxsize=1)
def keep_quiet_on_fork() -> None:
    """Install the hooks, once a process; a choice of the user's own is left alone."""
    if not hasattr(os, "register_at_fork"):  # Windows does not fork
        return
    ours: list[bool] = []  # one entry for each fork under way

    def before() -> None:
        ours.append(VARIABLE not in os.environ)
        if ours[-1]:
            os.environ[VARIABLE] = "false"

    def in_parent() -> None:
        if ours.pop():
            os.environ.pop(VARIABLE, None)

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=ours.clear)

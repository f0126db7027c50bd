"""Where models lie on this machine."""

import os
import sys
from pathlib import Path


def shipped_folder() -> Path:
    """The folder of the models that came with the package."""
    return Path(__file__).parent / "models"


def home() -> Path:
    """The folder that softquery keeps for its user: `$SOFTQUERY_HOME`, or the system's place.

    That is `%LOCALAPPDATA%` on Windows, `~/Library/Caches` on macOS, and elsewhere
    `$XDG_CACHE_HOME` or `~/.cache`, each with `softquery` below it.
    """
    chosen = os.environ.get("SOFTQUERY_HOME")
    if chosen:
        return Path(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "softquery"


def local_folder() -> Path:
    """The folder of the user's own models, which need not exist."""
    return home() / "models"

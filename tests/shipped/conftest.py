"""The scripts that make the shipped models lie beside the package, not in it."""

import sys
from importlib.util import find_spec
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "shipped"

if SCRIPTS.is_dir():
    sys.path.insert(0, str(SCRIPTS))

NEED_TORCH = (
    []
    if find_spec("torch")
    else ["test_shipped_finish.py", "test_shipped_heads.py", "test_shipped_writer.py"]
)
collect_ignore_glob = NEED_TORCH if SCRIPTS.is_dir() else ["test_*.py"]

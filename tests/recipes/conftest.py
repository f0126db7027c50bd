"""The tiny pairs of the end-to-end tests serve here, too."""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "end_to_end"))

has_torch = find_spec("torch") and find_spec("lightning_fabric")
collect_ignore_glob = [] if has_torch else ["test_*.py"]

"""The scripts that make the shipped models lie beside the package, not in it."""

import sys
from importlib.util import find_spec
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "shipped"

if SCRIPTS.is_dir():
    sys.path.insert(0, str(SCRIPTS))
sys.path.append(str(Path(__file__).resolve().parents[1] / "end_to_end"))

NEED = [
    f"test_shipped_{name}.py"
    for name in (
        "answerers",
        "bert",
        "card",
        "class_teacher",
        "elmo",
        "generators",
        "matchers",
        "mine",
        "pair_teachers",
        "numbered_pairs",
        "sentences",
        "teachers",
    )
]
NEED_TORCH = [] if find_spec("torch") else NEED
collect_ignore_glob = NEED_TORCH if SCRIPTS.is_dir() else ["test_*.py"]

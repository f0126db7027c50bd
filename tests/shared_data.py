"""The real data sets, which lie beside the checkout where there are any."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def shared_data(name: str) -> Path:
    """A folder of the real data, or a skip with the reason."""
    homes = [os.environ.get("SOFTQUERY_DATA"), ROOT / "shared/data", ROOT.parent / "shared/data"]
    for home in homes:
        if home and (Path(home) / name).is_dir():
            return Path(home) / name
    pytest.skip(f"needs the real data ({name}), which is not beside this checkout")

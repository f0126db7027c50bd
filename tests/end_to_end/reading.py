"""What tests look at in a bundle."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file


def weights(bundle: Path) -> dict[str, Any]:
    return load_file(bundle / "model.safetensors")


def config(bundle: Path) -> dict[str, Any]:
    return json.loads((bundle / "config.json").read_text(encoding="utf-8"))


def metrics(bundle: Path) -> dict[str, Any]:
    return json.loads((bundle / "metrics.json").read_text(encoding="utf-8"))


def log(bundle: Path) -> list[dict[str, str]]:
    with open(bundle / "training" / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def assert_equal(
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    names: Iterable[str] | None = None,
    *,
    atol: float = 0.0,
) -> None:
    """The named weights agree, or all of them."""
    if names is None:
        assert left.keys() == right.keys()
    for name in names or left:
        np.testing.assert_allclose(left[name], right[name], rtol=0, atol=atol, err_msg=name)


def mean_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]
) -> list[float]:
    """How far each of the named weights moved, the mean of its entries."""
    return [float(np.abs(after[name] - before[name]).mean()) for name in names]

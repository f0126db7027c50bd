"""The recipes of docs/scale/spark-dask.md, run as scripts beside what the model says itself."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from integration_table import ROOT

PAGE = ROOT / "docs" / "scale" / "spark-dask.md"
ROWS = [(f"a man eats {n} apples", f"someone eats {n % 7} times") for n in range(500)]


def recipe(name: str, folder: Path) -> Path:
    """A script of the page as a file."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf'```python title="{name}"\n(.*?)```', text, re.DOTALL)
    assert found, f"the page has no {name}"
    script = folder / name
    script.write_text(found[1], encoding="utf-8")
    return script


def run_recipe(name: str, folder: Path) -> list[dict[str, Any]]:
    """The answers of a recipe to two files of pairs, in the order of their numbers."""
    import pyarrow
    from pyarrow import parquet

    (folder / "pairs").mkdir()
    for part in (0, 1):
        some = list(enumerate(ROWS))[part::2]
        columns = {
            "n": [n for n, _ in some],
            "sentence1": [pair[0] for _, pair in some],
            "sentence2": [pair[1] for _, pair in some],
        }
        parquet.write_table(pyarrow.table(columns), folder / "pairs" / f"{part}.parquet")
    script = recipe(name, folder)
    words = [sys.executable, script.name, "pairs", "scored"]
    around = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=around)
    assert ended.returncode == 0, ended.stderr
    rows: list[dict[str, Any]] = parquet.read_table(folder / "scored").to_pylist()
    return sorted(rows, key=lambda row: row["n"])


def check_answers(rows: list[dict[str, Any]]) -> None:
    """The rows have the answers of the model, and the columns that they had."""
    import softquery

    expected = softquery.load("match-en", threads=1).predict(ROWS)
    assert [(row["sentence1"], row["sentence2"]) for row in rows] == ROWS
    assert [row["label"] for row in rows] == [each.label for each in expected]
    differences = [abs(row["score"] - each.score) for row, each in zip(rows, expected, strict=True)]
    assert max(differences) < 1e-5

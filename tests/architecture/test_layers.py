"""The layers hold, and nothing stands outside them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from repository import PACKAGE, ROOT, project_settings

pytest.importorskip("importlinter", reason="the layers are checked by import-linter ([dev])")


def contract(kind: str) -> dict[str, Any]:
    contracts = project_settings()["tool"]["importlinter"]["contracts"]
    (found,) = (each for each in contracts if each["type"] == kind)
    return found


def lint(settings: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    arguments = ["--config", str(settings), "--no-cache"]
    return subprocess.run(
        [sys.executable, "-c", command, *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_every_contract_is_kept():
    result = lint(ROOT / "pyproject.toml")
    assert result.returncode == 0, result.stdout
    assert re.search(r"Contracts: [1-9]\d* kept, 0 broken", result.stdout)


def test_a_broken_contract_would_be_noticed(tmp_path):
    settings = tmp_path / "upside_down.toml"
    settings.write_text(
        '[tool.importlinter]\nroot_package = "softquery"\n'
        '[[tool.importlinter.contracts]]\nname = "upside down"\ntype = "layers"\n'
        'layers = ["softquery.text", "softquery.data"]\n'
    )
    result = lint(settings)
    assert result.returncode == 1
    assert "softquery.data is not allowed to import softquery.text" in result.stdout


def test_every_part_of_the_package_stands_in_a_layer():
    named = set(re.findall(r"\w+", " ".join(contract("layers")["layers"])))
    parts = {
        path.stem
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists())
        and path.stem not in ("__init__", "__main__")
    }
    assert parts - named == set()


def test_every_model_is_kept_apart_from_the_others():
    files = {path.stem for path in (PACKAGE / "models").glob("*.py")}
    # What several share, the second files of BERT and of the recurrent encoder-decoder, and what
    # stands on BERT as well as on MPNet.
    shared = {"__init__", "config_checks", "generator", "outputs", "pair_output", "registry"}
    shared |= {"bert_heads", "recurrent_decoders", "sentence_encoders"}
    systems = {f"softquery.models.{name}" for name in files - shared}
    assert systems - set(contract("independence")["modules"]) == set()

"""What runs without torch imports without torch, and starts without looking for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repository import OPTIONAL_PACKAGES, torch_free_modules

SCRIPT = Path(__file__).with_name("import_without.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOFTQUERY_HOME": os.devnull}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def imported_packages(result: subprocess.CompletedProcess[str]) -> set[str]:
    """The top-level packages that `-X importtime` reported."""
    lines = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}


def test_modules_import_without_the_optional_packages():
    modules = torch_free_modules()
    result = run(str(SCRIPT), ",".join(OPTIONAL_PACKAGES), *modules)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert {"softquery.cli", "softquery.text.pipeline"} <= set(modules)


def test_a_module_that_needs_torch_is_told():
    result = run(str(SCRIPT), "torch", "softquery.attention")
    assert "softquery.attention: torch is not installed (blocked)" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import softquery"],
        ["-m", "softquery", "--help"],
        ["-m", "softquery", "--version"],
        ["-m", "softquery", "models"],
        ["-m", "softquery", "train", "--help"],
        ["-m", "softquery", "evaluate", "--help"],
        ["-m", "softquery", "embed", "--help"],
    ],
    ids=" ".join,
)
def test_start_loads_no_optional_package(arguments):
    result = run("-X", "importtime", *arguments)
    packages = imported_packages(result)
    assert result.returncode == 0
    assert "softquery" in packages
    assert packages & set(OPTIONAL_PACKAGES) == set()


def test_import_of_the_package_alone_loads_nothing_foreign():
    packages = imported_packages(run("-X", "importtime", "-c", "import softquery"))
    assert packages & {"numpy", "onnxruntime", "tokenizers", "typer", "rich"} == set()

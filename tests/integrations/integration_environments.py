"""An environment of its own for each integration: this checkout's wheel, and exact versions."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from integration_table import ROOT, Integration

PLACE = ROOT / ".venv-integrations"
PINNED = ROOT / "constraints.txt"
MODELS = ROOT / "packages" / "softquery-models"
PYTEST = ("pytest", "pytest-timeout")
"""What every environment has, as the settings of the tests ask for both."""
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def run(*command: str | Path) -> None:
    """A command that must succeed, without the paths of whoever called."""
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT, env=clean())


def clean() -> dict[str, str]:
    """The environment of this process, except for what would lead imports to other places."""
    led = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT")
    return {name: value for name, value in os.environ.items() if name not in led}


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def wheels(*, models: bool) -> list[Path]:
    """Build the wheel of the checkout, and that of the models where it is asked for."""
    builder, made = PLACE / "builder", PLACE / "wheels"
    if not python_of(builder).exists():
        run(sys.executable, "-m", "venv", "--clear", builder)
    run(python_of(builder), *PIP, "install", "-c", PINNED, "hatchling")
    shutil.rmtree(made, ignore_errors=True)
    for source in (ROOT, MODELS) if models else (ROOT,):
        run(python_of(builder), *PIP, "wheel", "--no-deps", "--no-build-isolation",
            "--wheel-dir", made, source)  # fmt: skip
    return sorted(made.glob("*.whl"))


def prepare(integration: Integration, built: Iterable[Path], *, fresh: bool) -> Path:
    """Make the environment of an integration, or bring it up to date; returns its interpreter.

    Args:
        integration: A row of the table.
        built: The wheels.
        fresh: Take the newest versions that fit, and write them down as the exact ones.
    """
    folder = PLACE / integration.name
    python, stamp = python_of(folder), folder / "made-of.txt"
    wheel, *others = sorted(built, key=lambda path: not path.name.startswith("softquery-"))
    others = others if integration.models else []
    versions = integration.versions
    pins = versions if versions.exists() and not fresh else PINNED
    if fresh or not stamp.exists() or stamp.read_text() != _made_of(integration, pins):
        run(sys.executable, "-m", "venv", "--clear", folder)
        whole = f"softquery[{','.join(integration.extras)}] @ {wheel.as_uri()}"
        needed = (*integration.requirements, *PYTEST)
        run(python, *PIP, "install", "-c", always() if fresh else pins, whole, *others, *needed)
    else:
        run(python, *PIP, "install", "--no-deps", "--force-reinstall", wheel, *others)
    if fresh or not versions.exists():
        versions.parent.mkdir(exist_ok=True)
        versions.write_text(frozen(python), encoding="utf-8")
    stamp.write_text(_made_of(integration, versions))
    return python


def _made_of(integration: Integration, pins: Path) -> str:
    """What an environment depends on, as a fingerprint."""
    asked = (sys.version, integration.extras, integration.requirements, pins.read_text("utf-8"))
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def always() -> Path:
    """A file that pins torch alone, which must stay the build for CPUs."""
    file = PLACE / "always.txt"
    lines = PINNED.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if line.startswith("torch==")), "utf-8")
    return file


def frozen(python: Path) -> str:
    """The exact versions of an environment, softquery's own packages aside."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "list", "--format=freeze"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, env=clean())
    ours = ("softquery==", "softquery-models==", "pip==", "setuptools==", "wheel==")
    lines = [line.partition("+")[0] for line in listed.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines if not line.startswith(ours))

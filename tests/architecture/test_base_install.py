"""The base install in a clean virtual environment: small, complete, and without torch."""

import json
import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from repository import OPTIONAL_PACKAGES, ROOT, torch_free_modules

pytestmark = pytest.mark.slow

LARGEST_INSTALL = 260_000_000
NOT_OURS = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence.pth")
UNREACHABLE = (
    "No matching distribution found",
    "Could not find a version",
    "Connection",
    "Temporary failure",
    "Max retries",
)


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # Nothing of this process's own environment may leak in.
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment["SOFTQUERY_HOME"] = str(cwd / "home")
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )


def pip(*arguments: str | Path, cwd: Path) -> None:
    """Run pip, or skip where it reaches no index of packages."""
    common = ("--quiet", "--disable-pip-version-check")
    result = run(sys.executable, "-m", "pip", *arguments, *common, cwd=cwd)
    if result.returncode and any(mark in result.stderr for mark in UNREACHABLE):
        pytest.skip(f"pip cannot fetch the base dependencies: {result.stderr.splitlines()[-1]}")
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def workplace(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("base_install")


@pytest.fixture(scope="module")
def wheel(workplace) -> Path:
    return built(ROOT, workplace)


def built(source: Path, place: Path) -> Path:
    """A wheel, by the builder at hand if there is one, which spares an environment for it."""
    here = ("--no-build-isolation",) if find_spec("hatchling") else ()
    folder = place / source.name
    pip("wheel", "--no-deps", *here, "--wheel-dir", folder, source, cwd=place)
    (found,) = folder.glob("softquery*.whl")
    return found


@pytest.fixture(scope="module")
def python(workplace, wheel) -> Path:
    """The interpreter of an environment that holds the wheel and its base dependencies alone."""
    folder = workplace / "clean"
    venv.create(folder)  # without pip, which would take seconds to install
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    constraint = ("--constraint", ROOT / "constraints.txt")
    pip("--python", inside, "install", *constraint, wheel, cwd=workplace)
    return inside


def site_packages(python: Path, cwd: Path) -> Path:
    command = "import json, sysconfig; print(json.dumps(sysconfig.get_path('purelib')))"
    return Path(json.loads(run(python, "-c", command, cwd=cwd).stdout))


def num_bytes(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


def test_no_optional_package_comes_along(python, workplace):
    places = site_packages(python, workplace)
    assert (places / "softquery" / "py.typed").exists()
    optional = set(OPTIONAL_PACKAGES) - {"huggingface_hub"}  # tokenizers brings it
    assert [name for name in sorted(optional) if (places / name).exists()] == []


def test_installed_size(python, workplace):
    places = site_packages(python, workplace)
    entries = [path for path in places.iterdir() if not path.name.startswith(NOT_OURS)]
    total = sum(num_bytes(path) if path.is_dir() else path.stat().st_size for path in entries)
    assert 50_000_000 < total <= LARGEST_INSTALL


def test_every_torch_free_module_imports(python, workplace):
    script = Path(__file__).with_name("import_without.py")
    result = run(python, script, "", *torch_free_modules(), cwd=workplace)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["models"]], ids=" ".join)
def test_commands_that_need_no_torch_work(arguments, python, workplace):
    result = run(python.with_name("softquery"), *arguments, cwd=workplace)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.strip()


def test_training_names_the_extra_that_it_needs(python, workplace):
    arguments = ["train", "esim", "--data", ".", "--output", "model"]
    result = run(python.with_name("softquery"), *arguments, cwd=workplace)
    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert 'pip install "softquery[train]"' in line


def test_a_model_of_the_other_package_names_it(python, workplace):
    result = run(python.with_name("softquery"), "tag", "They can fish.", cwd=workplace)
    assert (result.returncode, result.stdout) == (2, "")
    said = "softquery: tagger-en is not installed: pip install softquery-models"
    assert result.stderr.splitlines() == [said]


def test_the_other_package_brings_it(python, workplace):
    """Both wheels, without torch: an environment of its own that sees the clean one's packages."""
    folder = workplace / "with_models"
    venv.create(folder)
    inside = folder / python.parent.name / "python"
    seen = site_packages(inside, workplace) / "base.pth"
    seen.write_text(f"{site_packages(python, workplace)}\n", encoding="utf-8")
    package = built(ROOT / "packages" / "softquery-models", workplace)
    pip("--python", inside, "install", "--no-deps", package, cwd=workplace)
    result = run(inside, "-m", "softquery", "tag", "They can fish.", cwd=workplace)
    assert (result.stdout, result.stderr) == ("They/PRON can/AUX fish/VERB ./PUNCT\n", "")


def test_wheel_holds_the_package_and_nothing_else(wheel, workplace):
    listing = run(sys.executable, "-m", "zipfile", "--list", wheel, cwd=workplace).stdout
    names = [line.split()[0] for line in listing.splitlines()[1:]]
    assert "softquery/text/simplified.tsv" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"softquery"}
    assert [name for name in names if name.endswith((".pyc", ".orig", ".rej"))] == []

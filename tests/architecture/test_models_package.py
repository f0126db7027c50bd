"""The shipped models in two distributions: small enough, found however they are installed."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from repository import PACKAGE, ROOT, project_settings

import softquery
from softquery.zoo import IN_MODELS_PACKAGE

MODELS = ROOT / "packages" / "softquery-models"
BASE_MODELS = PACKAGE / "zoo" / "models"
FOLDERS = MODELS / "src" / "softquery_models"
MB = 1_000_000
README = (ROOT / "README.md").read_text(encoding="utf-8")
LARGEST_MODEL, LARGEST_BASE, LARGEST_WHEEL = 15 * MB, 45 * MB, 95 * MB
LISTED = """
import json, sys
from softquery.zoo import find_packages, packaged
found = [(entry.name, entry.package, str(entry.path), entry.problem) for entry in packaged()]
print(json.dumps([found, find_packages().problems, "softquery_models" in sys.modules]))
"""


def num_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def folders(place: Path) -> list[Path]:
    return [path for path in sorted(place.iterdir()) if path.is_dir() and path.name[0] not in "._"]


def test_models_are_small():
    sizes = {path.name: num_bytes(path) for path in folders(BASE_MODELS) + folders(FOLDERS)}
    assert {name: size for name, size in sizes.items() if size >= LARGEST_MODEL} == {}
    assert num_bytes(BASE_MODELS) <= LARGEST_BASE
    assert num_bytes(FOLDERS) <= LARGEST_WHEEL


def test_the_readme_tells_size_and_licence_of_every_model():
    rows = re.findall(r"^\| \[`(\S+)`\].* \| ([\d.]+) MB \| ([^|]+) \|$", README, re.MULTILINE)
    shown = {name: (float(size), licence.startswith("any use")) for name, size, licence in rows}
    cards = {
        path.name: (
            round(num_bytes(path) / MB, 1),
            "research only" not in (path / "README.md").read_text(encoding="utf-8")[:2000],
        )
        for path in folders(BASE_MODELS) + folders(FOLDERS)
    }
    assert shown == cards


def test_the_base_knows_what_the_other_package_brings():
    assert [path.name for path in folders(FOLDERS)] == sorted(IN_MODELS_PACKAGE)
    assert not {path.name for path in folders(BASE_MODELS)} & set(IN_MODELS_PACKAGE)


def test_the_package_of_models_holds_no_code():
    (only,) = FOLDERS.rglob("*.py")
    (docstring,) = ast.parse(only.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert isinstance(docstring.value, ast.Constant)


def test_each_package_states_which_version_of_the_other_it_fits():
    requirements = importlib.import_module("packaging.requirements")
    ours, theirs = project_settings(), project_settings(MODELS)
    [base] = map(requirements.Requirement, theirs["project"]["dependencies"])
    extra = ours["project"]["optional-dependencies"]["models"]
    [models] = map(requirements.Requirement, extra)
    assert (base.name, models.name) == ("softquery", "softquery-models")
    assert softquery.__version__ in base.specifier
    assert theirs["project"]["version"] in models.specifier


def test_both_carry_the_same_licence_text():
    assert (MODELS / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def run(*command: object, **variables: str) -> str:
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {key: value for key, value in os.environ.items() if key not in hidden}
    result = subprocess.run(
        [str(part) for part in command], env={**kept, **variables}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def pip(*words: object) -> None:
    run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words)


needs_builder = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="wheels are built with hatchling"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, MODELS)
    (built,) = folder.glob("softquery_models-*.whl")
    return built


def listed(python: Path, folder: Path, *path: object) -> list:
    """What an interpreter finds that has softquery itself and nothing else of ours."""
    alone = folder / "alone"
    alone.mkdir()
    (alone / "softquery").symlink_to(Path(softquery.__file__).parent)
    places = os.pathsep.join(map(str, [alone, *path]))
    home = str(folder / "home")
    return json.loads(run(python, "-c", LISTED, PYTHONPATH=places, SOFTQUERY_HOME=home))


def bare(folder: Path) -> Path:
    """The interpreter of an environment in which nothing is installed, not even pip."""
    venv.create(folder / "bare")
    return folder / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"


@pytest.mark.slow
@needs_builder
def test_the_wheel_is_small_and_holds_the_models(wheel):
    assert wheel.stat().st_size <= LARGEST_WHEEL
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0].partition("-")[0] for name in names}
    assert tops == {"softquery_models"}
    models = {name.split("/")[1] for name in names if name.endswith("/config.json")}
    assert models == set(IN_MODELS_PACKAGE)


@pytest.mark.slow
@needs_builder
def test_models_are_found_in_an_installed_wheel(wheel, tmp_path):
    python = bare(tmp_path)
    pip("--python", python, "install", "--no-deps", "--no-compile", wheel)
    found, problems, imported = listed(python, tmp_path)
    assert [name for name, *_ in found] == sorted(IN_MODELS_PACKAGE)
    version = project_settings(MODELS)["project"]["version"]
    assert {(package, problem) for _, package, _, problem in found} == {
        (f"softquery-models {version}", None)
    }
    assert all("bare" in path for _, _, path, _ in found)
    assert (problems, imported) == ([], False)


@pytest.mark.slow
@needs_builder
def test_models_are_found_in_an_editable_install(tmp_path):
    python = bare(tmp_path)
    # What `pip install --editable` asks of the builder, which is not in the other environment.
    code = (
        "import os, sys, hatchling.build as b; os.chdir(sys.argv[1]); b.build_editable(sys.argv[2])"
    )
    run(sys.executable, "-c", code, MODELS, tmp_path)
    pip("--python", python, "install", "--no-deps", *tmp_path.glob("*.whl"))
    found, problems, imported = listed(python, tmp_path)
    assert [path for _, _, path, _ in found] == [str(path) for path in folders(FOLDERS)]
    assert (problems, imported) == ([], False)


@pytest.mark.slow
@needs_builder
def test_a_wheel_that_was_not_unpacked_is_told(wheel, tmp_path):
    found, problems, imported = listed(bare(tmp_path), tmp_path, wheel)
    assert found == []
    (problem,) = problems
    assert "its package 'softquery_models' is not a folder on this disk" in problem
    assert not imported

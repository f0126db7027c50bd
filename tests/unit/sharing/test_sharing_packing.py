"""Packages of bundles: their names, their metadata, their bytes, and what is left behind."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from forged_wheels import wheel_files, write_wheel
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.runtime.graphs import LARGEST_GRAPH as LARGEST_READ
from softquery.sharing import add, pack
from softquery.sharing.bundle_files import LARGEST_GRAPH
from softquery.sharing.package_metadata import describe, spdx
from softquery.zoo import find_packages, local, local_folder, remove, resolve

WORDS = ("Two dogs run.", "Some animals run.")


@pytest.fixture
def bundle(tmp_path, monkeypatch) -> Path:
    """A model of one's own called `faq`, and no models in the user's folder."""
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(resolve("nli-en"), tmp_path / "faq"))


def metadata(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode())


def with_card(bundle: Path, card: str) -> Path:
    (bundle / "README.md").write_text(card, encoding="utf-8")
    return bundle


def test_limits_are_those_of_reading():
    assert LARGEST_GRAPH == LARGEST_READ


def test_equal_bundles_give_equal_bytes(bundle, tmp_path):
    first = pack(bundle, output="one").wheel
    copy = shutil.copytree(bundle, tmp_path / "elsewhere" / "faq")
    for path in copy.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(0o700)
    assert pack(copy, output="two").wheel.read_bytes() == first.read_bytes()
    assert first.name == "softquery_model_faq-1.0-py3-none-any.whl"


def test_the_card_fills_the_metadata(bundle):
    card = '---\nversion: 2.10\nlicense: "mit"\n---\n\n# faq\n\nFinds \x1b[2J answers.\n\nMore.\n'
    packed = pack(with_card(bundle, card))
    found = metadata(packed.wheel)
    assert (packed.version, packed.licence) == ("2.10", "MIT")
    assert (found["Name"], found["Version"]) == ("softquery-model-faq", "2.10")
    assert (found["License-Expression"], found["Summary"]) == ("MIT", "Finds [2J answers.")
    assert found["Requires-Dist"] == "softquery>=0.1,<0.2"
    assert found.get_payload().startswith("# faq\n")
    assert "\x1b" not in found.as_string()


def test_a_licence_goes_along_and_a_missing_one_is_told(bundle):
    (bundle / "LICENSE").write_text("Do what you like.")
    packed = pack(with_card(bundle, "# faq\n"))
    assert packed.notes == (
        "the card states no licence, so nobody else may use it; add one to README.md",
    )
    assert metadata(packed.wheel)["License-Expression"] is None
    assert metadata(packed.wheel)["License-File"] == "LICENSE"
    names = zipfile.ZipFile(packed.wheel).namelist()
    assert "softquery_model_faq-1.0.dist-info/licenses/LICENSE" in names


@pytest.mark.parametrize(
    ("licence", "expected"),
    [("cc-by-nc-4.0", "CC-BY-NC-4.0"), ("lgpl-3.0", "LGPL-3.0-only"),
     ("Größe (v2)\x1b", "LicenseRef-Gr-e-v2"), ("---", None)],
)  # fmt: skip
def test_licences_are_spelt_as_spdx_has_them(licence, expected):
    assert spdx(licence) == expected


def test_a_head_requires_the_package_of_its_base():
    if importlib.util.find_spec("softquery_models") is None:
        pytest.skip("its base is in softquery-models")
    facts = describe(read_bundle(resolve("tagger-en")), "mine", package=None, version=None)
    assert facts.requires == ("softquery>=0.1,<0.2", "softquery-models")


@pytest.mark.parametrize(
    ("package", "module"),
    [("acme-models", "acme_models"), ("7.Models", "models_7_models"), ("class", "models_class")],
)
def test_a_package_of_any_name_has_a_module(bundle, package, module):
    packed = pack(bundle, package=package)
    with zipfile.ZipFile(packed.wheel) as archive:
        assert f"{module}/faq/config.json" in archive.namelist()
    assert [each.name for each in add(packed.wheel)] == ["faq"]


def test_logs_and_hidden_files_stay_behind(bundle):
    for name in ("training/tensorboard/events.out.tfevents.1.host", ".git/config", ".DS_Store"):
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_bytes(b"x")
    names = zipfile.ZipFile(pack(bundle).wheel).namelist()
    assert [name for name in names if "tensorboard" in name or "/." in name] == []
    assert any(name.endswith("training/run.json") for name in names)


def test_a_pipe_is_not_waited_for(bundle, tmp_path):
    os.mkfifo(tmp_path / "pipe.whl")
    with pytest.raises(BundleError, match=r"pipe\.whl: is not a file$"):
        add(tmp_path / "pipe.whl")
    (bundle / "metrics.json").unlink()
    os.mkfifo(bundle / "metrics.json")
    with pytest.raises(BundleError, match=r"metrics\.json: is not a file$"):
        add(bundle)
    assert not local_folder().exists()


def test_the_source_folder_holds_the_same_package(bundle, tmp_path):
    packed = pack(bundle, with_source=True)
    assert packed.source == Path("dist/softquery_model_faq-1.0")
    pytest.importorskip("hatchling", reason="source folders are built with hatchling")
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", "built"]
    subprocess.run([sys.executable, "-m", "pip", *words, packed.source], check=True)
    [built] = Path("built").glob("*.whl")
    ours, theirs = zipfile.ZipFile(packed.wheel), zipfile.ZipFile(built)
    files = [name for name in ours.namelist() if ".dist-info/" not in name]
    assert files == sorted(files, key=lambda name: (name.endswith("__init__.py"), name))
    assert {name: ours.read(name) for name in files} == {name: theirs.read(name) for name in files}
    for name in ("Name", "Version", "Summary", "License-Expression"):
        assert metadata(built)[name] == metadata(packed.wheel)[name]
    assert pack(bundle, with_source=True).source == packed.source, "it is replaced"


LISTED = """
import json, sys, softquery as sq
from softquery.zoo import packaged
found = [(entry.name, entry.package, entry.problem) for entry in packaged()]
label = sq.load("faq").predict([("Two dogs run.", "Some animals run.")])[0].label
print(json.dumps([found, label, "softquery_model_faq" in sys.modules]))
"""


@pytest.mark.slow
def test_pip_installs_a_wheel_and_softquery_finds_it(bundle, tmp_path):
    wheel = pack(bundle).wheel
    venv.create(tmp_path / "bare")
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = ["--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "check"], check=False)
    site = next((tmp_path / "bare").rglob("softquery_model_faq")).parent
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", LISTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, label, imported = json.loads(done.stdout)
    assert ["faq", "softquery-model-faq 1.0", None] in found
    assert (label, imported) == ("entailment", False)


def test_a_wheel_of_several_models_is_added_whole_or_not_at_all(bundle, tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path / "acme.whl", wheel_files(bundle, "one", "two"))
    plain = os.rename

    def fails_at_the_second(source, target):
        if os.path.basename(target) == "one":  # they get their names in reverse
            raise OSError(28, "No space left on device", target)
        plain(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("os.rename", fails_at_the_second)
        with pytest.raises(BundleError, match="no space left on the disk"):
            add(wheel)
    assert not local_folder().exists()
    assert [each.name for each in add(wheel)] == ["one", "two"]
    assert {entry.source for entry in local()} == {"acme-models 1.0"}


def test_a_model_is_replaced_and_removed(bundle):
    add(bundle)
    with pytest.raises(BundleError, match=r"faq: exists already; replace it with --replace"):
        add(bundle)
    (bundle / "LICENSE").write_text("new")
    [added] = add(bundle, replace=True)
    assert (added.path / "LICENSE").read_text() == "new"
    assert remove("faq") == added.path
    assert list(local_folder().iterdir()) == []


def test_a_link_among_ones_own_models_is_removed_alone(bundle):
    local_folder().mkdir(parents=True)
    (local_folder() / "linked").symlink_to(bundle)
    remove("linked")
    assert (bundle / "config.json").exists()
    assert list(local_folder().iterdir()) == []


def test_what_was_added_can_be_packed_by_its_name(bundle):
    add(bundle, name="mine")
    with zipfile.ZipFile(pack("mine").wheel) as archive:
        assert [name for name in archive.namelist() if ".added" in name] == []
    assert find_packages().problems == ()

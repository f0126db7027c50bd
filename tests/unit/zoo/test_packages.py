"""Packages of models as an installer leaves them, sound and hostile; their code must never run."""

import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from softquery.zoo import FoundPackages, find_packages

SOUND = b"[softquery.models]\nany = acme_models\n"
RUNS = "raise SystemExit('code of a package of models was run')"


def _metadata(name: str, version: str = "1.0") -> bytes:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """An empty folder of installed packages: the only one besides the standard library."""
    folder = tmp_path / "site"
    folder.mkdir()
    standard = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    monkeypatch.setattr(sys, "path", [str(folder), *standard])
    return folder


@pytest.fixture
def install(site):
    """Install a distribution with these entry points; without `metadata` it has a sound one."""

    def installed(
        name: str, points: bytes = SOUND, *, metadata: bytes | None = None, place: Path = site
    ) -> Path:
        folder = place / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "entry_points.txt").write_bytes(points)
        (folder / "METADATA").write_bytes(_metadata(name) if metadata is None else metadata)
        return folder

    return installed


def _add_package(place: Path, name: str = "acme_models", *, code: str | None = RUNS) -> Path:
    (place / name / "topics").mkdir(parents=True)
    if code is not None:
        (place / name / "__init__.py").write_text(code)
    return place / name


def test_a_package_is_found_and_its_code_is_not_run(site, install):
    install("acme-models")
    place = _add_package(site)
    found = find_packages()
    assert found.problems == ()
    assert [(each.label, each.folders) for each in found.packages] == [
        ("acme-models 1.0", (place,))
    ]
    assert "acme_models" not in sys.modules


def test_nothing_installed_is_nothing_found(site):
    assert find_packages() == FoundPackages((), ())


@pytest.mark.parametrize(
    "value",
    ["", "a b", "acme_models.sub", "acme_models:main", "acme_models [extra]", "../acme_models",
     "/etc", ".acme_models", "os; import x", "a" * 10_000 + "!"],
)  # fmt: skip
def test_an_entry_point_that_names_no_top_level_package_is_refused(site, install, value):
    install("acme-models", f"[softquery.models]\nany = {value}\n".encode())
    sub = _add_package(site) / "sub"
    sub.mkdir()
    (sub / "__init__.py").write_text(RUNS)
    found = find_packages()
    assert found.packages == ()
    (problem,) = found.problems
    assert problem.startswith("acme-models 1.0: its entry point must name a top-level package, got")
    assert len(problem) < 200


@pytest.mark.parametrize("module", ["nowhere", "a_module", "sys", "loaded"])
def test_a_package_that_is_no_folder_is_refused(site, install, module, monkeypatch):
    (site / "a_module.py").write_text(RUNS)
    monkeypatch.setitem(sys.modules, "loaded", ModuleType("loaded"))  # it has no spec
    install("acme-models", f"[softquery.models]\nany = {module}\n".encode())
    found = find_packages()
    assert found.packages == ()
    assert found.problems == (
        f"acme-models 1.0: its package '{module}' is not a folder on this disk",
    )


@pytest.mark.parametrize(
    "points",
    [
        b"[softquery.models]\nno value\n",
        b"[softquery.models]\nany = caf\xe9\n",
        b"\xff\xfe[softquery.models]\n",
    ],
)
def test_broken_entry_points_are_told_by_their_distribution(site, install, points):
    install("acme-models", points)
    install("sound-models", SOUND)
    _add_package(site)
    found = find_packages()
    assert found.problems == ("acme-models 1.0: its entry_points.txt is broken",)
    assert [each.label for each in found.packages] == ["sound-models 1.0"]


@pytest.mark.parametrize(
    "metadata", [b"", b"Name: caf\xe9\n", b"Name: a\x1b[2Jb\n", b"Version: 1\n", b"\0" * 100]
)
def test_broken_metadata_is_told_by_its_place(site, install, metadata):
    install("acme-models", metadata=metadata)
    _add_package(site)
    found = find_packages()
    assert found.packages == ()
    assert found.problems == (f"a package of models in {site} has broken metadata",)


def test_missing_metadata_is_told_as_well(site, install):
    (install("acme-models") / "METADATA").unlink()
    assert find_packages().problems == (f"a package of models in {site} has broken metadata",)


def test_a_version_that_is_none_is_not_shown(site, install):
    install("acme-models", metadata=b"Name: acme-models\nVersion: \x1b[2J\n")
    _add_package(site)
    assert [each.label for each in find_packages().packages] == ["acme-models"]


@pytest.mark.parametrize("points", [b"[console_scripts]\nx\n", b"\xff", b"# softquery.models\n"])
def test_what_is_wrong_with_other_packages_is_not_told(site, install, points):
    install("other", points)
    assert find_packages() == FoundPackages((), ())


def test_a_folder_in_place_of_the_entry_points_is_none(site):
    (site / "acme-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    assert find_packages().problems == ()


def test_packages_come_by_name(site, install):
    for name in ("Zeta-models", "acme.models", "mid_models"):
        install(name)
    _add_package(site)
    labels = [each.label for each in find_packages().packages]
    assert labels == ["acme.models 1.0", "mid_models 1.0", "Zeta-models 1.0"]


def test_of_two_installations_the_first_on_the_path_counts(site, install, tmp_path, monkeypatch):
    other = tmp_path / "other"
    install("acme-models")
    install("acme-models", metadata=_metadata("Acme_Models", "0.9"), place=other)
    _add_package(site)
    _add_package(other)
    monkeypatch.setattr(sys, "path", [*sys.path, str(other)])
    assert [each.label for each in find_packages().packages] == ["acme-models 1.0"]
    monkeypatch.setattr(sys, "path", sys.path[::-1])
    (first,) = find_packages().packages
    assert (first.label, first.folders) == ("Acme_Models 0.9", (other / "acme_models",))


def test_a_namespace_package_lies_in_several_places(site, install, tmp_path, monkeypatch):
    install("acme-models")
    other = tmp_path / "other"
    places = [_add_package(folder, code=None) for folder in (site, other)]
    monkeypatch.setattr(sys, "path", [*sys.path, str(other)])
    (package,) = find_packages().packages
    assert list(package.folders) == places


def test_several_entry_points_of_one_distribution_are_one_package(site, install):
    install("acme-models", b"[softquery.models]\na = acme_models\nb = more\nc = acme_models\n")
    places = [_add_package(site), _add_package(site, "more")]
    (package,) = find_packages().packages
    assert list(package.folders) == places


def test_a_zipped_wheel_is_refused_in_one_line(tmp_path, monkeypatch):
    wheel = tmp_path / "acme_models-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("acme_models/__init__.py", RUNS)
        archive.writestr("acme_models/topics/config.json", "{}")
        archive.writestr("acme_models-1.0.dist-info/entry_points.txt", SOUND)
        archive.writestr("acme_models-1.0.dist-info/METADATA", _metadata("acme-models"))
    monkeypatch.setattr(sys, "path", [str(wheel), sysconfig.get_path("stdlib")])
    found = find_packages()
    assert found.packages == ()
    assert found.problems == (
        "acme-models 1.0: its package 'acme_models' is not a folder on this disk",
    )


def test_an_editable_install_is_found_where_it_lies(site, install, tmp_path, monkeypatch):
    """As hatchling and setuptools' strict form leave it: metadata here, a path to the folder."""
    install("acme-models")
    clone = tmp_path / "clone" / "src"
    place = _add_package(clone)
    monkeypatch.setattr(sys, "path", [*sys.path, str(clone)])
    assert [each.folders for each in find_packages().packages] == [(place,)]


def test_an_editable_install_with_a_finder_is_found(site, install, tmp_path, monkeypatch):
    """As setuptools' usual form leaves it: a finder that maps names to folders."""
    from importlib.machinery import ModuleSpec
    from importlib.util import spec_from_file_location

    install("acme-models")
    place = _add_package(tmp_path / "clone")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            if name != "acme_models":
                return None
            return spec_from_file_location(name, place / "__init__.py")

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert [each.folders for each in find_packages().packages] == [(place,)]

import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from bundle_parts import write_sound

from softquery.bundle import read_bundle
from softquery.errors import BundleError


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_parents_are_made_and_nothing_else_is_left(tmp_path):
    assert write_sound(tmp_path / "deep" / "cats") == tmp_path / "deep" / "cats"
    assert _names(tmp_path / "deep") == ["cats"]
    assert _names(tmp_path / "deep" / "cats") == [
        "README.md",
        "config.json",
        "metrics.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def test_others_may_read_what_the_umask_lets_them(folder):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~mask
    assert stat.S_IMODE((folder / "model.safetensors").stat().st_mode) == 0o666 & ~mask


def test_a_bundle_gives_way_only_when_asked(folder, tmp_path):
    with pytest.raises(BundleError, match="cats: already exists"):
        write_sound(folder, metrics={"n": 2})
    assert read_bundle(folder).metrics["n"] == 10
    (folder / "onnx").mkdir()
    write_sound(folder, metrics={"n": 2}, replace=True)
    assert read_bundle(folder).metrics == {"n": 2}
    assert not (folder / "onnx").exists()  # graphs of other weights must not stay
    assert _names(tmp_path) == ["cats"]


def test_replace_never_removes_what_is_no_bundle(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(BundleError, match="home: is not replaced, because it is no model folder"):
        write_sound(tmp_path / "home", replace=True)
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_an_empty_folder_is_filled_and_a_file_is_in_the_way(tmp_path):
    (tmp_path / "empty").mkdir()
    write_sound(tmp_path / "empty")
    assert read_bundle(tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    with pytest.raises(BundleError, match="file: is in the way: not a folder"):
        write_sound(tmp_path / "file", replace=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"metrics": {"loss": float("nan")}}, "JSON"),
        ({"tokenizer_json": "{"}, "tokenizer_json is broken"),
        ({"tokenizer_json": "[]"}, r"tokenizer_json must be a JSON object, got '\[\]'"),
        ({"weights": {"w": np.array(["a"])}}, "weight 'w' has dtype <U1, which cannot be stored"),
        ({"weights": {"w": np.array([None])}}, "weight 'w' has dtype object"),
        ({"weights": {"__metadata__": np.ones(1)}}, "'__metadata__' cannot be the name"),
    ],
)
def test_what_no_bundle_can_hold_leaves_nothing(tmp_path, changes, reason):
    with pytest.raises(ValueError, match=reason):
        write_sound(tmp_path / "m", **changes)
    assert _names(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_without_permission_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(BundleError, match=r"m: cannot be written \(Permission denied\)"):
            write_sound(tmp_path / "m")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_among_the_parents_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(BundleError, match=r"cannot be written \((File exists|Not a directory)"):
        write_sound(tmp_path / "file" / "m")


_WRITE_BIG = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from bundle_parts import write_sound
from softquery.errors import BundleError
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    write_sound(sys.argv[2], weights={"w": np.ones(10_000)}, replace=True)
except BundleError as error:
    print(error)
"""


@pytest.mark.parametrize("exists", [True, False])
def test_a_disk_that_refuses_leaves_the_old_bundle_and_no_half_one(tmp_path, exists):
    pytest.importorskip("resource")
    if exists:
        write_sound(tmp_path / "cats")
    done = subprocess.run(
        [sys.executable, "-c", _WRITE_BIG, os.path.dirname(__file__), str(tmp_path / "cats")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cats: cannot be written (File too large)" in done.stdout
    assert _names(tmp_path) == (["cats"] if exists else [])
    if exists:
        assert read_bundle(tmp_path / "cats").metrics["n"] == 10

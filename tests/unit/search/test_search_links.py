"""Links inside an index lead nowhere: they are refused, and nothing is removed or written there."""

import os
import shutil

import pytest

from index_forging import segment_folders, tree, write_canaries
from softquery import Index
from softquery.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")

CHANGES = {
    "add": lambda index: index.add([{"id": "new", "question": "w5"}]),
    "add nothing new": lambda index: index.add([{"id": "r0", "question": "w0"}]),
    "compact": lambda index: index.compact(),
    "min_score": lambda index: index.set_min_score(0.3),
    "delete": lambda index: index.delete(["r1"]),
    "refused delete": lambda index: index.delete(["no such row"]),
}


@pytest.fixture
def outside(tmp_path):
    return write_canaries(tmp_path / "outside")


def replace_by_link(path, target):
    """Move something to the target, and leave a link in its place."""
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
        shutil.rmtree(path)
    else:
        shutil.copy(path, target / path.name)
        target = target / path.name
        path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_open", [False, True], ids=["opened", "already open"])
def test_segments_elsewhere_are_neither_swept_nor_changed(index, outside, change, is_open):
    replace_by_link(index.path / "segments", outside)
    before = tree(outside)
    with pytest.raises(InputError, match="segments: is a link"):
        change(index if is_open else Index.open(index.path, threads=1))
    assert tree(outside) == before


@pytest.mark.parametrize("name", ["manifest.json", "lock", "segments", "segment", "cells.bin", ""])
def test_a_link_is_refused_wherever_it_is(index, outside, name):
    (segment,) = segment_folders(index.path)
    places = {"segment": segment, "cells.bin": segment / "cells.bin"}
    path = places.get(name, index.path / name)
    replace_by_link(path, outside)
    before = tree(outside)
    with pytest.raises(InputError, match=f"{path.name}: is a link; "):
        Index.open(index.path, threads=1).compact()
    assert tree(outside) == before


@pytest.mark.parametrize("place", ["manifest", "deleted"])
def test_no_file_is_written_through_a_link(index, outside, place):
    """The name of the next file is known beforehand: a link may wait there."""
    (segment,) = segment_folders(index.path)
    name = f"deleted-{index.manifest.generation + 1}.bin"
    waiting = segment / name if place == "deleted" else index.path / "manifest.json"
    if place == "manifest":
        replace_by_link(waiting, outside)
    else:
        waiting.symlink_to(outside / "profile")
    before = tree(outside)
    for opened in (lambda: index, lambda: Index.open(index.path, threads=1)):
        with pytest.raises(InputError, match="is a link"):
            opened().delete(["r1"])
    assert tree(outside) == before


def test_no_index_is_built_through_a_link(model, rows, outside, tmp_path):
    (outside / "empty").mkdir()
    for target in (outside / "empty", outside / "missing"):
        place = tmp_path / f"{target.name}.sq"
        place.symlink_to(target)
        before = tree(outside)
        with pytest.raises(InputError, match=r"\.sq: is a link"):
            Index.build(rows, place, model=model, threads=1)
        assert tree(outside) == before


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name", ["manifest.json", "lock", "segment.json", "cells.bin", "words.json"]
)
def test_a_pipe_does_not_block(index, name):
    (segment,) = segment_folders(index.path)
    path = segment / name if (segment / name).exists() else index.path / name
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match=f"{name}: is not a file"):
        Index.open(index.path, threads=1).compact()


@pytest.mark.parametrize("name", ["manifest.json", "segment.json", "cells.bin"])
def test_a_folder_is_not_a_file(index, name):
    (segment,) = segment_folders(index.path)
    path = segment / name if (segment / name).exists() else index.path / name
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=f"{name}: is not a file"):
        Index.open(index.path, threads=1)


def test_sweeping_removes_what_a_crash_left_and_nothing_else(index, outside):
    segments = index.path / "segments"
    for name in ("000007-0123abcd", ".000007-0123abcd.0123456789abcdef.tmp"):
        (segments / name).mkdir()
        (segments / name / "cells.bin").write_bytes(b"left")
    (segment,) = (path for path in segment_folders(index.path) if (path / "segment.json").exists())
    for name in ("deleted-9.bin", ".deleted-9.bin.0123456789abcdef.tmp"):
        (segment / name).write_bytes(b"left")
    (index.path / ".manifest.json.0123456789abcdef.tmp").write_text("left")
    own = [segments / "notes", segments / "000008-4567abcd", segments / "000009-4567abcd"]
    for place in own:
        (place / "deeper").mkdir(parents=True)
        (place / "deeper" / "photo.jpg").write_text("mine")
        (place / "letter.txt").write_text("mine")
    (index.path / "notes.tmp").write_text("mine")
    (segments / "list.tmp").write_text("mine")
    (segment / "mine.tmp").write_text("mine")
    index.set_min_score(0.3)
    found = set(tree(index.path))
    assert not [name for name in found if "000007" in name or "deleted-9" in name]
    assert ".manifest.json.0123456789abcdef.tmp" not in found
    for place in own:
        assert (place / "deeper" / "photo.jpg").read_text() == "mine"
        assert (place / "letter.txt").read_text() == "mine"
    assert {"notes.tmp", "segments/list.tmp"} <= found
    assert (segment / "mine.tmp").exists()

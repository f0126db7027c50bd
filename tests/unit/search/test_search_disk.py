"""A disk that fills up while something is written: one clear line, and the index as it was."""

import os
import subprocess
import sys

import pytest

from softquery import Index
from softquery.search.changes import building

LIMITED = """
import resource, signal, sys
from softquery import Index
from softquery.errors import InputError
from softquery.search.changes import building
building.COMMIT_ROWS = 50
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rows = [{"id": f"n{k}", "question": " ".join(f"w{(k + j) % 120}" for j in range(3 + k // 4))}
        for k in range(200)]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    if sys.argv[1] == "add":
        Index.open(sys.argv[2], threads=1).add(rows)
    elif sys.argv[1] == "rebuild":
        Index.rebuild(sys.argv[2], vectors="words", threads=1)
    else:
        Index.build(rows, sys.argv[2], model=sys.argv[4], threads=1)
except InputError as error:
    print(error)
    sys.exit(2)
"""


def limited(step, place, size, model=""):
    pytest.importorskip("resource", reason="files are limited by POSIX")
    command = [sys.executable, "-c", LIMITED, step, str(place), str(size), str(model)]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))


@pytest.mark.parametrize("size", [100, 9000, 30_000])
def test_adding(index, rows, size):
    before = {row["id"]: row for row in index.rows()}
    result = limited("add", index.path, size)
    assert result.returncode == 2, result.stderr
    assert result.stdout.count("\n") == 1
    assert "cannot be written (File too large)" in result.stdout
    again = Index.open(index.path)
    assert {row["id"]: row for row in again.rows()} == before
    assert again.search(rows[0]["question"], min_score=0.0)
    assert again.add([{"question": "w1"}]).added == 1
    assert len(list((index.path / "segments").iterdir())) == 2


@pytest.mark.parametrize("size", [100, 700])
def test_rebuilding(index, rows, size):
    before = index.manifest
    result = limited("rebuild", index.path, size)
    assert result.returncode == 2, result.stderr
    assert result.stdout.count("\n") == 1
    assert "cannot be written (File too large)" in result.stdout
    again = Index.open(index.path)
    assert again.manifest == before
    assert again.search(rows[0]["question"], min_score=0.0)
    assert limited("rebuild", index.path, 10**9).returncode == 0
    assert len(list((index.path / "segments").iterdir())) == 1


def test_building_goes_on_when_there_is_space(model, tmp_path, monkeypatch):
    place = tmp_path / "faq.sq"
    result = limited("build", place, 25_000, model)
    assert result.returncode == 2, result.stderr
    assert "cannot be written (File too large)" in result.stdout
    kept = Index.open(place)
    assert kept.manifest.unfinished
    assert 0 < len(kept) < 200
    assert len(kept) % 50 == 0
    monkeypatch.setattr(building, "COMMIT_ROWS", 50)
    assert limited("build", place, 10**9, model).returncode == 0
    done = Index.open(place)
    assert (len(done), done.manifest.unfinished, len(done.manifest.segments)) == (200, False, 1)

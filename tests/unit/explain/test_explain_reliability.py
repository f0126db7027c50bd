"""The reliability diagram as a file: a real picture, written whole."""

import sys

import pytest

from softquery.errors import InputError, MissingExtra
from softquery.explain.plots import draw_reliability
from softquery.measure import reliability

PNG = b"\x89PNG\r\n\x1a\n"
BEFORE = reliability([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], [0, 1, 0, 0])
AFTER = reliability([[0.7, 0.3], [0.6, 0.4], [0.55, 0.45], [0.4, 0.6]], [0, 1, 0, 0])


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "reliability.png"
    draw_reliability(BEFORE, AFTER, path)
    content = path.read_bytes()
    assert content.startswith(PNG)
    assert len(content) > 5000
    assert [each.name for each in tmp_path.iterdir()] == ["reliability.png"]
    draw_reliability(AFTER, BEFORE, path)
    assert path.read_bytes() != content


def test_one_bin_is_a_point(tmp_path):
    pytest.importorskip("matplotlib")
    one = reliability([[0.5, 0.5], [0.5, 0.5]], [0, 1])
    draw_reliability(one, one, tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(PNG)


def test_a_place_that_does_not_exist(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match=r"none/a\.png: cannot be written \(no such folder\)$"):
        draw_reliability(BEFORE, AFTER, tmp_path / "none" / "a.png")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'^a reliability diagram .*"softquery\[plot\]"$'):
        draw_reliability(BEFORE, AFTER, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []

"""Where no explanation can go is known before anything is computed."""

import sys

import pytest

from softquery.errors import InputError, MissingExtra
from softquery.explain.write import require_place


def test_a_place_that_will_do(tmp_path):
    require_place(tmp_path / "why.html")
    (tmp_path / "why.json").write_text("{}")
    require_place(tmp_path / "why.json")


def test_places_that_will_not_do(tmp_path):
    (tmp_path / "why.svg").mkdir()
    for name, said in (
        ("none/why.html", r"why\.html: cannot be written \(no such folder\)$"),
        ("why.svg", r"why\.svg: cannot be written \(is a folder\)$"),
        ("why.mp4", r"why\.mp4: expected a name that ends in .*"),
    ):
        with pytest.raises(InputError, match=said):
            require_place(tmp_path / name)


def test_a_png_needs_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"drawing a PNG needs .*softquery\[plot\]"):
        require_place(tmp_path / "why.png")
    require_place(tmp_path / "why.svg")

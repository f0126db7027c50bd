"""Bars of a probe as a file."""

import sys

import pytest

from softquery.errors import MissingExtra
from softquery.explain.plots import Bar, BarPanel, draw_bars

PNG = b"\x89PNG\r\n\x1a\n"
PANEL = BarPanel(
    title="dev of $x_1$",
    bars=[
        Bar(name="first sense", share=0.6, low=0.55, high=0.66, is_baseline=True),
        Bar(name="a$b layer 1", share=0.7, low=0.71, high=0.74),
    ],
)


def test_panels_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw_bars([PANEL], tmp_path / "one.png", label="accuracy")
    draw_bars([PANEL, PANEL], tmp_path / "two.png", label="accuracy")
    one, two = ((tmp_path / name).read_bytes() for name in ("one.png", "two.png"))
    assert one.startswith(PNG)
    assert two.startswith(PNG)
    assert len(two) > len(one) > 5000


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'^drawing bars .*"softquery\[plot\]"$'):
        draw_bars([PANEL], tmp_path / "a.png", label="accuracy")
    assert list(tmp_path.iterdir()) == []

import builtins
import json
import struct
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from explain_samples import HOSTILE, aligned, small

from softquery.errors import InputError, MissingExtra
from softquery.explain import from_json, to_html, to_png, to_svg


def size_of(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert png[-8:-4] == b"IEND"
    return struct.unpack(">II", png[16:24])


@pytest.fixture
def _no_matplotlib(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_the_ending_decides_the_form(tmp_path):
    alignment = small()
    paths = [alignment.plot(tmp_path / name) for name in ("a.svg", "b.HTML", "c.json")]
    assert [path.name for path in paths] == ["a.svg", "b.HTML", "c.json"]
    assert paths[0].read_text(encoding="utf-8") == to_svg(alignment)
    assert paths[1].read_text(encoding="utf-8") == to_html(alignment)
    assert from_json(paths[2].read_text(encoding="utf-8")) == alignment


def test_a_name_may_be_a_string(tmp_path):
    path = small().plot(str(tmp_path / "why.svg"))
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", ["why.bmp", "why", "why.svg.gz", ".html", "why.html "])
def test_other_endings_are_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(InputError, match=r"expected a name that ends in \.html, \.svg, \.png or"):
        small().plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["html", "svg", "json", "png"])
def test_a_missing_folder_is_named(tmp_path, ending):
    if ending == "png":
        pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match=r"why\.\w+: cannot be written \(no such folder\)"):
        small().plot(tmp_path / "nowhere" / f"why.{ending}")


@pytest.mark.parametrize("ending", ["html", "svg", "json"])
def test_hostile_text_can_be_written(tmp_path, ending):
    path = aligned(HOSTILE, HOSTILE).plot(tmp_path / f"why.{ending}")
    assert path.stat().st_size > 1000
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_older_file_stands_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "why.svg"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(InputError, match="no space left"):
        small().plot(path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["why.svg"]


@pytest.mark.usefixtures("_no_matplotlib")
def test_a_png_without_matplotlib_names_the_extra(tmp_path):
    with pytest.raises(MissingExtra, match=r'drawing a PNG needs .*"softquery\[plot\]"'):
        small().plot(tmp_path / "why.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_no_matplotlib")
def test_everything_else_needs_no_matplotlib(tmp_path):
    for ending in ("svg", "html", "json"):
        small().plot(tmp_path / f"why.{ending}")
    assert json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))["model"] == "nli-en"


def test_a_png_is_a_png(tmp_path):
    pytest.importorskip("matplotlib", reason="PNG needs [plot]")
    path = to_png(small(), tmp_path / "why.png")
    width, height = size_of(path.read_bytes())
    assert width > 1000
    assert height > 300


@pytest.mark.parametrize(("first", "second"), [([], []), (["a"], []), (["a"] * 70, ["b"] * 60)])
def test_a_png_holds_any_number_of_words(tmp_path, first, second):
    pytest.importorskip("matplotlib", reason="PNG needs [plot]")
    width, height = size_of(aligned(first, second).plot(tmp_path / "why.png").read_bytes())
    assert width * height < 41e6


def test_a_png_shows_the_weights(tmp_path):
    """Where the alignment is darkest, the picture is too."""
    pytest.importorskip("matplotlib", reason="PNG needs [plot]")
    from matplotlib.image import imread

    def darkness(weight):
        weights = np.array([[weight, 1 - weight]])
        alignment = aligned(["a"], ["b", "c"], first_to_second=weights, second_to_first=[[1], [1]])
        pixels = imread(alignment.plot(tmp_path / "why.png"))
        layout_x, layout_y = _corner_of_first_map(alignment)
        scale = 2  # 192 dots to the inch, 96 units to the inch
        row = int((layout_y + 6) * scale)
        return [float(pixels[row, int((layout_x + x) * scale), :3].mean()) for x in (6, 40)]

    strong, weak = darkness(0.9)
    assert strong < weak - 0.3
    weak, strong = darkness(0.1)
    assert strong < weak - 0.3


def _corner_of_first_map(alignment):
    from softquery.explain.layout import arrange

    layout = arrange(alignment)
    x, y = layout.maps_at[0]
    return x + layout.maps[0].left, y + layout.top


def test_characters_that_no_font_has_are_told_in_one_line(tmp_path):
    pytest.importorskip("matplotlib", reason="PNG needs [plot]")
    private = "\U000f0001"  # belongs to nobody, so no font for text has it
    with pytest.warns(
        UserWarning, match=r"no installed font has .*boxes.*\.svg and \.html"
    ) as told:
        aligned([private], ["b"]).plot(tmp_path / "why.png")
    assert len(told) == 1
    assert "\n" not in str(told[0].message)


def test_dollars_are_no_formulas(tmp_path):
    pytest.importorskip("matplotlib", reason="PNG needs [plot]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(first="$\\frac$ costs $5", model="$x^$").plot(tmp_path / "why.png")

"""Every picture of the documentation can be drawn again by the script beside it."""

import pytest
from repository import ROOT

from warm import launch

pytest.importorskip("matplotlib", reason="pictures are drawn with the extra [plot]")

FIGURES = ROOT / "docs" / "figures"
SCRIPTS = sorted(FIGURES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws_its_picture(script, tmp_path):
    picture = tmp_path / "picture.svg"
    code = f"import runpy\ndef main(): runpy.run_path({str(script)!r}, run_name='__main__')"
    process = launch(["--output", picture], code=code)
    _, err = process.communicate(timeout=280)
    assert (process.returncode, err) == (0, "")
    assert "</svg>" in picture.read_text(encoding="utf-8")


def test_every_picture_has_its_script():
    drawn = {script.stem.replace("_", "-") for script in SCRIPTS}
    files = (path for path in FIGURES.iterdir() if path.suffix in (".svg", ".png"))
    pictures = {path.stem.removesuffix("-zh") for path in files}
    assert pictures == drawn

"""Every picture of the documentation can be drawn again by the script beside it."""

import subprocess
import sys

import pytest
from repository import ROOT

pytest.importorskip("matplotlib", reason="pictures are drawn with the extra [plot]")

FIGURES = ROOT / "docs" / "figures"
SCRIPTS = sorted(FIGURES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws_its_picture(script, tmp_path):
    picture = tmp_path / "picture.svg"
    command = [sys.executable, str(script), "--output", str(picture)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "</svg>" in picture.read_text(encoding="utf-8")


def test_every_picture_has_its_script():
    drawn = {script.stem.replace("_", "-") for script in SCRIPTS}
    pictures = {path.stem for path in FIGURES.iterdir() if path.suffix in (".svg", ".png")}
    assert pictures == drawn

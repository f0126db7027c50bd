"""The makefile that teaches everything on one GPU: what it would run, without running it."""

import shutil
import subprocess
from pathlib import Path

import pytest

SHIPPED = Path(__file__).resolve().parents[2] / "shipped"
PRODUCTS = {
    "embed-en": "results_en.jsonl",
    "embed-zh": "results_zh.jsonl",
    "nli-en": "nli-student",
    "match-en": "match-student",
    "match-zh": "zh-student",
}


def planned(*arguments):
    """The commands that make would run, a line each."""
    asked = ["make", "--dry-run", "--no-print-directory", "-f", "shipped/teach.mk"]
    asked += ["END=2000000000", *arguments]
    done = subprocess.run(asked, cwd=SHIPPED.parent, capture_output=True, text=True, check=True)
    return done.stdout.replace("\\\n", " ").splitlines()


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_every_goal_ends_with_its_product_and_runs_scripts_that_are_there(tmp_path):
    lines = planned(f"MADE={tmp_path}")
    for goal, product in PRODUCTS.items():
        own = planned(goal, f"MADE={tmp_path}")
        assert f"{tmp_path}/{product}" in own[-1]
        assert set(own) <= set(lines)
    scripts = [word for line in lines for word in line.split() if word.endswith(".py")]
    modules = [line.split(" -m ")[1].split()[0] for line in lines if " -m " in line]
    assert scripts
    assert modules
    for path in (*scripts, *(f"shipped/{name.replace('.', '/')}" for name in modules)):
        found = SHIPPED.parent / path
        assert found.is_file() or found.is_dir() or found.with_suffix(".py").is_file(), path


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_what_is_there_is_not_made_again(tmp_path):
    for name in ("written.tsv.xz", "match/logits.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (student,) = planned("match-en", f"MADE={tmp_path}")
    assert "match-en-thin" in student
    assert not any("chinese write" in line for line in planned(f"MADE={tmp_path}"))

"""A bundle that an earlier softquery wrote still answers as it did then.

`frozen/bundle-v1` is never written anew. A new folder format gets a frozen bundle of its own beside
it, and this one must go on loading, or be refused with a line that says what to do.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from running import softquery

import softquery as sq
from softquery.bundle import read_bundle
from softquery.errors import BundleError

FROZEN = Path(__file__).with_name("frozen")
BUNDLE = FROZEN / "bundle-v1"
EXPECTED = json.loads((FROZEN / "expected-v1.json").read_text(encoding="utf-8"))
LARGEST = 60_000
"""Bytes that a frozen bundle may take in the repository."""


def test_it_answers_as_it_did():
    pairs = [(row["sentence1"], row["sentence2"]) for row in EXPECTED]
    found = sq.load(BUNDLE).predict(pairs)
    assert len(found) == 10
    for match, row in zip(found, EXPECTED, strict=True):
        assert match.probabilities == pytest.approx(row["probabilities"], abs=1e-5), row


def test_the_expected_answers_tell_models_apart():
    """Were they all alike, nearly any weights would do."""
    scores = [row["probabilities"]["same"] for row in EXPECTED]
    assert min(scores) < 0.3
    assert max(scores) > 0.6
    assert len(set(scores)) == 10


def test_what_it_says_about_itself_is_read():
    bundle = read_bundle(BUNDLE)
    assert (bundle.config.bundle_version, bundle.config.library_version) == (1, "0.1.0")
    assert bundle.config.task == {"name": "match", "labels": ["different", "same"]}
    assert bundle.metrics["dev"]["n"] == 60
    shown = softquery("models", BUNDLE)
    assert shown.code == 0
    assert shown.out.startswith('---\nlicense: "apache-2.0"\n')
    for title in ("Data", "Training", "Numbers", "Calibration", "Limits", "How to use", "Licence"):
        assert f"\n## {title}\n" in shown.out


@pytest.fixture
def newer(tmp_path):
    """The same bundle, as though a later softquery had written it."""
    folder = Path(shutil.copytree(BUNDLE, tmp_path / "newer"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"bundle_version": 99, "library_version": "7.0.0", "key_of_the_future": 1}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_a_newer_format_is_refused_with_the_advice_to_upgrade(newer):
    reason = (
        "written by softquery 7.0.0, bundle version 99; "
        "this softquery reads up to 1: upgrade softquery"
    )
    with pytest.raises(BundleError, match=reason):
        sq.load(newer)
    answer = softquery("models", newer)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"softquery: {newer / 'config.json'}: {reason}\n"


def test_it_is_small_and_holds_nothing_that_only_one_machine_knows():
    files = [path for path in FROZEN.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    names = {path.relative_to(BUNDLE).as_posix() for path in files if BUNDLE in path.parents}
    required = {"README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer.json"}
    assert names == required | {"training/log.csv", "training/run.json"}


def test_git_does_not_overlook_it():
    if not (FROZEN.parents[2] / ".git").exists():
        pytest.skip("this is no git checkout")
    paths = [str(path) for path in FROZEN.rglob("*") if path.is_file()]
    ignored = subprocess.run(
        ["git", "check-ignore", *paths], cwd=FROZEN, capture_output=True, text=True
    )
    assert (ignored.returncode, ignored.stdout) == (1, "")

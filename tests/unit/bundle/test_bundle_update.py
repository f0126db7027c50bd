"""A calibration written into a bundle: its file, its section of the card, and nothing else."""

import hashlib
import json
import os

import pytest
from bundle_parts import write_sound

from softquery.bundle import Card, make_card, read_bundle, update_bundle
from softquery.errors import BundleError

FIRST = {"temperature": 1.25, "threshold": 0.62, "abstain_below": None, "aim": "f1"}
SECOND = {"temperature": 0.5, "threshold": None, "abstain_below": 0.7}


def prints(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def calibrated(folder, values):
    update_bundle(read_bundle(folder), calibration=values)
    return read_bundle(folder)


def section(card):
    return card.partition("\n## Calibration\n")[2].partition("\n## ")[0]


@pytest.fixture
def carded(tmp_path):
    """A bundle whose card has all sections."""
    facts = Card(
        name="cats", purpose="Matches cats.", languages=["en"], licence="mit", data=[],
        training={"seed": 1}, numbers=[], limits=["Cats only."],
    )  # fmt: skip
    card = make_card(facts, kind="matcher")
    return write_sound(tmp_path / "carded", card=card, graphs={"encode.onnx": b"graph"})


def test_only_card_and_calibration_change(carded):
    before = prints(carded)
    bundle = calibrated(carded, FIRST)
    after = prints(carded)
    assert {name for name in after if after[name] != before.get(name)} == {
        "calibration.json", "README.md"
    }  # fmt: skip
    assert before.keys() <= after.keys()
    assert "onnx/encode.onnx" in after
    assert bundle.calibration == FIRST


def test_the_section_is_filled_where_it_stood(carded):
    before = read_bundle(carded).card
    assert "Not calibrated" in section(before)
    card = calibrated(carded, FIRST).card
    assert "Not calibrated" not in card
    assert "| temperature | 1.2500 |" in section(card)
    assert "| threshold | 0.6200 |" in section(card)
    assert "| aim | f1 |" in section(card)
    assert "abstain_below" not in card  # nothing was chosen
    head, _, tail = before.partition("\n## Calibration\n")
    assert card.startswith(head)
    assert card.endswith(tail.partition("\n## ")[2])


def test_a_second_calibration_replaces_the_first(carded):
    calibrated(carded, FIRST)
    twice = calibrated(carded, SECOND)
    assert twice.calibration == SECOND
    assert twice.card.count("## Calibration") == 1
    assert "| temperature | 0.5000 |" in section(twice.card)
    assert "| abstain_below | 0.7000 |" in section(twice.card)
    assert "0.6200" not in twice.card
    assert calibrated(carded, SECOND).card == twice.card


def test_a_card_without_the_section_gets_one_at_its_end(folder):
    once = calibrated(folder, FIRST).card
    assert once.startswith("# cats\n\nMatches cats.\n\n## Calibration\n\n| setting | value |\n")
    assert once.endswith("| aim | f1 |\n")
    twice = calibrated(folder, SECOND).card
    assert twice.count("## Calibration") == 1
    assert twice.endswith("| abstain_below | 0.7000 |\n")
    assert not twice.endswith("\n\n")


def test_what_json_cannot_hold_is_refused_before_anything_changes(carded):
    before = prints(carded)
    with pytest.raises(ValueError, match="Out of range float values"):
        update_bundle(read_bundle(carded), calibration={"temperature": float("nan")})
    assert prints(carded) == before


def test_a_text_with_a_bar_stays_in_its_cell(carded):
    card = calibrated(carded, {**FIRST, "aim": "a|b\nc"}).card
    assert r"| aim | a\|b c |" in section(card)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are another matter here")
def test_a_folder_that_cannot_be_written_gets_one_line(carded):
    bundle, before = read_bundle(carded), prints(carded)
    carded.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        for parent in list(carded.parents)[:3]:
            parent.chmod(0o755)
        os.seteuid(65534)
    try:
        with pytest.raises(BundleError) as caught:
            update_bundle(bundle, calibration=FIRST)
    finally:
        if is_root:
            os.seteuid(0)
        carded.chmod(0o755)
    assert str(caught.value).startswith(f"{carded}: cannot be written (")
    assert "\n" not in str(caught.value)
    assert prints(carded) == before


def test_calibration_json_is_readable(carded):
    calibrated(carded, FIRST)
    text = (carded / "calibration.json").read_text(encoding="utf-8")
    assert json.loads(text) == FIRST
    assert text.endswith("}\n")

"""Opinions with and without a no: as many of each, and probes of other words."""

import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.classify.negations import BAD, GOOD, PROBES, SIGNS, opinions  # noqa: E402


def test_half_of_the_opinions_are_positive_with_and_without_a_no():
    rows = opinions(400, seed=1)
    assert Counter(sign for _, sign in rows) == dict.fromkeys(SIGNS, 200)
    assert len({text for text, _ in rows}) > 390
    bad = [sign for text, sign in rows if set(text.lower().rstrip(" .").split()) & set(BAD)]
    assert min(Counter(bad).values()) > 60  # a bad word alone decides nothing
    assert opinions(400, seed=1) == rows
    assert opinions(400, seed=2) != rows


def test_a_no_turns_the_sign():
    rows = opinions(2800, seed=1)
    for words, plain, turned in ((GOOD, "positive", "negative"), (BAD, "negative", "positive")):
        for frame, sign in ((" is really ", plain), (" anything but ", turned)):
            found = {given for text, given in rows
                     if frame in text and text.rstrip(" .").split()[-1] in words}  # fmt: skip
            assert found == {sign}


def test_probes_are_made_of_words_that_are_not_learnt_from():
    learnt = {*GOOD, *BAD}
    words = {text.lower().rstrip(".").split()[-1] for text, _ in PROBES}
    assert not words & learnt
    assert Counter(sign for _, sign in PROBES) == dict.fromkeys(SIGNS, 48)

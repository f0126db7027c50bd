"""One measure for each rule of a couplet."""

import pytest

from softquery.measure import CoupletReport, rivals
from softquery.measure.generate_scores import (
    opposite_ends,
    repeats_rightly,
    same_length,
    same_signs,
)


@pytest.mark.parametrize(
    ("lower", "kept"),
    [
        ("秋月水风", (True, True, True, True)),
        ("秋月水", (False, True, True, True)),
        ("秋月，风", (True, False, True, True)),
        ("春月水风", (True, True, False, True)),  # takes a character
        ("秋秋水风", (True, True, False, True)),  # repeats where the upper line does not
        ("秋月水地", (True, True, True, False)),
    ],
)
def test_each_rule_is_broken_alone(lower, kept):
    upper = "春花山日"
    found = (same_length(upper, lower), same_signs(upper, lower))
    assert found == kept[:2]
    if len(upper) == len(lower) and kept[1]:
        assert repeats_rightly(upper, lower) == kept[2]
        assert opposite_ends(upper, lower) == kept[3]


def test_repeats_stand_in_the_same_places():
    assert repeats_rightly("山山水水", "日日风风")
    assert not repeats_rightly("山山水水", "日风日风")
    assert not repeats_rightly("山山水水", "日日日日")


def test_the_report_counts_shares():
    report = CoupletReport.of(["春花", "山日", "天x"], ["秋风", "水", "地y"])
    assert report.same_length == pytest.approx(2 / 3)
    assert report.repeats_rightly == pytest.approx(2 / 3)
    assert report.n == 3
    with pytest.raises(ValueError, match="no couplets"):
        CoupletReport.of([], [])


def test_rivals_are_of_the_same_shape_and_never_the_line_itself():
    lines = ["春花", "秋月", "山水", "春，花", "秋，月", "山，水", "春花"]
    found = rivals(lines, count=2, seed=3)
    assert found == rivals(lines, count=2, seed=3)
    for line, others in zip(lines, found, strict=True):
        assert len(others) == 2
        assert len({lines[place] for place in others} | {line}) == 3
        assert all(len(lines[place]) == len(line) for place in others)
    assert rivals(lines, count=3) == [[]] * len(lines)

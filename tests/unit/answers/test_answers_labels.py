"""Labels and grades as they stand in files."""

import pytest

from softquery.answers import Match, parse_class, parse_grade


def test_a_label_is_known_by_its_place():
    assert [parse_class(each, ("no", "yes", "是")) for each in ("no", "yes", "是")] == [0, 1, 2]


@pytest.mark.parametrize("text", ["Yes", "yes ", "", "1"])
def test_a_label_is_taken_as_it_is_written(text):
    with pytest.raises(ValueError, match=rf"^label '{text}' is not one of no, yes$"):
        parse_class(text, ("no", "yes"))


def test_long_labels_and_lists_are_shortened():
    with pytest.raises(
        ValueError, match=r"^label 'x{40}' is not one of 0, 1, 2, 3, 4, 5, 6, 7, …$"
    ):
        parse_class("x" * 5000, [str(number) for number in range(50)])


@pytest.mark.parametrize(("text", "share"), [("1", 0), ("5", 1), (" 2 ", 0.25), ("3e0", 0.5)])
def test_a_grade_is_a_share_of_its_scale(text, share):
    assert parse_grade(text, 1, 5) == share


@pytest.mark.parametrize("text", ["0.99", "5.01", "nan", "inf", "-inf", "", "high", "1,5"])
def test_what_is_no_grade(text):
    with pytest.raises(ValueError, match=rf"^grade '{text}' is not a number from 1 to 5$"):
        parse_grade(text, 1, 5)


def test_answers_are_values():
    match = Match("yes", 0.9, {"no": 0.1, "yes": 0.9})
    assert match == Match("yes", 0.9, {"no": 0.1, "yes": 0.9})
    with pytest.raises(AttributeError):
        match.label = "no"

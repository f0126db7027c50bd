"""How probabilities become answers, and which settings of that are refused."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from softquery.answers import Calibration
from softquery.errors import BundleError

ROWS = np.array([[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.25, 0.75], [0.0, 1.0]])


def test_nothing_saved_means_nothing_changed():
    plain = Calibration.from_dict(None)
    assert plain == Calibration() == Calibration.from_dict({})
    assert (plain.temperature, plain.threshold, plain.abstain_below) == (1.0, None, None)
    assert plain.decide(ROWS).tolist() == [0, 0, 1, 1, 1]
    assert plain.is_sure(0.0)
    with pytest.raises(FrozenInstanceError):
        plain.temperature = 2.0


def test_what_else_is_in_the_file_is_left_alone():
    data = {"temperature": 2, "threshold": None, "ece_after": 0.01, "aim": "f1", "f1": 0.8}
    assert Calibration.from_dict(data) == Calibration(temperature=2)


@pytest.mark.parametrize(
    ("threshold", "answers"),
    [
        (0.0, [1, 1, 1, 1, 1]),
        (0.1, [1, 1, 1, 1, 1]),
        (0.3, [0, 1, 1, 1, 1]),
        (0.75, [0, 0, 0, 1, 1]),
        (1.0, [0, 0, 0, 0, 1]),
    ],
)
def test_the_second_label_is_answered_from_the_threshold_on(threshold, answers):
    assert Calibration(threshold=threshold).decide(ROWS).tolist() == answers


def test_a_threshold_says_nothing_about_three_labels():
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    assert Calibration(threshold=0.1).decide(rows).tolist() == [0, 2]


def test_no_rows_get_no_answers():
    for calibration in (Calibration(), Calibration(threshold=0.5)):
        assert calibration.decide(np.empty((0, 2))).tolist() == []


def test_sure_from_the_floor_on():
    calibration = Calibration(abstain_below=0.6)
    assert [calibration.is_sure(each) for each in (0.59, 0.6, 1.0)] == [False, True, True]


@pytest.mark.parametrize(
    "temperature", [0, -1.5, math.nan, math.inf, -math.inf, 1e-320, 10**400, "1.5", None, True, [1]]
)
def test_temperatures_that_no_logit_can_be_divided_by(temperature):
    with pytest.raises(
        BundleError, match=r"^calibration.json: temperature must be a number from 1"
    ):
        Calibration.from_dict({"temperature": temperature})


@pytest.mark.parametrize("name", ["threshold", "abstain_below"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "0.5", True, [0.5], {}])
def test_what_is_no_probability(name, value):
    with pytest.raises(
        BundleError, match=rf"^calibration.json: {name} must be a number from 0 to 1"
    ):
        Calibration.from_dict({name: value})


def test_a_long_fault_is_shown_shortened():
    with pytest.raises(BundleError) as caught:
        Calibration.from_dict({"threshold": "x" * 100_000})
    assert len(str(caught.value)) < 120

"""Models and cases cover each other: a new model, or a new choice in a config, needs a case."""

from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from model_cases import CASES

from registered import registered

MATCHERS = registered("matcher")


def test_every_model_has_cases_and_every_case_a_model():
    assert {case.name for case in CASES} == set(MATCHERS)


def test_cases_have_names_of_their_own():
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("name", MATCHERS)
def test_every_choice_of_a_config_is_tried(name):
    config, _ = MATCHERS[name]
    for setting, kind in get_type_hints(config).items():
        if choices := choices_of(kind):
            default = getattr(config(), setting)
            tried = {case.settings.get(setting, default) for case in CASES if case.name == name}
            assert tried == choices, setting


def choices_of(kind):
    """The values of a `Literal`, and None where it may be left out."""
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    literals = [each for each in get_args(kind) if get_origin(each) is Literal]
    return {*get_args(literals[0]), None} if literals else set()


@pytest.mark.parametrize("name", MATCHERS)
def test_grades_two_classes_and_more_are_tried(name):
    assert {case.output_size for case in CASES if case.name == name} == {1, 2, 3}

import doctest
import importlib

import pytest

MODULES = ("answerers", "dev_answers", "draw_probes", "facts", "runs", "shipment")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0

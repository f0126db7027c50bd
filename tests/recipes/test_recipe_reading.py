"""A reader's settings: what a run says of answers and what a task in Python says of them."""

from dataclasses import replace

import pytest

from softquery.answers import ReadingRules
from softquery.recipes import override, recipe
from softquery.running.read import ReadAdapter
from softquery.tasks import SpanReading

NOTHING = {"train": [], "tune": [], "dev": []}


def settled(run):
    return ReadAdapter().settle(run, NOTHING, (), lambda line: None)


@pytest.mark.parametrize("name", ["reader", "reader-zh", "bert-read"])
def test_a_run_says_how_answers_are_learnt(name):
    run = override(recipe(name), ["reading.consistency=0.5", "reading.max_words=7"])
    found = settled(run)
    assert (found.settings, found.task.consistency) == (run.settings, 0.5)
    assert found.task.rules == replace(recipe(name).settings.rules, max_words=7)
    assert found.task.to_dict() == {"name": "read", **found.task.rules.to_dict()}
    assert settled(found) == found


def test_a_task_that_is_given_stays_as_it_is():
    task = SpanReading(rules=ReadingRules(max_words=7), consistency=0.5)
    found = settled(replace(recipe("reader-zh"), task=task))
    assert found.task == task
    assert (found.settings.rules, found.settings.consistency) == (task.rules, 0.5)

"""A reader's settings: what a run says of answers and what a task in Python says of them."""

from dataclasses import replace

import pytest

from softquery.answers import ReadingRules
from softquery.recipes import override, recipe
from softquery.running.adapter import SourceRows
from softquery.running.read import ReadAdapter
from softquery.tasks import SpanReading

NOTHING = SourceRows(train=[], tune=[], dev=[], fingerprint="", num_shared=0)


def settled(run):
    return ReadAdapter().settle(run, NOTHING, lambda line: None)


@pytest.mark.parametrize("name", ["reader", "reader-zh", "bert-read"])
def test_a_run_says_how_answers_are_learnt(name):
    run = override(recipe(name), ["reading.consistency=0.5", "reading.max_words=7"])
    found = settled(run)
    assert (found.reading, found.task.consistency) == (run.reading, 0.5)
    assert found.task.rules == replace(recipe(name).reading.rules, max_words=7)
    assert found.task.to_dict() == {"name": "read", **found.task.rules.to_dict()}
    assert settled(found) == found


def test_a_task_that_is_given_stays_as_it_is():
    task = SpanReading(rules=ReadingRules(max_words=7), consistency=0.5)
    found = settled(replace(recipe("reader-zh"), task=task))
    assert found.task == task
    assert (found.reading.rules, found.reading.consistency) == (task.rules, 0.5)

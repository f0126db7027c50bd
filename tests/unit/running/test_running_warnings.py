"""What a run warns of, and where it keeps quiet."""

import pytest

from softquery.recipes import override, recipe
from softquery.running.adapter import Answered
from softquery.running.run_warnings import (
    at_chance,
    contradictions,
    flat_loss,
    noisy_tune_set,
    nothing_learnt,
    one_class,
    short_run,
    single_rows,
)


def test_contradictions_are_counted_and_shown_with_their_rows():
    rows = [Answered("a", "1", 2), Answered("b", "1", 3), Answered("a", "0", 7),
            Answered("a", "1", 9)]  # fmt: skip
    assert contradictions(rows, "texts") == (
        "3 texts to train on contradict each other: they are the same one, with other labels "
        "(row 2 1 and row 7 0); correct them, or keep one of each"
    )


def test_of_many_contradictions_the_first_are_shown():
    rows = [Answered(place % 5, str(place // 5), place) for place in range(10)]
    said = contradictions(rows, "texts")
    assert "10 texts to train on contradict each other: they are 5 different ones" in said
    assert said.count(" and row ") == 3
    assert "; …)" in said


def test_tags_are_not_written_out():
    rows = [Answered(("a", "b"), ("O", "O"), 1), Answered(("a", "b"), ("O", "B-X"), 4)]
    assert "(row 1 and row 4)" in contradictions(rows, "sentences")


@pytest.mark.parametrize(
    "rows", [[], [Answered("a", "1", 2), Answered("a", "1", 3), Answered("b", "0", 4)]]
)
def test_repetitions_are_no_contradictions(rows):
    assert contradictions(rows, "texts") is None


def test_labels_with_one_row():
    assert single_rows({"a": 2, "b": 40}, "texts") is None
    assert single_rows({"a": 1, "b": 1, "c": 5}, "texts") == (
        "2 labels have a single row (a, b); add texts for each, or merge them with another label"
    )
    assert "(a, b, c, …)" in single_rows(dict.fromkeys("abcd", 1), "texts")


def test_one_class():
    both = {"a": 3, "b": 4}
    assert one_class(both, both, "texts") is None
    assert one_class(both, {}, "sentences") is None  # no span is held back
    assert one_class({"a": 7}, {"a": 1}, "texts") == (
        "the texts to train on have the label a alone; add texts with others"
    )
    assert "have no label at all" in one_class({}, {}, "sentences")
    assert "held back have the label b alone" in one_class(both, {"b": 1}, "texts")


@pytest.mark.parametrize(("num_rows", "points"), [(1, "50"), (18, "12"), (99, "5")])
def test_few_rows_to_steer_by_are_noisy(num_rows, points):
    assert f"standard error of up to {points} points" in noisy_tune_set(num_rows, "texts")


@pytest.mark.parametrize("num_rows", [100, 5_000])
def test_enough_rows_to_steer_by_are_not(num_rows):
    assert noisy_tune_set(num_rows, "texts") is None


def test_a_run_that_ends_before_its_rate_has_risen():
    forced = override(recipe("esim-search"), ["training.max_epochs=6"])
    said = short_run(forced, 6)
    assert said.startswith("the run has 36 steps, and its learning rate rises for 300 (schedule.")
    assert short_run(forced, 60) is None
    assert short_run(override(forced, ["training.max_steps=10"]), 60) is not None
    assert short_run(recipe("esim"), 1) is None


def log(*losses, epochs=True):
    return [
        {"step": step, "epoch": step - 1 if epochs else 0, "loss": loss}
        for step, loss in enumerate(losses, start=1)
    ]


@pytest.mark.parametrize("rows", [log(0.7, 0.699, 0.6985), log(2.0, 2.5), log(1.0, 1.0)])
def test_a_flat_loss(rows):
    assert flat_loss(rows).startswith("the training loss has hardly moved, from ")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        log(0.7),
        log(0.7, 0.5),
        log(0.7, 0.6, 0.9),
        log(-1.0, -1.5),
        [*log(0.7, 0.6), {"step": 2, "epoch": 1, "tune_loss": 0.7}],
        log(0.7, 0.5, epochs=False),
    ],
    ids=["none", "one", "falls", "fell once", "negative", "with metrics", "within an epoch"],
)
def test_a_loss_that_falls(rows):
    assert flat_loss(rows) is None


@pytest.mark.parametrize(
    ("best", "chance", "warns"),
    [(0.0, 0.0, True), (0.5, 0.5, True), (0.51, 0.5, False), (None, 0.5, False),
     (0.1, None, False), (float("-inf"), 0.0, True)],
)  # fmt: skip
def test_chance(best, chance, warns):
    assert (at_chance("f1", best, chance, "dev") is not None) == warns


def test_the_verdict_names_its_reasons():
    said = nothing_learnt([at_chance("f1", 0.0, 0.0, "dev")])
    assert said.startswith("this run has learnt nothing: f1 on dev is 0.0000; ")

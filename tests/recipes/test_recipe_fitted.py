"""Values that follow from the data: rules that hold from two rows to five million."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.recipes import RECIPES, Run, override, recipe
from softquery.recipes.fitted import (
    FEW_ROWS,
    LARGEST_PART,
    LEAST_BATCH,
    LEAST_DROPOUT,
    LEAST_HELD_BACK,
    LEAST_STEPS,
    MOST_HELD_BACK,
    PATIENT_STEPS,
    STEADY_STEPS,
    Fitted,
    apply,
    fit_held_back,
    fit_rows,
    fit_steps,
)

NAMES = [name for name in RECIPES if isinstance(recipe(name), Run)]
TOKENS_A_ROW = 24
ROWS = st.one_of(st.integers(2, 2_000), st.integers(2, 5_000_000))
RUNS = st.sampled_from(NAMES)


def steps_per_epoch(run: Run, num_rows: int) -> int:
    tokens = getattr(run.settings, "batch_tokens", None)
    size = run.data.batch_size if tokens is None else tokens / TOKENS_A_ROW
    return math.ceil(num_rows / size)


def fit(run: Run, num_rows: int, chosen=()) -> tuple[Run, list[Fitted]]:
    """The whole way, as a run goes it."""
    found = fit_held_back(run, num_rows, chosen)
    run = apply(run, found)
    held = 0 if run.data.tune else max(1, round(run.data.tune_share * num_rows))
    found += (more := fit_rows(run, num_rows - held, chosen))
    run = apply(run, more)
    found += (more := fit_steps(run, steps_per_epoch(run, num_rows - held), chosen))
    return apply(run, more), found


@pytest.mark.parametrize("num_rows", [100_000, 550_000, 5_000_000])
@pytest.mark.parametrize("name", NAMES)
def test_with_much_data_every_recipe_is_as_it_is(name, num_rows):
    run, found = fit(recipe(name), num_rows)
    assert run == recipe(name)
    assert [each for each in found if each.is_changed] == []


@pytest.mark.parametrize(
    ("name", "num_rows"),
    [
        ("tagger", 14_041),
        ("attention-bilstm", 5_452),
        ("relations", 8_000),
        ("hierarchical-attention", 25_000),
        ("esim-graded", 5_749),
        ("reader-zh", 10_142),
        ("translate-multi30k", 29_000),
        ("sentiment-en", 67_349),
    ],
)
def test_the_sets_of_published_figures_leave_their_recipes_alone(name, num_rows):
    assert fit(recipe(name), num_rows)[0] == recipe(name)


@given(RUNS, ROWS)
@settings(max_examples=300, deadline=None)
def test_values_stay_within_their_bounds(name, num_rows):
    own = recipe(name)
    run, _ = fit(own, num_rows)
    assert own.data.tune_share <= run.data.tune_share <= max(own.data.tune_share, 0.5)
    assert min(LEAST_BATCH, own.data.batch_size) <= run.data.batch_size <= own.data.batch_size
    assert run.training.max_epochs >= own.training.max_epochs
    assert run.training.patience >= own.training.patience
    assert 0 <= run.training.average_decay <= own.training.average_decay
    assert (run.training.average_decay > 0) == (own.training.average_decay > 0)
    assert 0 <= run.schedule.warmup_steps <= own.schedule.warmup_steps


@given(RUNS, ROWS)
@settings(max_examples=300, deadline=None)
def test_a_run_has_steps_enough_and_rises_in_time(name, num_rows):
    run, _ = fit(recipe(name), num_rows)
    held = 0 if run.data.tune else max(1, round(run.data.tune_share * num_rows))
    per_epoch = steps_per_epoch(run, num_rows - held)
    total = run.training.max_epochs * per_epoch
    assert total >= LEAST_STEPS
    assert run.schedule.warmup_steps < total
    if total < STEADY_STEPS:
        assert run.schedule.warmup_steps <= total / LARGEST_PART
        memory = 1 / (1 - run.training.average_decay)
        assert memory <= 1.01 * total / LARGEST_PART
    patient = min(run.training.patience, run.training.max_epochs) * per_epoch
    assert patient >= PATIENT_STEPS


@given(RUNS, ROWS, ROWS)
@settings(max_examples=300, deadline=None)
def test_more_rows_never_ask_for_more_care(name, one, other):
    fewer, more = (fit(recipe(name), rows)[0] for rows in sorted((one, other)))
    assert fewer.data.tune_share >= more.data.tune_share
    assert fewer.data.batch_size <= more.data.batch_size
    assert getattr(fewer.model, "dropout", 0) >= getattr(more.model, "dropout", 0)


@given(RUNS, ROWS, ROWS)
@settings(max_examples=300, deadline=None)
def test_more_steps_never_ask_for_more_epochs(name, one, other):
    run = recipe(name)
    fewer, more = (apply(run, fit_steps(run, steps, ())) for steps in sorted((one, other)))
    assert fewer.training.max_epochs >= more.training.max_epochs
    assert fewer.training.patience >= more.training.patience
    assert fewer.schedule.plateau_patience >= more.schedule.plateau_patience


@given(st.integers(2, 3_000))
def test_some_rows_are_held_back_and_most_are_not(num_rows):
    run = apply(recipe("esim"), fit_held_back(recipe("esim"), num_rows, ()))
    held = round(run.data.tune_share * num_rows)
    assert 1 <= held < num_rows
    if num_rows > LEAST_HELD_BACK / MOST_HELD_BACK:
        assert held >= LEAST_HELD_BACK - 1
    elif num_rows > 4:
        assert held == pytest.approx(MOST_HELD_BACK * num_rows, abs=0.51)


def test_one_row_and_a_split_of_its_own_are_left_alone():
    assert apply(recipe("esim"), fit_held_back(recipe("esim"), 1, ())) == recipe("esim")
    assert fit_held_back(recipe("esim-search"), 90, ()) == []
    own = override(recipe("esim"), ["data.tune=tune"])
    assert fit_held_back(own, 90, ()) == []


def test_what_is_chosen_is_never_overridden():
    words = ["data.tune_share=0.03", "data.batch_size=64", "model.dropout=0.1",
             "training.max_epochs=2", "training.patience=1", "training.average_decay=0.9",
             "schedule.warmup_steps=300", "schedule.plateau_patience=0"]  # fmt: skip
    for name in ("esim-snli", "attention-bilstm", "translate", "tagger"):
        chosen = override(recipe(name), words)
        named = {word.partition("=")[0] for word in words}
        run, found = fit(chosen, 90, named)
        assert run == chosen
        assert found == []


def test_what_is_chosen_decides_what_is_not():
    """Two epochs are short, and the warm-up follows; so it does for a limit of steps."""
    for word in ("training.max_epochs=2", "training.max_steps=200"):
        run = override(recipe("esim-snli"), [word])
        chosen = {word.partition("=")[0]}
        found = {each.setting: each for each in fit_steps(run, 100, chosen)}
        assert found["schedule.warmup_steps"].value == 20
        assert found["training.average_decay"].value == 0.95


def test_contrast_and_pretrained_encoders_keep_what_they_need():
    assert fit(recipe("siamese-search"), 90)[0].data.batch_size == 256
    assert fit(recipe("bert-classify"), 90)[0].model == recipe("bert-classify").model
    assert fit(recipe("siamese"), FEW_ROWS - 1)[0].model.dropout == LEAST_DROPOUT


def test_the_cases_that_were_seen():
    """90 texts, and 36 steps under a warm-up of 300."""
    run, found = fit(recipe("attention-bilstm"), 90)
    assert (run.data.tune_share, run.data.batch_size, run.training.max_epochs) == (0.2, 8, 67)
    lines = {each.setting: str(each) for each in found}
    assert lines["training.max_epochs"] == (
        "training.max_epochs 67, not 30: 9 steps per epoch, and 600 steps are the least"
    )
    assert lines["data.batch_size"] == (
        "data.batch_size 8, not 64: 72 rows are then 9 steps per epoch; "
        "16 are aimed at, with at least 8 rows each"
    )
    run, _ = fit(recipe("esim-search"), 700)
    assert run.schedule.warmup_steps == 61
    assert run.training.average_decay == pytest.approx(0.984, abs=1e-3)


def test_a_rule_that_changes_nothing_says_so():
    found = fit(recipe("esim"), 100_000)[1]
    assert str(found[0]) == "data.tune_share 0.05: 5% of 100,000 rows are enough to steer by"
    assert "not" not in "".join(map(str, found[1:3]))

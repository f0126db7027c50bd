"""Ask a run, before it starts and when it has ended, whether it can learn and has learnt."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from softquery.running.adapter import Prepared, TaskAdapter
from softquery.running.run_options import Say
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
from softquery.training import TrainerState


def check_start(
    adapter: TaskAdapter, prepared: Prepared, steps_per_epoch: int, say: Say
) -> list[str]:
    """What stands in the way of learning, said and returned."""
    rows, noun = prepared.rows, adapter.noun
    found = [short_run(prepared.run, steps_per_epoch), noisy_tune_set(len(rows["tune"]), noun)]
    if getattr(prepared.task, "labels", ()):
        answered = [adapter.answered(row) for row in (*rows["train"], *rows["tune"])]
        train, tune = (_counts(adapter, rows[split]) for split in ("train", "tune"))
        found += [
            one_class(train, tune, noun),
            contradictions([each for each in answered if each is not None], noun),
            single_rows(train + tune, noun),
        ]
    warnings = [each for each in found if each is not None]
    for each in warnings:
        say(f"warning: {each}")
    return warnings


def _counts(adapter: TaskAdapter, rows: list[Any]) -> "Counter[str]":
    return Counter(label for row in rows for label in adapter.labels(row))


def check_end(
    adapter: TaskAdapter,
    prepared: Prepared,
    state: TrainerState,
    dev: Mapping[str, Any],
    say: Say,
) -> tuple[list[str], bool]:
    """Signs that nothing was learnt, said and returned, and whether something was.

    Args:
        adapter: Of the task.
        prepared: What was trained.
        state: Where the run ended.
        dev: The metrics on dev.
        say: Receives the warnings, but not the verdict, which is for the end of the command.
    """
    metric = prepared.task.steers_by
    places = {"tune": (state.best, "the tune set"), "dev": (dev.get(metric), "dev")}
    reasons = [
        at_chance(metric, value, adapter.chance(prepared, split), where)
        for split, (value, where) in places.items()
    ]
    failed = [each for each in reasons if each is not None]
    flat = flat_loss(state.rows)
    warnings = [] if flat is None else [flat]
    for each in warnings:
        say(f"warning: {each}")
    return [*warnings, *([nothing_learnt(failed)] if failed else [])], not failed

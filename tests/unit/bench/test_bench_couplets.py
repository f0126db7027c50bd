"""Couplets by several recipes: all learn the same, and are compared seed by seed."""

import argparse
from pathlib import Path

SCRIPT = "generate.couplets"


def asked(**more):
    options = {"data": Path("data"), "seeds": 2, "only": "*", "recipe": "couplet-zh",
               "without_verses": False, **more}  # fmt: skip
    return argparse.Namespace(**options)


def test_recipes_are_compared_on_equal_terms(script):
    runs = script.planned(asked(without_verses=True))
    assert [run.recipe for run in runs] == [*script.ARCHITECTURES] * 2
    assert all(run.name == run.recipe and run.init is None for run in runs)
    assert {run.settings for run in runs} == {script.LEARNT}
    (one, _) = script.planned(asked(without_verses=True, only="*-luong"))
    assert one.recipe == "couplet-luong"


def test_pretraining_is_asked_of_one_recipe(script):
    runs = script.planned(asked(seeds=1))
    assert [run.name for run in runs] == list(script.RUNS)
    assert {run.recipe for run in runs} == {"couplet-zh"}


def test_the_distance_to_the_transformer_is_by_seed(script):
    rows = [{"name": name, "seed": seed, "dev": {"perplexity": perplexity}}
            for name, seed, perplexity in (("couplet-zh", 1, 80.0), ("couplet-zh", 2, 100.0),
                                           ("couplet-luong", 1, 88.0), ("couplet-luong", 2, 90.0),
                                           ("couplet-rnn", 3, 90.0))]  # fmt: skip
    assert list(script.behind(rows)) == ["couplet-luong: perplexity +0.0 % (+10.0 %, -10.0 %)"]

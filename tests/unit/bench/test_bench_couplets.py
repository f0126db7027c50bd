"""Couplets by several recipes: all learn the same, and are compared seed by seed."""

import argparse
import json
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="models are built with torch")

from softquery.recipes import override, recipe
from softquery.runtime.torch_models import build_model

SCRIPT = "generate.couplets"


def asked(**more):
    options = {"data": Path("data"), "seeds": 2, "only": "*", "recipe": "couplet-zh",
               "without_verses": False, "narrow": False, **more}  # fmt: skip
    return argparse.Namespace(**options)


def test_recipes_are_compared_on_equal_terms(script):
    runs = script.planned(asked(without_verses=True))
    assert [run.recipe for run in runs] == [*script.ARCHITECTURES] * 2
    assert all(run.name == run.recipe and run.init is None for run in runs)
    assert {run.settings for run in runs} == {script.LEARNT}
    (one, _) = script.planned(asked(without_verses=True, only="*-luong"))
    assert one.recipe == "couplet-luong"


def test_a_small_comparison_is_on_equal_terms_too(script):
    runs = script.planned(asked(without_verses=True, narrow=True, seeds=1))
    assert [run.recipe for run in runs] == [*script.ARCHITECTURES]
    sizes = []
    for run in runs:
        assert run.settings[: len(script.SHORT)] == script.SHORT
        made = override(recipe(run.recipe), run.settings)
        model = build_model(made.model_name(), asdict(narrowed(made.model)))
        sizes.append(sum(each.numel() for each in model.parameters()))
    assert max(sizes) < 1.05 * min(sizes)


def narrowed(model):
    """With a vocabulary as large as that of a third of the couplets."""
    sizes = [name for name in ("vocab_size", "source_vocab_size", "target_vocab_size")
             if hasattr(model, name)]  # fmt: skip
    return replace(model, **dict.fromkeys(sizes, 3000))


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


def test_the_page_shows_the_small_comparison(script):
    gains = import_module("benchmarks.generate.couplet_gains")
    found = json.loads(gains.RESULTS.read_text("utf-8"))
    rows = gains.read_rows(gains.ROWS)
    page = (script.HERE / "couplets.md").read_text("utf-8")
    lines = [*gains.recipes_table(rows, found), *gains.gains_table(found)]
    assert len(lines) >= len(script.ARCHITECTURES) + len(gains.COMPARED)
    assert [line for line in lines if line not in page.splitlines()] == []
    said = {(row["name"], row["seed"]): row["dev"]["perplexity"] for row in rows}
    for each in found["perplexities"]:  # what the bundles say anew is what their runs said
        assert round(said[each["name"], each["seed"]], 1) == round(each["perplexity"], 1)
    guide = (Path(__file__).resolve().parents[3] / "docs/couplets.md").read_text("utf-8")
    first = {row["over"]: row["ratio"] for row in found["gains"]
             if row["of"] == "couplet-bahdanau" and row["seed"] == 1}  # fmt: skip
    less = [round(100 * (1 - first[name])) for name in ("couplet-rnn", "couplet-rnn-every-step")]
    assert f"{less[0]} % below that of the first state alone and {less[1]} %" in guide


def test_a_ratio_is_of_perplexities(script):
    gains = import_module("benchmarks.generate.couplet_gains")
    counts = np.array([2.0, 3.0, 4.0, 5.0])
    over = -np.log(8.0) * counts
    found = gains.ratio(-np.log(4.0) * counts, over, counts)
    assert found == {"ratio": 0.5, "low": 0.5, "high": 0.5}
    worse = gains.ratio(over, over - np.array([0.0, 1.0, 0.0, 2.0]), counts)
    assert worse["low"] < worse["ratio"] < 1
    assert worse["ratio"] <= worse["high"]

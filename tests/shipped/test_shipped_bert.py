"""`shipped/finish_bert.py`, from a tiny run to a bundle with its card."""

import json

import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")
pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

import finish_bert
from finish_bert import checked_settings, finish, task_figures
from tiny_documents import settings, write_documents

from softquery.bundle import RECORDS, read_bundle
from softquery.errors import BundleError, ConfigError, InputError
from softquery.recipes import override, recipe
from softquery.recipes.kinds import train
from softquery.runtime import load
from softquery.runtime.masked import evaluate_masked


class Silent:
    """Watches a run and says nothing."""

    def begin(self, total_steps, done): ...

    def step(self, done, facts): ...

    def epoch(self, number, facts, improved): ...


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Text, a run of a few steps on it, and results of tasks."""
    folder = tmp_path_factory.mktemp("bert")
    write_documents(folder / "text")
    train(small(), data=folder / "text", output=folder / "trained", observer=Silent(),
          say=lambda line: None)  # fmt: skip
    rows = [
        {"name": f"{start}-{task}", "seed": seed, "dev": {metric: value + seed / 100, "n": 50},
         "tune": {metric: 0.5}}
        for task, metric in (("sst2", "accuracy"), ("conll", "f1"))
        for start, value in (("pretrained", 0.8), ("random", 0.6))
        for seed in (1, 2, 3)
    ]  # fmt: skip
    rows.append({"name": "pretrained-snli", "seed": 1, "dev": {}, "tune": {"accuracy": 0.5}})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "results.jsonl").write_text(text)
    return folder


def small(**changes):
    words = settings(model__num_layers=2, training__max_steps=6, training__max_epochs=6, **changes)
    return override(recipe("bert-mini-en"), words[1::2])


def go(place, output, *, gate=50.0, wanted=None, reached=None):
    finish(read_bundle(place / "trained"), place / "text" / "valid.txt", place / output,
           wanted=wanted or small(), gate=gate, reached=reached or {})  # fmt: skip
    return read_bundle(place / output)


@pytest.fixture(scope="module")
def finished(place):
    return go(place, "out", reached=task_figures(place / "results.jsonl"))


def test_the_recipe_learns_8000_pieces_in_six_passes():
    run = recipe("bert-mini-en")
    assert (run.pieces.size, run.pieces.given, run.training.max_epochs) == (8_000, "", 8)
    assert run.model == recipe("bert-mini").model


def test_int8_is_shipped_with_what_was_measured(place, finished):
    assert finished.metrics["export"]["precision"] == "int8"
    found = evaluate_masked(finished, place / "text" / "valid.txt")
    assert finished.metrics["shipped"] == pytest.approx(found)
    assert load(place / "out").backend.name == "onnx"
    assert load(place / "out").embed(["a man eats"])[0].shape[0] == 3


def test_only_what_is_needed_is_kept(place, finished):
    kept = {path.name for path in (place / "out" / RECORDS).iterdir()}
    assert kept == {"curves.png", "run.json"}
    run = json.loads((place / "out" / RECORDS / "run.json").read_text())
    assert run == json.loads(json.dumps(small().to_dict()))


def test_the_card_tells_figures_with_intervals_and_limits(finished):
    card = finished.card
    assert card.startswith('---\nlicense: "cc-by-sa-4.0"')
    lines = [line for line in card.splitlines() if line.startswith("| ")]
    (told,) = (line for line in lines if "hidden words foretold, int8" in line)
    share = finished.metrics["shipped"]["mlm_accuracy"]
    assert f"| {share:.4f} |" in told
    assert " to " in told
    assert any("next texts told, int8" in line for line in lines)
    assert any("long sequences" in line for line in lines)
    (tuned,) = (line for line in lines if "SST-2" in line and "fine-tuned" in line)
    assert "accuracy, fine-tuned, mean of 3 seeds, standard deviation 0.0100" in tuned
    assert "| 0.8200 |" in tuned
    (fresh,) = (line for line in lines if "CoNLL" in line and "random" in line)
    assert "| 0.6200 |" in fresh
    assert not any("SNLI" in line for line in lines)  # one start alone says nothing
    for word in ("uncased", "no sentence embedder", "Wikipedia of 2015", "before int8"):
        assert word in card
    assert "## Export" in card
    assert "mlm_perplexity" in card


def test_without_tasks_none_are_claimed(place):
    card = go(place, "untried").card
    assert "fine-tuned, " not in card
    assert "before int8" not in card


def test_nothing_is_left_where_int8_costs_too_much_or_is_too_large(place, monkeypatch):
    with pytest.raises(BundleError, match="int8 was refused"):
        go(place, "refused", gate=-90.0)
    monkeypatch.setattr(finish_bert, "LARGEST_MB", 0.01)
    with pytest.raises(BundleError, match="bytes are too many"):
        go(place, "refused")
    assert not (place / "refused").exists()


def test_a_run_with_other_settings_is_refused(place):
    trained = read_bundle(place / "trained")
    with pytest.raises(ConfigError, match="training is not that of the recipe bert-mini-en"):
        checked_settings(trained, small(training__seed=7))
    with pytest.raises(ConfigError, match="has 200 pieces, but the recipe 100"):
        checked_settings(trained, small(pieces__size=100))
    assert checked_settings(trained, small(pieces__size=300))["pieces"]["size"] == 300


def test_results_of_something_else_are_refused(place):
    for name in ("none.jsonl", "text/valid.txt"):
        with pytest.raises(InputError, match="is no result of bert_tasks.py"):
            task_figures(place / name)

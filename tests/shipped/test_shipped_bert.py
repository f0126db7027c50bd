"""`shipped/finish.py bert-mini-en`, from a tiny run to a bundle with its card."""

import json
import shutil

import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")
pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

import pretrained
from facts import FOLDER
from finish import finish, main, options_of
from pretrained import checked_settings, task_figures
from runs import read_runs
from tiny_documents import settings, write_documents

from softquery.bundle import RECORDS, read_bundle
from softquery.errors import ConfigError, InputError
from softquery.recipes import override, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import train
from softquery.runtime import load
from softquery.runtime.embed.evaluate import evaluate_masked


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
    train(small(), RunOptions(data=folder / "text", output=folder / "trained", observer=Silent(),
                       say=lambda line: None))  # fmt: skip
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


def words(place, output, *more, trained="trained", text="text/valid.txt", gate="50"):
    named = {"--data": str(place / text), "--output": str(place / output), "--gate": gate}
    return [
        "bert-mini-en",
        "--runs",
        str(place / trained),
        *(word for pair in named.items() for word in pair),
        *more,
    ]


@pytest.fixture
def run(monkeypatch):
    """The script's exit code, with a recipe of the run's size."""
    monkeypatch.setattr(pretrained, "recipe", lambda name: small())
    return lambda place, output, *more, **named: main(words(place, output, *more, **named))


@pytest.fixture(scope="module")
def finished(place):
    options = options_of(words(place, "out", "--figures", str(place / "results.jsonl")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "recipe", lambda name: small())
        metrics, found = finish(options)
    bundle = read_bundle(place / "out")
    assert bundle.metrics == json.loads(json.dumps(metrics))
    assert [check.passed for check in found] == [True, True]
    return bundle


def test_the_recipe_learns_6000_pieces_in_twelve_passes():
    run = recipe("bert-mini-en")
    assert (run.pieces.size, run.pieces.given, run.training.max_epochs) == (6_000, "", 12)
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
    (told,) = (line for line in lines if "hidden words predicted, int8" in line)
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


def test_without_tasks_none_are_claimed(place, run, capsys):
    assert run(place, "untried", "--json") == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["tasks"] == {}
    card = read_bundle(place / "untried").card
    assert "fine-tuned, " not in card
    assert "before int8" not in card


def test_what_is_not_good_enough_exits_with_1(place, run, capsys):
    assert run(place, "refused", gate="-90") == 1
    assert "not good enough, int8 within -90 of mlm_perplexity" in capsys.readouterr().err
    refused = read_bundle(place / "refused")
    assert refused.metrics["export"]["precision"] == "float32"
    assert "- Weights: float32; mlm_perplexity " in refused.card
    assert "hidden words predicted, int8" not in refused.card
    facts = json.loads((FOLDER / "bert-mini-en.json").read_text(encoding="utf-8"))
    (place / "facts.json").write_text(json.dumps({**facts, "largest_mb": 0.01}))
    assert run(place, "refused", "--replace", "--facts", str(place / "facts.json")) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("finish: not good enough, size under 0.01 MB: ")
    assert read_bundle(place / "refused").metrics["export"]["precision"] == "int8"


@pytest.mark.parametrize(
    ("output", "named", "told"),
    [
        ("out", {}, "exists already; name another --output or say --replace"),
        ("new", {"trained": "nowhere"}, "no such model folder"),
        ("new", {"trained": "out"}, "is int8 already; expected what training wrote"),
        ("new", {"text": "text/none.txt"}, "none.txt"),
        ("new", {"gate": "nan"}, "the gate must be a finite number"),
        ("new", {"trained": "unknown"}, "has no training/run.json to compare with the recipe"),
    ],
)
def test_what_cannot_be_used_exits_with_2(place, finished, run, capsys, output, named, told):
    if not (place / "unknown").exists():
        shutil.copytree(place / "trained", place / "unknown")
        (place / "unknown" / RECORDS / "run.json").unlink()
    assert run(place, output, **named) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("finish: ")
    assert told in line
    assert not (place / "new").exists()


def test_the_script_compares_with_its_own_recipe(place, capsys):
    assert main(words(place, "new")) == 2
    assert "is not that of the recipe bert-mini-en" in capsys.readouterr().err
    assert not (place / "new").exists()


def test_a_run_with_other_settings_is_refused(place):
    (trained,) = read_runs([place / "trained"], kind="encoder")
    with pytest.raises(ConfigError, match="training.seed is not that of the recipe bert-mini-en"):
        checked_settings(trained, small(training__seed=7))
    with pytest.raises(ConfigError, match="has 200 pieces, but the recipe 100"):
        checked_settings(trained, small(pieces__size=100))
    assert checked_settings(trained, small(pieces__size=300))["pieces"]["size"] == 300


def test_results_of_something_else_are_refused(place):
    for name in ("none.jsonl", "text/valid.txt"):
        with pytest.raises(InputError, match="is no result of bert/tasks.py"):
            task_figures(place / name)

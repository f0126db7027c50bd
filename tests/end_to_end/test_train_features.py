"""What a run leaves behind, and what its settings do to it."""

import json
import re

import numpy as np
import pytest
import torch
from reading import assert_equal, config, log, metrics, weights
from running import settings, softquery, train
from tiny_pairs import chinese, graded, write_folder

import softquery as sq
from softquery.data import first_sentence, split_rows
from softquery.files import read_rows

STILL = {"lr": 1e-20}
"""A learning rate that leaves every weight where it starts."""
ONE_STEP = {"max_steps": 1}
PNG = b"\x89PNG\r\n\x1a\n"


# What a run leaves behind


def test_the_answer_for_machines(english_run):
    folder, answer = english_run
    found = json.loads(answer.out)
    assert found["bundle"] == str(folder)
    assert found["dev"]["accuracy"] >= 0.9
    assert found["dev"]["n"] == 60
    low, high = found["dev"]["accuracy_interval"]
    assert low <= found["dev"]["accuracy"] <= high
    assert found["training"]["dev_rows_in_train"] == 0
    assert found == {"bundle": str(folder), **metrics(folder)}


def test_the_lines_for_people(english_run, english_data):
    _, answer = english_run
    lines = answer.err.splitlines()
    assert lines[:2] == [f"reading {english_data / name}.tsv" for name in ("train", "dev")]
    assert re.fullmatch(r"vocabulary: \d+ entries \(words\)", lines[2])
    assert lines[3] == "272 pairs to train on, 68 held back to tune by"
    assert lines[4].startswith("warning: 68 pairs are held back to steer by: ")
    number = r"\d+\.\d{4}"
    assert re.fullmatch(
        rf"epoch 1: loss {number}  tune accuracy {number}  tune loss {number}  [\d,]+ examples/s"
        r"  \(best so far\)",
        lines[5],
    )
    assert lines[-1].startswith("bundle written: ")


def test_the_table_for_people(english_data, tmp_path):
    answer = train("esim", english_data, tmp_path / "model", *settings(training=ONE_STEP))
    assert re.search(r"accuracy\D+0\.\d{4}", answer.out)
    assert re.search(r"\bn\b\D+60\b", answer.out)


def test_the_settled_settings_are_kept(english_run):
    folder, _ = english_run
    run = json.loads((folder / "training" / "run.json").read_text(encoding="utf-8"))
    assert (run["name"], run["model_name"]) == ("esim", "esim")
    assert run["optim"]["lr"] == 0.01
    assert run["training"]["patience"] == 3
    assert run["task"]["labels"] == ["different", "same"]
    assert run["model"]["vocab_size"] == len(weights(folder)["embedder.table.weight"])
    assert run["model"]["output_size"] == 2
    assert run["schedule"]["warmup_steps"] == 4
    assert re.fullmatch(r"[0-9a-f]{16}", run["data_fingerprint"])


def test_curves_and_tensorboard(english_run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, _ = english_run
    picture = (folder / "training" / "curves.png").read_bytes()
    assert picture.startswith(PNG)
    assert picture.rstrip(b"\0").endswith(b"IEND\xaeB`\x82")
    events = EventAccumulator(str(folder / "training" / "tensorboard")).Reload()
    assert set(events.Tags()["scalars"]) >= {"loss", "lr", "tune_accuracy", "tune_loss"}
    rows = [row for row in log(folder) if row["loss"]]
    assert [event.step for event in events.Scalars("loss")] == [int(row["step"]) for row in rows]


def test_the_card_says_what_was_done(english_run):
    folder, _ = english_run
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith('---\nlicense: "other"\nlicense_name: "unstated"\n')
    assert "| train | 272 | unstated |" in card
    assert "| recipe | esim |" in card
    assert re.search(r"\| accuracy \| [01]\.\d{4} \| .* to .* \| 60 \| dev \|", card)


def test_the_best_weights_are_those_of_the_bundle(english_run, english_data):
    """The held-back loss differs from epoch to epoch: it tells which weights were kept."""
    folder, answer = english_run
    epochs = [row for row in log(folder) if row["tune_accuracy"]]
    scores = [float(row["tune_accuracy"]) for row in epochs]
    training = json.loads(answer.out)["training"]
    losses = [float(row["tune_loss"]) for row in epochs]
    best = min(range(len(epochs)), key=lambda place: (-scores[place], losses[place]))
    assert training["best_epoch"] == best + 1
    assert training["best_epoch"] < training["epochs"] == len(epochs)

    rows = list(read_rows(english_data / "train.tsv", columns=("sentence1", "sentence2", "label")))
    _, held_back = split_rows(rows, key=first_sentence, share=0.2, seed=1)
    evaluation = sq.evaluate(sq.load(folder), held_back)
    assert evaluation.report()["accuracy"] == pytest.approx(scores[best], abs=1e-6)
    chosen = evaluation.probabilities[np.arange(len(held_back)), evaluation.gold]
    assert -np.log(chosen).mean() == pytest.approx(losses[best], rel=1e-4)
    assert losses[best] != pytest.approx(losses[-1], rel=1e-2)


# How a run is steered


def test_patience_ends_it(english_run):
    folder, answer = english_run
    training = json.loads(answer.out)["training"]
    assert training["epochs"] == training["best_epoch"] + 3 < 20
    assert training["steps"] == 17 * training["epochs"]
    assert len(log(folder)) == training["steps"] + training["epochs"]


def rates(folder, scale):
    return [float(row["lr"]) / scale for row in log(folder) if row["lr"]]


def test_the_rate_warms_up(english_run):
    assert rates(english_run[0], 0.01)[:6] == pytest.approx([0.25, 0.5, 0.75, 1, 1, 1])


def test_the_rate_is_halved_on_a_plateau(english_run):
    folder, answer = english_run
    best = json.loads(answer.out)["training"]["best_epoch"]
    after = rates(folder, 0.01)[17 * best :: 17]
    assert after == pytest.approx([1, 0.5, 0.25])


def test_accumulation_changes_nothing(english_data, tmp_path):
    still = {"model": {"dropout": 0}, "optim": {"lr": 0.001}}
    for parts in (1, 4):
        words = settings(**still, training={"max_steps": 10, "accumulate": parts})
        train("esim", english_data, tmp_path / str(parts), *words)
    assert_equal(weights(tmp_path / "1"), weights(tmp_path / "4"), atol=1e-6)


def test_clipping_holds_the_step_back(english_data, tmp_path):
    """Adam divides by the gradient's size; far below `eps` that no longer makes up for a cut."""
    runs = {
        "start": STILL,
        "free": {"lr": 0.01, "clip_norm": 0},
        "cut": {"lr": 0.01, "clip_norm": 1e-9},
    }
    for name, optim in runs.items():
        words = settings(model={"dropout": 0}, optim=optim, training=ONE_STEP)
        train("esim", english_data, tmp_path / name, *words)
    start, free, cut = (weights(tmp_path / name) for name in runs)
    moved = max(np.abs(free[name] - start[name]).max() for name in start)
    held = max(np.abs(cut[name] - start[name]).max() for name in start)
    assert moved == pytest.approx(0.01, rel=0.01)
    assert 0 < held < 0.002


def test_bfloat16_trains_to_finite_float32_weights(english_data, tmp_path):
    words = settings(
        data={"tune_share": 0.05},
        training={"max_epochs": 1, "log_every": 1, "precision": "bf16-mixed"},
    )
    train("esim", english_data, tmp_path / "model", *words)
    losses = [float(row["loss"]) for row in log(tmp_path / "model") if row["loss"]]
    assert len(losses) == 21
    assert np.isfinite(losses).all()
    for name, value in weights(tmp_path / "model").items():
        assert value.dtype == np.float32, name
        assert np.isfinite(value).all(), name


def test_seeds_differ_and_equal_seeds_do_not(english_data, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train("esim", english_data, tmp_path / name, *settings(training=ONE_STEP), "--seed", seed)
    first, again, other = (weights(tmp_path / name) for name in "abc")
    assert_equal(first, again)
    assert not np.array_equal(first["project.0.weight"], other["project.0.weight"])


# Recipes from end to end


TRADITIONAL = str.maketrans("医师农饭觉读书车园里桥楼", "醫師農飯覺讀書車園裡橋樓")


def test_chinese_and_traditional_writing_is_the_same(tmp_path):
    rows = [
        (one.translate(TRADITIONAL), two, label) if place % 3 else (one, two, label)
        for place, (one, two, label) in enumerate(chinese(300))
    ]
    data = write_folder(tmp_path / "data", rows)
    words = settings(optim={"lr": 0.01}, training={"max_epochs": 4})
    answer = train("esim-zh", data, tmp_path / "model", *words, "--json")
    assert json.loads(answer.out)["dev"]["accuracy"] > 0.8
    matcher = sq.load(tmp_path / "model")
    assert matcher.pipeline.token_id("讀") is None
    simplified = [
        ("老师在公园里读书。", "有个老师在公园里读书"),
        ("医生在桥上吃饭。", "没有医生在桥上吃饭"),
    ]
    traditional = [tuple(text.translate(TRADITIONAL) for text in pair) for pair in simplified]
    assert traditional[0][0] == "老師在公園裡讀書。"
    assert matcher.predict(traditional) == matcher.predict(simplified)
    assert [match.label for match in matcher.predict(traditional)] == ["1", "0"]
    assert 'language:\n- "zh"' in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_grades(graded_run):
    folder, _, answer = graded_run
    found = json.loads(answer.out)
    assert found["dev"]["spearman"] > 0.5
    assert set(found["dev"]) >= {"pearson", "mse", "n", "spearman_interval"}
    assert found["tune"]["spearman"] > 0
    matches = sq.load(folder).predict([pair[:2] for pair in graded(10)])
    assert all(match.label is None and 0 <= match.score <= 5 for match in matches)


def test_grades_that_are_all_alike_have_no_correlation(tmp_path):
    rows = graded(80)
    rows[-20:] = [(one, two, "2.5") for one, two, _ in rows[-20:]]
    data = write_folder(tmp_path / "data", rows, num_dev=20)
    words = settings(training=ONE_STEP)
    answer = train("siamese-graded", data, tmp_path / "model", *words, "--json")
    assert json.loads(answer.out)["dev"]["spearman"] is None
    assert "Nothing was measured." in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_siamese_classes(inference_run):
    folder, _ = inference_run
    found = metrics(folder)
    assert found["dev"]["accuracy"] > 0.5
    assert set(found["dev"]["confusion"]) == {"entailment", "neutral", "contradiction"}
    assert config(folder)["model"]["name"] == "siamese"


# The list of recipes


def test_recipes_are_listed_with_their_settings():
    listed = json.loads(softquery("recipes", "--json").out)
    assert "esim-zh" in [entry["name"] for entry in listed]
    shown = json.loads(softquery("recipes", "esim-snli", "--json").out)
    assert shown["task"]["labels"] == ["entailment", "neutral", "contradiction"]
    assert "optim.lr" in softquery("recipes", "esim").out


def test_the_random_state_of_the_caller_is_not_what_decides(english_data, tmp_path):
    for name in ("one", "two"):
        torch.manual_seed(len(name) + ord(name[0]))
        train("esim", english_data, tmp_path / name, *settings(training=ONE_STEP))
    assert_equal(weights(tmp_path / "one"), weights(tmp_path / "two"))

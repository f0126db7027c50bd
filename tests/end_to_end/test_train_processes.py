"""Two processes through torchrun learn what one learns, and speak with one voice."""

import csv
import json
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import Answer, finish, settings, softquery, start_ranks, start_warm, train
from safetensors.numpy import load_file
from tiny_pairs import english, write_folder

NUM_STEPS = 20
ONE_EPOCH = {"max_steps": NUM_STEPS, "max_epochs": 1, "log_every": 5}
CASES = {
    "an odd last batch": (
        "torchrun",
        317,
        settings(
            model={"dropout": 0},
            data={"tune_share": 0.05},
            training=ONE_EPOCH,
            optim={"lr": 0.01, "clip_norm": 0.5},
        ),
    ),
    "batches of three": (
        "by hand",
        58,
        settings(
            model={"dropout": 0},
            data={"batch_size": 3, "tune_share": 0.05},
            training={**ONE_EPOCH, "accumulate": 2, "average_decay": 0.9},
            optim={"lr": 0.01},
        ),
    ),
}
"""Who starts the two; rows to train on, which make twenty batches; settings.

The last batch of three is one row.
"""


@pytest.fixture(scope="module", params=CASES)
def runs(request, tmp_path_factory):
    """The same run in one process and in two: folders of the bundles, and what the two printed."""
    starter, rows, words = CASES[request.param]
    folder = tmp_path_factory.mktemp("processes")
    held_back = round(rows / 0.95) - rows
    data = write_folder(folder / "data", english(rows + held_back + 40))
    train("esim", data, folder / "one", *words)
    words = ["train", "esim", "--data", data, "--output", folder / "two", *words, "--json"]
    started = [start_warm(*words, "--devices", 2)] if starter == "torchrun" else start_ranks(*words)
    answers = [finish(process) for process in started]
    assert [answer.code for answer in answers] == [0] * len(answers), answers
    return folder, answers


def log(bundle: Path) -> list[dict[str, str]]:
    with open(bundle / "training" / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def metrics(bundle: Path) -> dict:
    found = json.loads((bundle / "metrics.json").read_text(encoding="utf-8"))
    del found["training"]["seconds"]
    return found


def test_the_weights_agree_after_twenty_steps(runs):
    folder, _ = runs
    one, two = (load_file(folder / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_allclose(two[name], value, rtol=0, atol=1e-5, err_msg=name)


def test_the_figures_agree(runs):
    folder, _ = runs
    one, two = metrics(folder / "one"), metrics(folder / "two")
    assert one["training"]["steps"] == NUM_STEPS
    assert one["training"] == two["training"]
    assert one["dev"]["confusion"] == two["dev"]["confusion"]
    assert one["tune"] == pytest.approx(two["tune"])


def test_the_log_shows_the_loss_of_the_whole_batch(runs):
    folder, _ = runs
    one, two = (log(folder / name) for name in ("one", "two"))
    losses = [[float(row["loss"]) for row in rows if row["loss"]] for rows in (one, two)]
    assert len(losses[0]) == 4
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_one_bundle_one_log_and_nothing_else(runs):
    folder, _ = runs
    assert sorted(path.name for path in folder.iterdir()) == ["data", "one", "two"]
    assert len(list((folder / "two" / "training" / "tensorboard").iterdir())) == 1


def test_only_the_first_process_speaks(runs):
    folder, (answer, *others) = runs
    assert json.loads(answer.out)["bundle"] == str(folder / "two")
    lines = answer.err.splitlines()
    if not others:
        assert lines[0] == "starting 2 processes through torchrun"
    assert [(other.out, other.err) for other in others] == [("", "")] * len(others)
    assert sum(line.startswith("epoch 1: loss") for line in lines) == 1
    assert len(lines) == len(set(lines)), answer.err


def test_a_mistake_is_told_once(tmp_path):
    command = ["train", "esim", "--data", tmp_path / "nowhere", "--output", tmp_path / "model"]
    answer = finish(start_warm(*command, "--devices", 2))
    started, told = answer.err.splitlines()
    assert started == "starting 2 processes through torchrun"
    assert told.startswith(f"softquery: {tmp_path / 'nowhere'}: no such folder")
    assert answer.code == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_the_settings_is_told_before_processes_start(tmp_path):
    command = ["train", "esim", "--data", tmp_path, "--output", tmp_path / "model"]
    answer = softquery(*command, "--devices", 2, "--set", "optim.lrr=1")
    assert answer.code == 2
    assert answer.err.startswith("softquery: unknown setting 'optim.lrr'")


def test_ctrl_c_reaches_them_all_and_one_process_can_go_on(tmp_path):
    data = write_folder(tmp_path / "data", english(200))
    command = ["train", "esim", "--data", data, "--output", tmp_path / "model"]
    command += settings(training={"max_epochs": 5000, "patience": 5000})
    process = start_warm(*command, "--devices", 2)
    heard = next(line for line in process.stderr if line.startswith("epoch 1: "))
    process.send_signal(signal.SIGINT)
    answer = finish(process)
    assert answer == Answer(130, "", answer.err)
    assert "Traceback" not in answer.err, heard + answer.err
    assert answer.err.splitlines()[-1] == "softquery: interrupted; go on with --resume"
    assert not (tmp_path / "model").exists()

    resumed = softquery(*command, "--resume", "--set", "training.max_steps=1", "--json")
    assert resumed.code == 0, resumed.err
    assert json.loads(resumed.out)["training"]["steps"] > 1
    assert not (tmp_path / "model.partial").exists()

"""Processes that divide a model's weights learn what those learn that each hold all of them."""

import json
import signal
import time

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import finish, start_ranks, start_warm
from safetensors.numpy import load_file
from tiny_bert import settings, write_base
from tiny_pairs import english, write_folder

SHARDED = ("--set", "training.sharding=full")
RUN = {
    "training__max_epochs": 3,
    "training__patience": 3,
    "training__log_every": 1,
    "training__accumulate": 2,
    "training__precision": "32-true",
    "data__tune_share": 0.1,
    "optim__clip_norm": 0.5,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pairs, and a small BERT as if it were pretrained."""
    place = tmp_path_factory.mktemp("sharded")
    pairs = english(150)
    write_folder(place / "data", pairs)
    write_base(place / "base", [f"{one} {other}" for one, other, _ in pairs])
    return place


def command(folder, name, *words, **changes):
    given = settings(**{**RUN, **changes})
    data = ("--data", folder / "data", "--init", folder / "base")
    return ["train", "bert-match", *data, "--output", folder / name, *given, *words, "--json"]


def go(folder, name, *words, devices=2, **changes):
    """Train in so many processes; the weights and the metrics."""
    answer = finish(start_warm(*command(folder, name, *words, **changes), "--devices", devices))
    assert answer.code == 0, answer.err
    return load_file(folder / name / "model.safetensors"), json.loads(answer.out)


@pytest.fixture(scope="module")
def whole(folder):
    """What processes learn that each hold all weights (DDP)."""
    return go(folder, "whole")


def assert_alike(found, wanted, *, atol=1e-4):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=atol, err_msg=name)


@pytest.fixture(scope="module")
def divided(folder):
    return go(folder, "divided", *SHARDED)


def test_shares_learn_what_whole_weights_learn(whole, divided):
    found, metrics = divided
    assert_alike(found, whole[0])
    assert metrics["dev"]["confusion"] == whole[1]["dev"]["confusion"]
    assert metrics["tune"] == pytest.approx(whole[1]["tune"], abs=1e-3)


@pytest.mark.parametrize("devices", [2, 1])
def test_a_killed_run_goes_on_also_with_whole_weights(folder, divided, devices):
    name = f"killed-{devices}"
    words = command(folder, name, *SHARDED, training__checkpoint_seconds=0)
    processes = start_ranks(*words)
    checkpoint = folder / f"{name}.partial" / "checkpoint.safetensors"
    end = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < end:
        time.sleep(0.01)
    for process in processes:
        process.send_signal(signal.SIGKILL)
    assert [finish(process).code for process in processes] == [-signal.SIGKILL] * 2
    assert checkpoint.exists()
    found, metrics = go(folder, name, *SHARDED, "--resume", devices=devices)
    assert metrics["training"]["steps"] == divided[1]["training"]["steps"]
    same = all((found[key] == value).all() for key, value in divided[0].items())
    assert same == (devices == 2)  # one process draws other dropout than two


@pytest.mark.parametrize(
    ("recipe", "change", "said"),
    [
        ("esim", "training.average_decay=0", "divides blocks of attention, which Esim lacks"),
        ("bert-match", "training.average_decay=0.9", "averages whole weights"),
    ],
)
def test_what_cannot_be_divided_is_refused(folder, recipe, change, said):
    output = folder / f"refused-{recipe}"
    words = ["train", recipe, "--data", folder / "data", "--output", output, "--set", change]
    if recipe == "bert-match":
        words += ["--init", folder / "base", *settings()]
    first, second = (finish(process) for process in start_ranks(*words, *SHARDED))
    assert first.code == 2, first.err
    assert said in first.err.splitlines()[-1]
    assert not output.exists()
    assert second.code == 2

"""Killed at any moment, a run goes on to bitwise the same bundle."""

import csv
import json
import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import Answer, finish, settings, start, start_warm
from tiny_pairs import english, write_folder

from softquery.training.run_records import NAME

SETTINGS = settings(
    training={"max_epochs": 4, "log_every": 7, "average_decay": 0.9, "patience": 4},
    data={"tune_share": 0.05},
    optim={"lr": 0.01},
    schedule={"warmup_steps": 10, "decay": "cosine"},
)
OFTEN = ("--set", "training.checkpoint_seconds=0")
SELDOM = ("--set", "training.checkpoint_seconds=1000")
STEPS_PER_EPOCH = 15
KILLED = -signal.SIGKILL
INTERRUPTED = 130

DIE = "import os, shutil, signal; from softquery.cli import main"
DIE_WHILE_WRITING = f"{DIE}\nshutil.copytree = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)"
DIE_WHILE_CLEARING = f"{DIE}\nshutil.rmtree = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)"


@dataclass
class Interrupted:
    """What was seen of a run that was stopped again and again."""

    bundle: Path
    partial: Path
    steps: list[int] = field(default_factory=list)
    """Where each checkpoint stood when its process ended."""
    answers: dict[str, Answer] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    """Names beside the bundle after each process."""

    def note(self, name: str, answer: Answer) -> None:
        self.answers[name] = answer
        self.left[name] = sorted(path.name for path in self.bundle.parent.iterdir())
        self.steps.append(self.step())

    def step(self) -> int:
        """Of the checkpoint; read in one go, because its writer may be replacing it."""
        try:
            content = (self.partial / NAME).read_bytes()
        except FileNotFoundError:
            return 0
        size = int.from_bytes(content[:8], "little")
        return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["state"])["step"]


def wait_until(condition, process):
    """Poll often; the process must still be running when the condition comes true."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


def kill(process) -> Answer:
    process.kill()
    return finish(process)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("data"), english(280))


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory):
    """A run that nothing disturbs, and beside it one that everything does."""
    folder, draw = tmp_path_factory.mktemp("runs"), random.Random(7)
    command = ["train", "esim", "--data", data, *SETTINGS]
    whole = start_warm(*command, *SELDOM, "--output", folder / "whole" / "model", "--json")

    bundle = folder / "broken" / "model"
    bundle.parent.mkdir()
    broken = Interrupted(bundle, bundle.with_name("model.partial"))
    command += ["--output", bundle]

    process = start_warm(*command, *SELDOM)
    wait_until((broken.partial / "training" / "run.json").exists, process)
    broken.note("before the first checkpoint", kill(process))

    for number in range(2):
        process, aim = start_warm(*command, *OFTEN, "--resume"), broken.step() + draw.randint(3, 14)
        wait_until(lambda aim=aim: broken.step() >= aim, process)
        time.sleep(draw.uniform(0, 0.02))
        broken.note(f"at a random moment {number}", kill(process))

    process = start_warm(*command, *SELDOM, "--resume")
    heard = "".join(iter_until(process.stderr, "epoch "))
    process.send_signal(signal.SIGINT)
    answer = finish(process)
    broken.note("by Ctrl-C", Answer(answer.code, answer.out, heard + answer.err))

    for name, code in (("writing", DIE_WHILE_WRITING), ("clearing", DIE_WHILE_CLEARING)):
        broken.note(f"while {name}", finish(start_warm(*command, *SELDOM, "--resume", code=code)))
    # A fresh interpreter: what is gone on with depends on no order of hashes.
    broken.note("never", finish(start(*command, *SELDOM, "--resume", "--json")))
    return finish(whole), folder / "whole" / "model", broken


def iter_until(stream, words):
    for line in stream:
        yield line
        if words in line:
            return


def test_each_process_ended_as_it_was_made_to(runs):
    whole, _, broken = runs
    assert whole.code == 0, whole.err
    assert {name: answer.code for name, answer in broken.answers.items()} == {
        "before the first checkpoint": KILLED,
        "at a random moment 0": KILLED,
        "at a random moment 1": KILLED,
        "by Ctrl-C": INTERRUPTED,
        "while writing": KILLED,
        "while clearing": KILLED,
        "never": 0,
    }, broken.answers


def test_the_weights_are_bitwise_the_same(runs):
    _, whole, broken = runs
    wanted = (whole / "model.safetensors").read_bytes()
    assert (broken.bundle / "model.safetensors").read_bytes() == wanted


def test_every_other_file_of_the_bundle_is_the_same(runs):
    _, whole, broken = runs
    for name in ("config.json", "tokenizer.json"):
        assert (broken.bundle / name).read_bytes() == (whole / name).read_bytes()
    names = [sorted(os.listdir(folder / "training")) for folder in (whole, broken.bundle)]
    assert names[0] == names[1] == ["curves.png", "log.csv", "run.json", "tensorboard"]


def test_the_metrics_are_the_same_but_for_the_time(runs):
    whole, folder, broken = runs
    metrics = [json.loads((path / "metrics.json").read_text()) for path in (folder, broken.bundle)]
    assert json.loads(whole.out) == {"bundle": str(folder), **metrics[0]}
    assert json.loads(broken.answers["never"].out) == {"bundle": str(broken.bundle), **metrics[1]}
    for each in metrics:
        assert each["training"].pop("seconds") > 0
    assert metrics[0] == metrics[1]


def test_the_log_has_neither_gap_nor_doubling(runs):
    _, whole, broken = runs
    logs = []
    for folder in (whole, broken.bundle):
        with open(folder / "training" / "log.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        logs.append([{**row, "examples_per_second": ""} for row in rows])
    assert logs[0] == logs[1]
    steps = [int(row["step"]) for row in logs[0] if row["loss"]]
    assert steps == sorted(set(steps))
    measured = [int(row["step"]) for row in logs[0] if row["tune_accuracy"]]
    assert measured == [STEPS_PER_EPOCH * epoch for epoch in (1, 2, 3, 4)]


def test_killed_before_the_first_checkpoint_it_starts_anew(runs):
    _, _, broken = runs
    assert broken.steps[0] == 0
    assert "resumed" not in broken.answers["at a random moment 0"].err
    assert f"resumed at step {broken.steps[1]:,}" in broken.answers["at a random moment 1"].err


def test_the_processes_shared_the_work(runs):
    """Had one of them done it all, nothing would have been tested."""
    _, _, broken = runs
    assert broken.steps[:4] == sorted(set(broken.steps[:4]))
    assert broken.steps[4] > broken.steps[3]


def test_ctrl_c_keeps_the_last_step_and_says_how_to_go_on(runs):
    _, _, broken = runs
    lines = broken.answers["by Ctrl-C"].err.splitlines()
    assert lines[-1] == "softquery: interrupted; go on with --resume"
    done = next(int(line[6]) for line in lines if line.startswith("epoch "))
    # Ends of epochs are kept anyway; what came after this one only the signal can have kept.
    assert broken.steps[3] > done * STEPS_PER_EPOCH


def test_until_it_is_complete_the_bundle_is_not_there(runs):
    _, _, broken = runs
    for name in ("at a random moment 1", "by Ctrl-C", "while writing"):
        assert "model" not in broken.left[name]
        assert "model.partial" in broken.left[name]
    assert any(name.startswith(".model.") for name in broken.left["while writing"])
    assert broken.left["while clearing"][-2:] == ["model", "model.partial"]


def test_in_the_end_only_the_bundle_is_left(runs):
    _, whole, broken = runs
    assert broken.left["never"] == ["model"]
    assert os.listdir(whole.parent) == ["model"]

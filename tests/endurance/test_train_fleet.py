"""Four processes learn what one learns; two that are killed go on to the same bytes."""

import json
import os
import random
import signal
import statistics
import time
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

import numpy as np
from running import finish, settings, start_warm, train
from safetensors.numpy import load_file
from tiny_pairs import english, write_folder

SEEDS = (1, 2, 3)
LEARNING = {
    "model": {"dropout": 0.2},
    "data": {"batch_size": 32, "tune_share": 0.1},
    "optim": {"lr": 0.01},
}


def words(**training):
    return settings(**LEARNING, training=training)


def last_loss(bundle):
    """The mean loss of the last tenth of a run's steps."""
    rows = (bundle / "training" / "log.csv").read_text(encoding="utf-8").splitlines()
    losses = [float(row.split(",")[2]) for row in rows[1:] if row.split(",")[2]]
    return statistics.mean(losses[-len(losses) // 10 :])


def mistaken(rows, share, *, seed=1):
    """The same rows, a share of them with the other label, so that no loss goes to zero."""
    other = {"same": "different", "different": "same"}
    draw = random.Random(seed)
    return [
        (first, second, other[label] if draw.random() < share else label)
        for first, second, label in rows
    ]


def test_four_processes_learn_what_one_learns(tmp_path):
    data = write_folder(tmp_path / "data", mistaken(english(1100), 0.2))
    losses = {1: [], 4: []}
    for seed in SEEDS:
        given = words(max_steps=200, max_epochs=50, patience=50, log_every=5, seed=seed)
        given += settings(optim={"lr": 0.002})
        train("esim", data, tmp_path / f"one-{seed}", *given)
        several = ["train", "esim", "--data", data, "--output", tmp_path / f"four-{seed}", *given]
        assert finish(start_warm(*several, "--devices", 4)).code == 0
        losses[1].append(last_loss(tmp_path / f"one-{seed}"))
        losses[4].append(last_loss(tmp_path / f"four-{seed}"))
    print(losses)
    spread = max(statistics.stdev(each) for each in losses.values())
    assert abs(statistics.mean(losses[1]) - statistics.mean(losses[4])) < 3 * spread
    assert 0.1 < statistics.mean(losses[4]) < 0.68  # learnt, and still noticeably wrong


@pytest.mark.parametrize("victim", [0, 1])
def test_killed_processes_are_started_anew_and_end_with_the_same_bytes(tmp_path, victim):
    data = write_folder(tmp_path / "data", english(400))
    given = words(max_epochs=30, patience=30, log_every=5, checkpoint_seconds=0.5)
    command = ["train", "esim", "--data", data, *given, "--devices", 2]
    assert finish(start_warm(*command, "--output", tmp_path / "whole")).code == 0
    broken = start_warm(*command, "--output", tmp_path / "broken", "--restarts", 2)
    killed = set()
    for _ in range(2):
        worker = wait_for_worker(broken, victim, tmp_path / "broken.partial", killed)
        os.kill(worker, signal.SIGKILL)
        killed.add(worker)
    answer = finish(broken)
    assert answer.code == 0, answer.err
    weights = [tmp_path / name / "model.safetensors" for name in ("whole", "broken")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_the_number_of_processes_may_change_and_no_row_is_lost_or_doubled(tmp_path):
    """Four processes are killed, then two; the last one ends where one alone would have."""
    data = write_folder(tmp_path / "data", mistaken(english(400), 0.2))
    given = words(max_epochs=12, patience=30, log_every=5, checkpoint_seconds=0.2)
    given += settings(model={"dropout": 0})
    train("esim", data, tmp_path / "alone", *given)
    command = ["train", "esim", "--data", data, *given, "--output", tmp_path / "changing"]
    for devices, resume in ((4, []), (2, ["--resume"])):
        process = start_warm(*command, "--devices", devices, *resume)
        os.kill(wait_for_worker(process, 1, tmp_path / "changing.partial", set()), signal.SIGKILL)
        answer = finish(process)
        assert answer.code == 1
        assert "a process was killed (signal 9); go on with --resume" in answer.err
    answer = finish(start_warm(*command, "--resume"))
    assert answer.code == 0, answer.err
    assert "resumed at step" in answer.err
    alone, changing = (
        load_file(tmp_path / name / "model.safetensors") for name in ("alone", "changing")
    )
    for name, value in alone.items():
        np.testing.assert_allclose(changing[name], value, rtol=0, atol=1e-4, err_msg=name)


def wait_for_worker(process, rank, folder, before):
    """The process of a rank, once it has gone on from a checkpoint for a moment."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        found = [each for each in workers(rank, folder) if each not in before]
        checkpoint = folder / "checkpoint.safetensors"
        if found and checkpoint.exists():
            seen = checkpoint.stat().st_mtime_ns
            while process.poll() is None and age(checkpoint) == seen:
                time.sleep(0.02)
            time.sleep(0.1)
            return found[0]
        time.sleep(0.05)
    raise AssertionError(process.stderr.read())


def age(file):
    """When a file was last written; 0 if it is gone."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def workers(rank, folder):
    """Processes of this rank that write to the folder."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            variables = (place / "environ").read_bytes().split(b"\0")
            command = (place / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        name = str(folder).removesuffix(".partial")
        if f"RANK={rank}".encode() in variables and name in command:
            found.append(int(place.name))
    return found


def test_the_record_of_a_run_does_not_tell_how_many_processes_it_had(tmp_path):
    data = write_folder(tmp_path / "data", english(100))
    given = words(max_steps=5, max_epochs=5)
    command = ["train", "esim", "--data", data, *given, "--output", tmp_path / "two"]
    assert finish(start_warm(*command, "--devices", 2)).code == 0
    train("esim", data, tmp_path / "one", *given)
    runs = [
        json.loads((tmp_path / name / "training" / "run.json").read_text(encoding="utf-8"))
        for name in ("one", "two")
    ]
    assert runs[0] == runs[1]

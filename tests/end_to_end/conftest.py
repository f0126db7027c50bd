"""Bundles that several tests look at, each trained once."""

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = (
    []
    if find_spec("torch") and find_spec("lightning_fabric")
    else ["test_train_*.py", "test_evaluate.py", "test_frozen_bundle.py", "test_probe.py"]
)


@pytest.fixture(scope="session")
def english_data(tmp_path_factory) -> Path:
    from tiny_pairs import english, write_folder

    return write_folder(tmp_path_factory.mktemp("english"), english(400), num_dev=60)


@pytest.fixture(scope="session")
def english_run(english_data, tmp_path_factory):
    """ESIM on English pairs until it stops by itself: the bundle, and what was printed."""
    from running import settings, train

    folder = tmp_path_factory.mktemp("english-run") / "model"
    words = settings(
        model={"dropout": 0.3},  # without, the loss falls for ever
        data={"tune_share": 0.2},
        optim={"lr": 0.01},
        schedule={"warmup_steps": 4, "plateau_patience": 0},
        training={"max_epochs": 20, "patience": 3, "log_every": 1},
    )
    return folder, train("esim", english_data, folder, *words, "--json")


@pytest.fixture(scope="session")
def inference_run(tmp_path_factory):
    """A Siamese matcher with three classes: the bundle, and its data."""
    from running import settings, train
    from tiny_pairs import inference, write_folder

    folder = tmp_path_factory.mktemp("inference")
    data = write_folder(folder / "data", inference(300))
    words = settings(optim={"lr": 0.01}, training={"max_epochs": 3})
    train("siamese-snli", data, folder / "model", *words)
    return folder / "model", data


@pytest.fixture(scope="session")
def graded_run(tmp_path_factory):
    """ESIM on grades: the bundle, its data, and what was printed."""
    from running import settings, train
    from tiny_pairs import graded, write_folder

    folder = tmp_path_factory.mktemp("graded")
    data = write_folder(folder / "data", graded(300))
    words = settings(optim={"lr": 0.01}, training={"max_epochs": 4})
    answer = train("esim-graded", data, folder / "model", *words, "--json")
    return folder / "model", data, answer

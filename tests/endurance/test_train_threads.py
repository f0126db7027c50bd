"""With two threads, too, a run that was killed goes on to bitwise the same weights."""

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import DIES_AFTER_AN_EPOCH, finish, start_warm
from tiny_pairs import english, write_folder

TWO_THREADS = """
import torch
from softquery.cli import main
torch.set_num_threads(2)
"""
SIZES = {
    "model.hidden_size": 100,
    "model.embedding_size": 100,
    "data.batch_size": 64,
    "training.max_epochs": 2,
}
"""Large enough for products to be shared by threads."""


def test_two_threads_resume_to_the_same_bytes(tmp_path):
    data = write_folder(tmp_path / "data", english(280))
    words = [word for key, value in SIZES.items() for word in ("--set", f"{key}={value}")]
    command = ["train", "esim", "--data", data, *words]
    whole = start_warm(*command, "--output", tmp_path / "whole", code=TWO_THREADS)
    assert finish(whole).code == 0

    broken = [*command, "--output", tmp_path / "broken"]
    killed = start_warm(*broken, code=TWO_THREADS + DIES_AFTER_AN_EPOCH)
    assert finish(killed).code == 9
    assert not (tmp_path / "broken").exists()
    resumed = start_warm(*broken, "--resume", code=TWO_THREADS)
    assert finish(resumed).code == 0

    weights = [tmp_path / name / "model.safetensors" for name in ("whole", "broken")]
    assert weights[0].read_bytes() == weights[1].read_bytes()

"""A checkpoint brings back everything, bit by bit, or says in one line why it cannot."""

import json
import math
import os

import pytest
import torch
from fitting import assert_same, make_model, make_pairs, weights
from safetensors.torch import save_file

from softquery.errors import BundleError, InputError
from softquery.tasks import PairClassification
from softquery.training.average import WeightAverage
from softquery.training.run_records import (
    NAME,
    checkpoint_tensors,
    load_checkpoint,
    load_tensors,
    save_tensors,
)

TASK = PairClassification(labels=("a", "b", "c"))
needs_a_user_like_others = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere"
)


def save(folder, run, average, state):
    tensors = checkpoint_tensors(run.model, run.optimizer, average, {})
    save_tensors(folder / NAME, tensors, state)


class Run:
    """Model, optimiser and average, as far as a checkpoint knows them."""

    def __init__(self, seed):
        self.model = make_model(seed=seed, dropout=0.5)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.average = WeightAverage(self.model, 0.9)
        self.pairs = make_pairs()

    def train(self, steps):
        for step in range(steps):
            rows = torch.arange(4) + step % 4
            batch = self.pairs.batch(rows, 6)
            self.optimizer.zero_grad()
            TASK.loss(self.model(batch), batch).backward()
            self.optimizer.step()
            self.average.update()
        return self

    def save(self, folder, state):
        save(folder, self, self.average, state)

    def load(self, folder):
        return load_checkpoint(folder, self.model, self.optimizer, self.average)

    def moments(self):
        return {
            f"{index}.{name}": value.clone()
            for index, values in self.optimizer.state_dict()["state"].items()
            for name, value in values.items()
        }


def test_everything_comes_back_bitwise(tmp_path):
    run = Run(seed=1).train(3)
    run.save(tmp_path, {"step": 3, "best": -math.inf, "rows": [{"loss": 0.1 + 0.2}]})
    random_before = torch.get_rng_state()
    other = Run(seed=2).train(1)
    state = other.load(tmp_path)
    assert state == {"step": 3, "best": -math.inf, "rows": [{"loss": 0.1 + 0.2}]}
    assert torch.equal(torch.get_rng_state(), random_before)
    assert_same(weights(other.model), weights(run.model))
    assert_same(other.moments(), run.moments())
    assert_same(other.average.state(), run.average.state())


def test_the_future_is_the_same(tmp_path):
    """Dropout, Adam's moments and step counts, the average: four more steps tell."""
    run = Run(seed=1).train(3)
    run.save(tmp_path, {})
    wanted = weights(run.train(4).model)
    other = Run(seed=2)
    other.load(tmp_path)
    assert_same(weights(other.train(4).model), wanted)
    assert_same(other.average.state(), run.average.state())


def test_a_run_that_has_not_stepped_yet_is_saved_too(tmp_path):
    run = Run(seed=1)
    run.save(tmp_path, {"step": 0})
    other = Run(seed=2)
    assert other.load(tmp_path) == {"step": 0}
    assert_same(weights(other.model), weights(run.model))


def test_what_was_saved_is_not_tied_to_the_weights(tmp_path):
    tensor = torch.zeros(3)
    save_tensors(tmp_path / "some", {"one": tensor, "view": tensor[:2]}, {})
    tensor.fill_(1)
    tensors, _ = load_tensors(tmp_path / "some")
    assert tensors["one"].tolist() == [0, 0, 0]
    assert tensors["view"].tolist() == [0, 0]


def test_a_checkpoint_replaces_the_last_and_leaves_nothing_beside(tmp_path):
    run = Run(seed=1)
    run.save(tmp_path, {"step": 0})
    run.train(1).save(tmp_path, {"step": 1})
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert load_tensors(tmp_path / NAME)[1] == {"step": 1}


def test_a_failed_write_leaves_the_last_checkpoint(tmp_path):
    save_tensors(tmp_path / NAME, {"a": torch.ones(2)}, {"step": 1})
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_tensors(tmp_path / NAME, {"a": torch.zeros(2)}, {"step": object()})
    assert load_tensors(tmp_path / NAME)[1] == {"step": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_gone_is_named_in_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be written") as caught:
        save_tensors(tmp_path / "gone" / NAME, {"a": torch.ones(2)}, {})
    assert str(tmp_path / "gone" / NAME) in str(caught.value)
    assert "\n" not in str(caught.value)


@needs_a_user_like_others
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        save_tensors(tmp_path / NAME, {"a": torch.ones(2)}, {})


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def scramble(path):
    path.write_bytes(b"\x00\xff" * 500)


def empty(path):
    path.write_bytes(b"")


def without_state(path):
    save_file({"a": torch.ones(1)}, path, metadata={"format": "other"})


def without_header(path):
    save_file({"a": torch.ones(1)}, path)


def broken_state(path):
    save_file({"a": torch.ones(1)}, path, metadata={"state": "{"})


def as_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage",
    [cut, scramble, empty, without_state, without_header, broken_state, as_folder],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path, damage):
    run = Run(seed=1)
    run.save(tmp_path, {"step": 3})
    damage(tmp_path / NAME)
    with pytest.raises(BundleError, match="not a readable checkpoint") as caught:
        run.load(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / NAME}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_checkpoint_is_refused_in_one_line(tmp_path):
    with pytest.raises(BundleError, match="not a readable checkpoint"):
        Run(seed=1).load(tmp_path)


def test_the_checkpoint_of_another_model_is_refused_in_one_line(tmp_path):
    run = Run(seed=1)
    run.save(tmp_path, {})
    stranger = torch.nn.Linear(2, 2)
    with pytest.raises(BundleError, match="does not fit this model") as caught:
        load_checkpoint(tmp_path, stranger, torch.optim.SGD(stranger.parameters(), lr=1.0), None)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_without_the_average_that_is_asked_for_is_refused(tmp_path):
    run = Run(seed=1)
    save(tmp_path, run, None, {})
    with pytest.raises(BundleError, match="does not fit this run: lacks 'embedder.table.weight'"):
        run.load(tmp_path)


def test_nothing_in_a_checkpoint_can_run_code(tmp_path):
    """A safetensors header is JSON, and so is the state in it."""
    Run(seed=1).save(tmp_path, {"step": 3})
    content = (tmp_path / NAME).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert json.loads(header["__metadata__"]["state"]) == {"step": 3}

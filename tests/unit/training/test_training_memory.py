"""What is carried from batch to batch: kept, saved, restored, and the same after a kill."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest
import torch
from fitting import Killed, cpu
from torch import nn

from softquery.bundle import RECORDS
from softquery.data import Slot
from softquery.errors import BundleError
from softquery.training import Optim, Schedule, Trainer, Training, TrainingPlan
from softquery.training.run_records import NAME, load_tensors, save_tensors


class Counter(nn.Module):
    """Adds what it is given to what was there, and learns a factor on the way."""

    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(1.0))

    def forward(self, batch):
        return self.factor * batch["seen"] + batch["new"]


class Sums:
    """A memory of one sum per row."""

    def __init__(self, rows=3):
        self.sums = torch.zeros(rows)
        self.begun = []

    def begin(self, epoch):
        self.begun.append(epoch)
        if epoch % 2 == 0:
            self.sums.zero_()

    def keep(self, output, batch):
        self.sums[batch["rows"]] = output.detach()

    def tensors(self):
        return {"sums": self.sums.clone()}

    def restore(self, tensors):
        self.sums.copy_(tensors["sums"])


@dataclass
class CountingPlan:
    shaped_by_content: ClassVar[bool] = False
    memory: Sums = field(default_factory=Sums)
    die_in_batch: int = -1
    made: int = 0

    def slots(self, epoch):
        return [Slot(torch.arange(3), 5 + number) for number in range(4)]

    def make_batch(self, rows, length):
        self.made += 1
        if self.made == self.die_in_batch:
            raise Killed
        new = rows + 0.1 * length
        return {"seen": self.memory.sums[rows], "new": new, "rows": rows}

    def num_tokens(self, slot):
        return len(slot.rows) * slot.length

    def measure(self, model):
        return {"tune_score": float(-model.factor.detach())}


class Nobody:
    def begin(self, total_steps, done):
        pass

    def step(self, done, facts):
        pass

    def epoch(self, number, facts, improved):
        pass


def fit(folder, plan, **training):
    settings = {"max_epochs": 3, "checkpoint_seconds": 0.0, "log_every": 1, **training}
    return Trainer(
        cpu(),
        Counter(),
        plan,
        loss=lambda output, batch: (output - 4).square().mean(),
        optim=Optim(lr=0.01),
        schedule=Schedule(),
        training=Training(**settings),
        folder=folder,
    )


def test_each_batch_starts_from_what_the_last_one_left(tmp_path):
    plan = CountingPlan()
    run = fit(tmp_path, plan, max_epochs=1, max_steps=2)
    factor = 1.0
    run.run(Nobody(), resume=False)
    first = torch.arange(3) + 0.5
    second = run.bare.factor.item()  # the factor moved once before the second batch was kept
    assert plan.memory.begun == [0]
    assert plan.memory.sums[0] == pytest.approx(0.6 + first[0].item() * factor, abs=0.02)
    assert second != factor


@pytest.mark.parametrize("die_in_batch", range(2, 13))
def test_a_killed_run_goes_on_to_the_same_weights_and_memory(die_in_batch, tmp_path):
    whole = CountingPlan()
    wanted = fit(tmp_path / "whole", whole)
    wanted.run(Nobody(), resume=False)
    with pytest.raises(Killed):
        fit(tmp_path / "cut", CountingPlan(die_in_batch=die_in_batch)).run(Nobody(), resume=False)
    resumed = CountingPlan()
    found = fit(tmp_path / "cut", resumed)
    found.run(Nobody(), resume=True)
    assert torch.equal(found.bare.factor, wanted.bare.factor)
    assert torch.equal(resumed.memory.sums, whole.memory.sums)
    # An epoch that is gone on with is not begun anew, so that nothing is forgotten.
    assert resumed.memory.begun == [epoch for epoch in range(3) if 4 * epoch + 1 >= die_in_batch]


def test_a_checkpoint_holds_the_memory(tmp_path):
    plan = CountingPlan()
    run = fit(tmp_path, plan, max_epochs=1)
    run.run(Nobody(), resume=False)
    tensors, _ = load_tensors(tmp_path / NAME)
    assert torch.equal(tensors["memory.sums"], plan.memory.sums)


def test_a_checkpoint_without_the_memory_is_refused(tmp_path):
    fit(tmp_path, CountingPlan(), max_epochs=1).run(Nobody(), resume=False)
    tensors, state = load_tensors(tmp_path / NAME)
    kept = {name: value for name, value in tensors.items() if not name.startswith("memory.")}
    save_tensors(tmp_path / NAME, kept, state)
    with pytest.raises(BundleError, match="does not fit this run: lacks 'sums'"):
        fit(tmp_path, CountingPlan(), max_epochs=2).run(Nobody(), resume=True)


def test_most_plans_have_no_memory():
    assert TrainingPlan(slots=list, make_batch=dict, measure=dict).memory is None


def test_speed_is_told_in_tokens_where_they_are_counted(tmp_path):
    run = fit(tmp_path, CountingPlan(), max_epochs=1)
    run.run(Nobody(), resume=False)
    row = run.state.rows[0]
    assert row["tokens_per_second"] == pytest.approx(row["examples_per_second"] * 5)
    header = (tmp_path / RECORDS / "log.csv").read_text().splitlines()[0]
    assert header.startswith("step,epoch,loss,lr,examples_per_second,tokens_per_second")

"""A tiny run of the loop: pairs to learn, a plan that can be told to die, observers that watch."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from lightning_fabric import Fabric

from softquery.bundle import RECORDS
from softquery.data import Pairs, Sentences, bucketed
from softquery.models import Esim, EsimConfig
from softquery.tasks import PairClassification
from softquery.training import Optim, Schedule, Trainer, Training

TASK = PairClassification(labels=("a", "b", "c"))
BATCHES = 4
"""Batches in an epoch."""


class Killed(Exception):  # noqa: N818  (it stands for a process that is gone)
    pass


def make_pairs(count=14):
    generator = torch.Generator().manual_seed(1)

    def draw():
        length = int(torch.randint(1, 6, (), generator=generator))
        return torch.randint(1, 9, (length,), generator=generator).tolist()

    sides = [Sentences.pack([draw() for _ in range(count)]) for _ in range(2)]
    return Pairs(*sides, torch.arange(count) % 3)


def make_model(*, seed=1, dropout=0.0):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 9, "embedding_size": 4, "hidden_size": 3}
    return Esim(EsimConfig(**sizes, dropout=dropout))


def cpu(**settings):
    return Fabric(accelerator="cpu", devices=1, **settings)


@dataclass
class ScriptedPlan:
    """Real batches; the metric of each epoch is scripted, or else rises."""

    num_tokens: ClassVar[None] = None
    memory: ClassVar[None] = None
    shaped_by_content: ClassVar[bool] = False
    pairs: Pairs = field(default_factory=make_pairs)
    metrics: list = field(default_factory=list)
    die_in_batch: int = -1
    die_in_measure: int = -1
    made: int = 0
    measured: int = 0

    def slots(self, epoch):
        return bucketed(self.pairs.lengths(), batch_size=4, seed=1, epoch=epoch, pad_multiple=2)

    def make_batch(self, rows, length):
        self.made += 1
        if self.made == self.die_in_batch:
            raise Killed
        return self.pairs.batch(rows, length)

    def measure(self, model):
        assert not model.training
        self.measured += 1
        if self.measured == self.die_in_measure:
            raise Killed
        script = dict(enumerate(self.metrics, start=1))
        return {"tune_accuracy": script.get(self.measured, float(self.measured)), "tune_loss": 1.0}


@dataclass
class Watcher:
    """Keeps what it is told, and may act at a step."""

    act: object = None
    begun: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    epochs: list = field(default_factory=list)

    def begin(self, total_steps, done):
        self.begun.append((total_steps, done))

    def step(self, done, facts):
        self.steps.append((done, dict(facts)))
        if self.act is not None:
            self.act(done)

    def epoch(self, number, facts, improved):
        self.epochs.append((number, dict(facts), improved))


def make_fit(folder, *, plan=None, seed=1, dropout=0.3, optim=None, schedule=None, **training):
    (folder / RECORDS).mkdir(parents=True, exist_ok=True)
    settings = {"max_epochs": 3, "log_every": 2, "checkpoint_seconds": 0.0, **training}
    return Trainer(
        cpu(),
        make_model(seed=seed, dropout=dropout),
        plan or ScriptedPlan(),
        loss=TASK.loss,
        optim=optim or Optim(lr=0.01),
        schedule=schedule or Schedule(),
        training=Training(**settings),
        folder=folder,
    )


def weights(model):
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def assert_same(left, right):
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert torch.equal(value, right[name]), name

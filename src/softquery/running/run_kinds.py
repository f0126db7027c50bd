"""The kinds of runs: what trains each, and what it has no use for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from softquery.errors import ConfigError
from softquery.recipes import AnyRun, BertRun, ElmoRun, Run, Word2VecRun
from softquery.running import train as task_training
from softquery.running.options import RunOptions
from softquery.running.pretrain import pretrain
from softquery.running.pretrain_bert import BertPretraining
from softquery.running.pretrain_elmo import ElmoPretraining
from softquery.running.train_word2vec import train_word2vec


@dataclass(frozen=True, kw_only=True, slots=True)
class RunKind:
    """What is done with a kind of run."""

    train: Callable[[Any, RunOptions], Path]
    """Takes the run, and a job that leaves out what is refused."""
    counted: str = "step"
    """What its progress is counted in."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Options that it does not take, each with the reason."""

    def check(self, name: str, given: Mapping[str, object]) -> None:
        """Refuse options that mean nothing to a recipe of this kind.

        Args:
            name: The recipe's.
            given: Options of the command line; what is None, empty or the like was not given.

        Raises:
            ConfigError: One of them is given and refused.
        """
        for option, reason in self.refused.items():
            if given.get(option):
                raise ConfigError(f"--{option}: {name} {reason}")


KINDS: dict[type[AnyRun], RunKind] = {
    Run: RunKind(train=task_training.train),
    ElmoRun: RunKind(
        train=partial(pretrain, ElmoPretraining()),
        refused={"vectors": "reads characters, not word vectors"},
    ),
    BertRun: RunKind(
        train=partial(pretrain, BertPretraining()),
        refused={"vectors": "learns the vectors of its pieces by itself"},
    ),
    Word2VecRun: RunKind(
        train=train_word2vec,
        counted="word",
        refused={
            "vectors": "makes word vectors, and reads none",
            "columns": "reads running text, which has no columns",
            "init": "begins anew, with random vectors",
            "devices": "takes all cores or one GPU in one process",
        },
    ),
}
"""By the run's class: everything that the command line must know to train it."""


def train(run: AnyRun, job: RunOptions) -> Path:
    """Train a model of any kind and write its bundle.

    Args:
        run: The recipe, with its overrides.
        job: What it is given.

    Raises:
        ConfigError: The kind has no use for `init`, `devices` or `rename`, and they are given.
    """
    kind = KINDS[type(run)]
    given = {"init": job.init, "devices": job.devices > 1, "columns": job.rename}
    kind.check(run.name, given)
    return kind.train(run, job)

"""Pretrain a model on raw text: number the text, train, measure, and leave a bundle.

As in `execute`, everything lies in `OUTPUT.partial` until the bundle is complete, the text as
numbers among it. What differs between models is a `Pretraining`.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.errors import ConfigError, counted
from softquery.recipes.bert_run import BertRun
from softquery.recipes.elmo_run import ElmoRun
from softquery.running.adapter import Say
from softquery.running.options import RunOptions
from softquery.running.session import Session, TrainOutcome, enter
from softquery.running.text_source import TextSource, numbered_source, text_source
from softquery.text import TextPipeline
from softquery.training import BEST, Plan, Training, draw_curves, load_tensors

CORPUS = "corpus"
"""The folder with the numbered text, inside that of the run."""
RESIDENT_SHARE = 0.25
"""Of a GPU's free memory that numbered text may take; more stays on the disk."""

AnyTextRun = TypeVar("AnyTextRun", ElmoRun, BertRun)
Start = TypeVar("Start")


class Learner(Protocol):
    """A run once its text has been numbered: what learns, from what, and what is left of it."""

    @property
    def model(self) -> nn.Module:
        """What learns."""

    @property
    def plan(self) -> Plan:
        """What it learns from."""

    @property
    def pipeline(self) -> TextPipeline:
        """By what the text was numbered."""

    @property
    def training(self) -> Training:
        """How, once what it learns is known."""

    @property
    def amount(self) -> dict[str, int]:
        """How much text there is to learn from, by what it is counted in."""

    def measured(self) -> dict[str, Any]:
        """How well the model does on `valid`."""

    def stored(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Settings and weights for the bundle."""

    def card(self, metrics: Mapping[str, Any], name: str) -> str:
        """What the bundle says of itself."""


class Pretraining(Protocol[AnyTextRun, Start]):
    """What differs between models on the one way from raw text to a bundle."""

    @property
    def kind(self) -> str:
        """Of the bundle."""

    @property
    def curve(self) -> str:
        """The column of the log that is drawn."""

    @property
    def task(self) -> Any:
        """What is learnt: its loss, and what the bundle says of it."""

    def mark(self, folder: Path) -> str | None:
        """By what a folder of numbers is known again; None where it holds text."""

    def begin(
        self, run: AnyTextRun, init: str | PathLike[str], say: Say
    ) -> tuple[AnyTextRun, Start]:
        """Open a bundle to start from, and take over its sizes."""

    def check(self, run: AnyTextRun) -> None:
        """Refuse sizes that cannot be now, not after the text was read."""

    def number(
        self, run: AnyTextRun, source: TextSource, folder: Path, start: Start | None, say: Say
    ) -> None:
        """Write the text as numbers."""

    def settle(
        self,
        run: AnyTextRun,
        source: TextSource,
        numbers: Path,
        start: Start | None,
        stage: Session,
    ) -> Learner:
        """Open the numbers, and build what learns from them."""


def pretrain(pretraining: Pretraining[AnyTextRun, Start], run: AnyTextRun, job: RunOptions) -> Path:
    """Pretrain a model and write its bundle.

    Args:
        pretraining: What kind of model it is.
        run: The recipe, with its overrides.
        job: What it is given.
    """
    stage = enter(run.training, job)
    if stage is None:
        return Path(job.output)
    data = Path(job.data)
    mark = pretraining.mark(data)
    if mark is None:
        source = text_source(data, run.data.train, run.data.valid, job.rename, stage.say)
    else:
        source = numbered_source(data, mark)
    start = None
    if job.init is not None:
        run, start = pretraining.begin(run, job.init, stage.say)
    elif run.optim.layer_decay != 1:
        raise ConfigError("optim.layer_decay is for what is gone on with (--init); leave it at 1")
    pretraining.check(run)
    if run.data.rounds > 1:
        stage.say(passes(run.training.max_epochs, run.data.rounds))
    with stage.kept():
        numbers = source.folder if source.is_numbered else stage.folder / CORPUS
        if stage.is_first:
            stage.note(run.to_dict(), source.fingerprint)
            if not numbers.exists():
                pretraining.number(run, source, numbers, start, stage.say)
        stage.fabric.barrier()
        learner = pretraining.settle(run, source, numbers, start, stage)
        outcome = stage.fit(
            learner.model,
            learner.plan,
            job.observer,
            loss=pretraining.task.loss,
            optim=run.optim,
            schedule=run.schedule,
            training=learner.training,
        )
        if stage.is_first:
            _finish(pretraining, run, learner, outcome, stage)
    return stage.leave()


def passes(max_epochs: int, rounds: int) -> str:
    """How often the text is read where an epoch is a part of a pass, in words.

    >>> passes(5, 2)
    'up to 5 epochs of half a pass each: 2.5 passes over the text'
    >>> passes(8, 8)
    'up to 8 epochs of 1/8 of a pass each: 1 pass over the text'
    """
    part = "half a pass" if rounds == 2 else f"1/{rounds:,} of a pass"
    many = "1 pass" if max_epochs == rounds else f"{max_epochs / rounds:.4g} passes"
    return f"up to {counted(max_epochs, 'epoch')} of {part} each: {many} over the text"


def fits_on(device: torch.device, tensors: list[Tensor]) -> bool:
    """Whether numbered text is to lie on a GPU, because it takes a small part of it."""
    if device.type != "cuda":
        return False
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return size <= RESIDENT_SHARE * torch.cuda.mem_get_info(device)[0]


def _finish(
    pretraining: Pretraining[AnyTextRun, Start],
    run: AnyTextRun,
    learner: Learner,
    outcome: TrainOutcome,
    stage: Session,
) -> None:
    """Measure the best weights on `valid` and write the bundle."""
    best, held_back = load_tensors(stage.folder / BEST)
    learner.model.load_state_dict(best)
    metrics = {
        "dev": learner.measured(),
        "tune": {name.removeprefix("tune_"): value for name, value in held_back.items()},
        "training": {**outcome.facts(run.training.seed), **learner.amount},
    }
    records = stage.folder / RECORDS
    draw_curves(outcome.rows, pretraining.curve, records / "curves.png")
    settings, weights = learner.stored()
    write_bundle(
        stage.target,
        config=BundleConfig(
            kind=pretraining.kind,
            model={"name": run.model_name(), "config": settings},
            task=pretraining.task.to_dict(),
            text=learner.pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=learner.pipeline.tokenizer.to_str(),
        weights={name: value.cpu().numpy() for name, value in weights.items()},
        metrics=metrics,
        card=learner.card(metrics, stage.target.name),
        records=records,
    )
    stage.clear()

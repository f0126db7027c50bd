"""Pretrain a model on raw text: number the text, train, measure, and leave a bundle.

As in `train`, everything lies in `OUTPUT.partial` until the bundle is complete, the text as
numbers among it. What differs between models is a `Pretraining`.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.errors import ConfigError, InputError, counted
from softquery.files import find_texts, fingerprint
from softquery.recipes import BertRun, ElmoRun
from softquery.running.run_folder import (
    clear_up,
    enter,
    kept_if_resumable,
    note_settings,
    partial_folder,
)
from softquery.running.run_options import RunOptions, Say
from softquery.running.start import Start
from softquery.text import TextPipeline
from softquery.training import (
    BEST,
    Trainer,
    TrainerState,
    Training,
    TrainingPlan,
    draw_curves,
    leave,
    load_tensors,
)

CORPUS = "corpus"
"""The folder with the numbered text, inside that of the run."""
RESIDENT_SHARE = 0.25
"""Of a GPU's free memory that numbered text may take; more stays on the disk."""

AnyTextRun = TypeVar("AnyTextRun", ElmoRun, BertRun)


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """Where a language model reads from: the files of two splits, or a folder of token ids."""

    train: list[Path]
    valid: list[Path]
    rename: Mapping[str, str] | None
    fingerprint: str
    folder: Path

    @property
    def is_numbered(self) -> bool:
        """Whether `folder` holds token ids instead of text."""
        return not self.train

    @property
    def shown(self) -> str:
        """How much is read, in words."""
        count = len(self.train)
        return f"{counted(count, 'file')} of training text"


def text_source(
    folder: Path, train: Sequence[str], valid: str, rename: Mapping[str, str] | None, say: Say
) -> TextSource:
    """The text files of a folder; in that of a task, which has no `valid`, `dev` stands for it.

    Args:
        folder: Holds the files.
        train: Splits that are learnt from.
        valid: The split that is measured on.
        rename: Our column's name to that of the files.
        say: Receives a line where `dev` stands for `valid`.
    """
    trained = [path for split in train for path in find_texts(folder, split)]
    measured = _measured(folder, valid, say)
    return TextSource(
        train=trained,
        valid=measured,
        rename=rename,
        fingerprint=fingerprint([*trained, *measured]),
        folder=folder,
    )


def _measured(folder: Path, split: str, say: Say) -> list[Path]:
    try:
        return find_texts(folder, split)
    except InputError as error:
        if split != "valid" or error.source != str(folder):  # it is there, but cannot be read
            raise
        with suppress(InputError):
            found = find_texts(folder, "dev")
            say(f"{folder} holds no text for valid; dev is measured on instead")
            return found
        raise


def numbered_source(folder: Path, mark: str) -> TextSource:
    """A folder of token ids, and its fingerprint."""
    return TextSource(train=[], valid=[], rename=None, fingerprint=mark, folder=folder)


class Learner(Protocol):
    """A run once its text has been numbered: what learns, from what, and what is left of it."""

    @property
    def model(self) -> nn.Module:
        """What learns."""

    @property
    def plan(self) -> TrainingPlan:
        """What it learns from."""

    @property
    def pipeline(self) -> TextPipeline:
        """By what the text was numbered."""

    @property
    def training(self) -> Training:
        """How, once what it learns is known."""

    @property
    def curve(self) -> str:
        """The column of the log that is drawn."""

    @property
    def task(self) -> Any:
        """What is learnt: its loss, and what the bundle says of it."""

    @property
    def amount(self) -> dict[str, int]:
        """How much text there is to learn from, by what it is counted in."""

    def measured(self) -> dict[str, Any]:
        """How well the model does on `valid`."""

    def stored(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Settings and weights for the bundle."""

    def card(self, metrics: Mapping[str, Any], name: str) -> str:
        """What the bundle says of itself."""


class Pretraining(Protocol[AnyTextRun]):
    """What differs between models on the one way from raw text to a bundle."""

    @property
    def kind(self) -> str:
        """Of the bundle."""

    def mark(self, folder: Path) -> str | None:
        """The fingerprint of a folder of token ids; None where it holds text."""

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
        fabric: Fabric,
        say: Say,
    ) -> Learner:
        """Open the numbers, and build what learns from them."""


def pretrain(pretraining: Pretraining[AnyTextRun], run: AnyTextRun, options: RunOptions) -> Path:
    """Pretrain a model and write its bundle.

    Args:
        pretraining: What kind of model it is.
        run: The recipe, with its overrides.
        options: Where it reads, writes and starts.
    """
    fabric, target = enter(run.training, options), Path(options.output)
    if fabric is None:
        return target
    folder, is_first = partial_folder(target), fabric.is_global_zero
    say: Say = options.say if is_first else (lambda line: None)
    source = _source(pretraining, run, options, say)
    start = None
    if options.init is not None:
        run, start = pretraining.begin(run, options.init, say)
    elif run.optim.layer_decay != 1:
        raise ConfigError("optim.layer_decay is for what is gone on with (--init); leave it at 1")
    pretraining.check(run)
    if run.data.rounds > 1:
        say(passes(run.training.max_epochs, run.data.rounds))
    with kept_if_resumable(folder, say, writes=is_first):
        numbers = source.folder if source.is_numbered else folder / CORPUS
        if is_first:
            note_settings(
                folder, run.to_dict(), fingerprint=source.fingerprint, resume=options.resume
            )
            if not numbers.exists():
                pretraining.number(run, source, numbers, start, say)
        fabric.barrier()
        learner = pretraining.settle(run, source, numbers, start, fabric, say)
        trainer = Trainer(
            fabric,
            learner.model,
            learner.plan,
            loss=learner.task.loss,
            optim=run.optim,
            schedule=run.schedule,
            training=learner.training,
            folder=folder,
        )
        state = trainer.run(options.observer, resume=options.resume)
        if is_first:
            _finish(pretraining, run, learner, state, target)
            clear_up(folder, target)
            say(f"bundle written: {target}")
    leave(fabric)
    return target


def _source(
    pretraining: Pretraining[AnyTextRun], run: AnyTextRun, options: RunOptions, say: Say
) -> TextSource:
    data = Path(options.data)
    mark = pretraining.mark(data)
    if mark is not None:
        return numbered_source(data, mark)
    return text_source(data, run.data.train, run.data.valid, options.rename, say)


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
    pretraining: Pretraining[AnyTextRun],
    run: AnyTextRun,
    learner: Learner,
    state: TrainerState,
    target: Path,
) -> None:
    """Measure the best weights on `valid` and write the bundle."""
    folder = partial_folder(target)
    best, held_back = load_tensors(folder / BEST)
    learner.model.load_state_dict(best)
    metrics = {
        "dev": learner.measured(),
        "tune": {name.removeprefix("tune_"): value for name, value in held_back.items()},
        "training": {**state.facts(run.training.seed), **learner.amount},
    }
    records = folder / RECORDS
    draw_curves(state.rows, learner.curve, records / "curves.png")
    settings, weights = learner.stored()
    write_bundle(
        target,
        config=BundleConfig(
            kind=pretraining.kind,
            model={"name": run.model_name(), "config": settings},
            task=learner.task.to_dict(),
            text=learner.pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=learner.pipeline.tokenizer.to_str(),
        weights={name: value.cpu().numpy() for name, value in weights.items()},
        metrics=metrics,
        card=learner.card(metrics, target.name),
        records=records,
    )

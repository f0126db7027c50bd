"""Run a recipe for a task: read, train, measure, and leave a bundle.

While it runs, everything lies in `OUTPUT.partial`; the bundle appears under its own name when it is
complete.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.recipes.run import Run
from softquery.running.adapter import Folder, Prepared, Say, SourceRows, TaskAdapter
from softquery.running.adapters import adapter_of
from softquery.running.bert_base import BertBase, fitting_text, read_base, stand, with_base
from softquery.running.inner_embedder import (
    base_of,
    known_by,
    nested_elmo,
    own_weights,
    penalised,
    recordable,
    spelt_alike,
)
from softquery.running.options import RunOptions
from softquery.running.prefetch import read_contexts, read_words
from softquery.running.prepare import prepare, read_source
from softquery.running.run_card import run_card
from softquery.running.session import Session, TrainOutcome, enter
from softquery.running.start import Start, read_start
from softquery.runtime.torch_models import TaskModel, build_model, config_of
from softquery.text import TextPipeline
from softquery.training import BEST, Plan, draw_curves, load_tensors


def train(run: Run, job: RunOptions) -> Path:
    """Train a model for a task and write its bundle.

    Args:
        run: The recipe, with its overrides.
        job: What it is given.
    """
    stage = enter(run.training, job)
    if stage is None:
        return Path(job.output)
    ready = _make_ready(run, job, stage)
    prepared, model = ready.prepared, ready.model
    with stage.kept():
        if stage.is_first:
            settings = {**prepared.run.to_dict(), **known_by(model)}
            stage.note(settings, prepared.source.fingerprint)
        stage.fabric.barrier()
        outcome = stage.fit(
            model,
            ready.plan,
            job.observer,
            loss=penalised(prepared.task.loss, getattr(model, "embedder", None)),
            optim=prepared.run.optim,
            schedule=prepared.run.schedule,
            training=recordable(prepared.run),
        )
        if stage.is_first:
            _finish(ready, outcome, stage)
    return stage.leave()


@dataclass(frozen=True, kw_only=True)
class ReadyRun:
    """All that is there before the first step."""

    work: TaskAdapter
    prepared: Prepared
    model: TaskModel
    plan: Plan
    dev: Any
    """Its rows as tensors."""


def _make_ready(run: Run, job: RunOptions, stage: Session) -> ReadyRun:
    """Read the rows, settle what follows from them, and build the model."""
    work, say, device = adapter_of(run), stage.say, stage.fabric.device
    source = read_source(run, work, job.data, job.rename, say)
    run, begun = _begin(run, source, job.init, say)
    prepared = prepare(
        run, work, source, say, pipeline=begun.pipeline, source_pipeline=begun.source_pipeline
    )
    model, prepared = _build(prepared, begun, say)
    model.to(device)
    plan = _plan(work, prepared, model, device, say)
    # A bad row is told now, not after hours.
    dev = work.encode(source.dev, prepared, say, "dev")
    return ReadyRun(work=work, prepared=prepared, model=model, plan=plan, dev=dev)


@dataclass(frozen=True, kw_only=True)
class StartingPoint:
    """What the run starts from, where it does."""

    start: Start | None
    """A bundle of the same kind, gone on from."""
    base: BertBase | None
    """A pretrained encoder, on which a head is put."""
    pipeline: TextPipeline | None

    @property
    def source_pipeline(self) -> TextPipeline | None:
        """By what the start reads sources, where they have a vocabulary of their own."""
        return None if self.start is None else self.start.source_pipeline


def _begin(
    run: Run, source: SourceRows, init: Folder | None, say: Say
) -> tuple[Run, StartingPoint]:
    """The run with the sizes and the text pipeline of what it starts from."""
    run, init = with_base(run, init)
    base = read_base(run, init)
    start = None if init is None else read_start(init)
    if start is not None:
        run = start.shape(run, source, say)
    if base is not None:
        run = base.shape(run, say)
    given = base or start
    pipeline = None if given is None else given.pipeline
    if run.bert is not None:
        run, pipeline = fitting_text(run, pipeline, say, goes_on=start is not None)
    return run, StartingPoint(start=start, base=base, pipeline=pipeline)


def _build(prepared: Prepared, begun: StartingPoint, say: Say) -> tuple[TaskModel, Prepared]:
    """The model, filled from pretrained vectors or from the bundle that the run starts from.

    A biLM inside has its say about the run: how words are spelt.
    """
    run, longest = prepared.run, None
    if run.elmo is None:
        model = build_model(run.model_name(), asdict(run.model))
    else:
        embedder = nested_elmo(run, run.elmo, prepared.pipeline, say)
        run, longest = spelt_alike(run, embedder), embedder.characters.shape[1]
        model = build_model(run.model_name(), asdict(run.model), embedder)
    words = getattr(model, "embedder", None) if run.elmo is None else embedder.words
    if prepared.table is not None and words is not None:
        words.table.weight.data.copy_(torch.from_numpy(prepared.table))
    if begun.start is not None:
        begun.start.fill(model, prepared.task, say)
    if run.bert is not None:
        stand(model, run.bert, begun.base, say)
    if run.vocabulary.frozen and words is not None:
        if prepared.table is None and begun.start is None:
            say("no vectors are given, so that the table of words learns along")
        else:
            words.requires_grad_(False)
    return model, replace(prepared, run=run, max_characters=longest)


def _plan(
    work: TaskAdapter, prepared: Prepared, model: TaskModel, device: torch.device, say: Say
) -> Plan:
    train_set = work.encode(prepared.source.train, prepared, say, "train", taught=True)
    tune_set = work.encode(prepared.source.tune, prepared, say, "held back")
    train, tune = work.num_taught(prepared.source.train, train_set), len(prepared.source.tune)
    say(f"{train:,} {work.noun} to train on, {tune:,} held back to tune by")
    return work.plan(
        prepared,
        read_contexts(train_set.to(device), model, say),
        read_contexts(tune_set.to(device), model, lambda line: None),
    )


def _finish(ready: ReadyRun, outcome: TrainOutcome, stage: Session) -> None:
    """Measure the best weights on dev and write the bundle."""
    prepared, model = ready.prepared, ready.model
    best, _ = load_tensors(stage.folder / BEST)
    model.load_state_dict(best)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    device = next(model.parameters()).device
    metrics = {
        "dev": ready.work.report(prepared, model, read_words(ready.dev.to(device), model)),
        "tune": {prepared.task.steers_by: outcome.fitted.best, "n": len(prepared.source.tune)},
        "training": {
            **outcome.facts(prepared.run.training.seed),
            "dev_rows_in_train": prepared.source.num_shared,
        },
    }
    base, reading, records = base_of(model), prepared.source_pipeline, stage.folder / RECORDS
    draw_curves(outcome.rows, f"tune_{prepared.task.steers_by}", records / "curves.png")
    write_bundle(
        stage.target,
        config=BundleConfig(
            kind=ready.work.kind,
            model={"name": prepared.run.model_name(), "config": config_of(model)},
            task=prepared.task.to_dict(),
            text=prepared.pipeline.config.to_dict(),
            library_version=__version__,
            base=None if base is None else base.name,
            base_fingerprint=None if base is None else base.fingerprint,
        ),
        tokenizer_json=prepared.pipeline.tokenizer.to_str(),
        source_tokenizer_json=None if reading is None else reading.tokenizer.to_str(),
        weights=own_weights(model, base),
        metrics=metrics,
        card=run_card(prepared, ready.work, metrics, name=stage.target.name),
        records=records,
    )
    stage.clear()

"""Run a recipe for a task: read, train, measure, and leave a bundle.

While it runs, everything lies in `OUTPUT.partial`; the bundle appears under its own name when it is
complete.
"""

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.recipes.bert_base import BertBase, fitting_text, read_base, stand, with_base
from softquery.recipes.card import run_card
from softquery.recipes.nesting import (
    base_of,
    nested_elmo,
    own_weights,
    penalised,
    read_beforehand,
    recordable,
    spelt_alike,
)
from softquery.recipes.places import check_places, kept_if_resumable, partial_folder
from softquery.recipes.prepare import prepare, read_source
from softquery.recipes.records import clear_up, is_finished, note_settings
from softquery.recipes.run import Run
from softquery.recipes.start import Start, read_start
from softquery.recipes.work import Prepared, Say, Work
from softquery.recipes.works import work_of
from softquery.runtime.network import TASK_MODELS, TaskModel, build_model, config_of
from softquery.training import (
    BEST,
    Fit,
    Fitted,
    Observer,
    Plan,
    draw_curves,
    launch,
    leave,
    load_tensors,
)


def train(
    run: Run,
    *,
    data: str | PathLike[str],
    output: str | PathLike[str],
    observer: Observer,
    say: Say,
    resume: bool = False,
    init: str | PathLike[str] | None = None,
    devices: int = 1,
    rename: Mapping[str, str] | None = None,
) -> Path:
    """Train a model for a task and write its bundle.

    Args:
        run: The recipe, with its overrides.
        data: A folder that holds the splits.
        output: The bundle to write; it must not exist.
        observer: Watches the loop.
        say: Told what happens, a line at a time.
        resume: Go on from `OUTPUT.partial`.
        init: A bundle whose text pipeline and weights the run starts from.
        devices: Processes, started by torchrun where there are several.
        rename: Our column names to those of the files.
    """
    target, folder = Path(output), partial_folder(output)
    finished = resume and is_finished(target, folder)
    if not finished:
        check_places(target, folder, resume=resume)
    fabric = launch(devices=devices, precision=run.training.precision, seed=run.training.seed)
    lines: Say = say if fabric.is_global_zero else (lambda line: None)
    if finished:
        if fabric.is_global_zero:
            clear_up(folder, target)
        return target
    work = work_of(run)
    source = read_source(run, work, data, rename, lines)
    run, init = with_base(run, init)
    base = read_base(run, init)
    start = None if init is None else read_start(init)
    if start is not None:
        run = start.shape(run, source, lines)
    if base is not None:
        run = base.shape(run, lines)
    given = base or start
    pipeline = None if given is None else given.pipeline
    if run.bert is not None:
        run, pipeline = fitting_text(run, pipeline, lines, goes_on=start is not None)
    reading = None if start is None else start.source_pipeline
    prepared = prepare(run, work, source, lines, pipeline=pipeline, source_pipeline=reading)
    model, prepared = _build(prepared, start, base, lines)
    model.to(fabric.device)
    plan = _plan(work, prepared, model, fabric.device, lines)
    # A bad row is told now, not after hours.
    dev = work.encode(source.dev, prepared, lines, "dev")
    with kept_if_resumable(folder, lines) if fabric.is_global_zero else nullcontext():
        if fabric.is_global_zero:
            note_settings(
                folder, prepared.run.to_dict(), fingerprint=source.fingerprint, resume=resume
            )
        fabric.barrier()
        fit = Fit(
            fabric,
            model,
            plan,
            loss=penalised(prepared.task.loss, getattr(model, "embedder", None)),
            optim=run.optim,
            schedule=run.schedule,
            training=recordable(run),
            folder=folder,
        )
        try:
            fitted = fit.run(observer, resume=resume)
        finally:
            with suppress(OSError):  # a full disk has been told of already
                fit.history.close()
        if fabric.is_global_zero:
            _finish(prepared, work, model, dev, fitted, fit.progress.rows, folder, target)
            lines(f"bundle written: {target}")
    leave(fabric)
    return target


def _build(
    prepared: Prepared, start: Start | None, base: BertBase | None, say: Say
) -> tuple[TaskModel, Prepared]:
    """The model, filled from pretrained vectors or from the bundle that the run starts from.

    A biLM inside has its say about the run: how words are spelt.
    """
    run, longest = prepared.run, None
    if run.elmo is None:
        model = build_model(run.model_name(), asdict(run.model))
    else:
        embedder = nested_elmo(run, run.elmo, prepared.pipeline, say)
        run, longest = spelt_alike(run, embedder), embedder.characters.shape[1]
        model = TASK_MODELS[run.model_name()][1](run.model, embedder)
    words = getattr(model, "embedder", None) if run.elmo is None else embedder.words
    if prepared.table is not None and words is not None:
        words.table.weight.data.copy_(torch.from_numpy(prepared.table))
    if start is not None:
        start.fill(model, prepared.task, say)
    if run.bert is not None:
        stand(model, run.bert, base, say)
    if run.vocabulary.frozen and words is not None:
        if prepared.table is None and start is None:
            say("no vectors are given, so that the table of words learns along")
        else:
            words.requires_grad_(False)
    return model, replace(prepared, run=run, max_characters=longest)


def _plan(work: Work, prepared: Prepared, model: TaskModel, device: torch.device, say: Say) -> Plan:
    train_set = work.encode(prepared.source.train, prepared, say, "train", taught=True)
    tune_set = work.encode(prepared.source.tune, prepared, say, "held back")
    say(f"{len(train_set):,} {work.noun} to train on, {len(tune_set):,} held back to tune by")
    return work.plan(
        prepared,
        read_beforehand(train_set.to(device), model),
        read_beforehand(tune_set.to(device), model),
    )


def _finish(
    prepared: Prepared,
    work: Work,
    model: TaskModel,
    dev: Any,
    fitted: Fitted,
    rows: list[dict[str, float]],
    folder: Path,
    target: Path,
) -> None:
    """Measure the best weights on dev and write the bundle."""
    best, _ = load_tensors(folder / BEST)
    model.load_state_dict(best)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    device = next(model.parameters()).device
    report = work.report(prepared, model, read_beforehand(dev.to(device), model))
    metrics = {
        "dev": report,
        "tune": {prepared.task.steers_by: fitted.best, "n": len(prepared.source.tune)},
        "training": {
            "epochs": fitted.num_epochs,
            "best_epoch": fitted.best_epoch + 1,
            "steps": fitted.num_steps,
            "seconds": round(fitted.seconds, 1),
            "seed": prepared.run.training.seed,
            "dev_rows_in_train": prepared.source.num_shared,
        },
    }
    base, reading = base_of(model), prepared.source_pipeline
    draw_curves(rows, f"tune_{prepared.task.steers_by}", folder / RECORDS / "curves.png")
    write_bundle(
        target,
        config=BundleConfig(
            kind=work.kind,
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
        card=run_card(prepared, work, metrics, name=target.name),
        records=folder / RECORDS,
    )
    clear_up(folder, target)

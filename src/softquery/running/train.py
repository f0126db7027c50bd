"""Run a recipe: read, train, measure, and leave a bundle.

While it runs, everything lies in `OUTPUT.partial`; the bundle appears under its own name when it is
complete.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.bundle.layer_weights import layer_shares, with_layers
from softquery.models import REGISTRY
from softquery.nn import WordTables
from softquery.recipes import AnyRun, BertRun, ElmoRun, FewLabelsRun, Run, Word2VecRun
from softquery.running.adapter import Prepared, TaskAdapter, prepare
from softquery.running.classify import ClassifyAdapter
from softquery.running.few_labels.train_few_labels import train_few_labels
from softquery.running.generate import GenerateAdapter
from softquery.running.inner_embedder import (
    base_of,
    inner_elmo,
    known_by,
    penalised,
    recordable,
    spelled_alike,
)
from softquery.running.match import MatchAdapter
from softquery.running.prefetch import read_contexts, read_words
from softquery.running.pretrain import pretrain
from softquery.running.pretrain_bert import BertPretraining
from softquery.running.pretrain_elmo import ElmoPretraining
from softquery.running.read import ReadAdapter
from softquery.running.run_card import task_card
from softquery.running.run_folder import (
    FITTED,
    clear_up,
    enter,
    kept_if_resumable,
    note_settings,
    partial_folder,
)
from softquery.running.run_options import RunOptions, Say, check_options
from softquery.running.run_warnings import check_end, check_start
from softquery.running.start import fill, freeze
from softquery.running.tag import TagAdapter
from softquery.running.train_word2vec import train_word2vec
from softquery.runtime.inner.inner_weights import PREFIX
from softquery.runtime.torch_models import build_model, config_of
from softquery.training import BEST, Trainer, TrainingPlan, draw_curves, leave, load_tensors

ADAPTERS: dict[str, TaskAdapter] = {
    "matcher": MatchAdapter(),
    "classifier": ClassifyAdapter(),
    "tagger": TagAdapter(),
    "reader": ReadAdapter(),
    "generator": GenerateAdapter(),
}
"""By the kind of bundle that a model is stored in."""


def train(run: AnyRun, options: RunOptions) -> Path:
    """Train a model of any kind and write its bundle.

    Args:
        run: The recipe, with its overrides.
        options: Where it reads, writes and starts.

    Raises:
        ConfigError: Options are given that mean nothing to such a run.
    """
    given = {"init": options.init, "devices": options.devices > 1, "columns": options.rename}
    check_options(run, given)
    return TRAINERS[type(run)](run, options)


def train_task(run: Run, options: RunOptions) -> Path:
    """Train a model for a task and write its bundle."""
    fabric, target = enter(run.training, options), Path(options.output)
    if fabric is None:
        return target
    folder, is_first = partial_folder(target), fabric.is_global_zero
    say: Say = options.say if is_first else (lambda line: None)
    adapter = ADAPTERS[REGISTRY[run.model_name()].kind]
    prepared = prepare(run, adapter, options, say)
    model, prepared = build_prepared(prepared, say)
    model.to(fabric.device)
    plan = _plan(adapter, prepared, model, fabric.device, say)
    prepared = _fitted_to_steps(prepared, plan, say)
    # A bad row is reported now, not after hours.
    dev = adapter.encode(prepared.rows["dev"], prepared, say, "dev")
    warnings = check_start(adapter, prepared, len(plan.slots(0)), say)
    run, has_elmo = prepared.run, prepared.run.elmo is not None
    with kept_if_resumable(folder, say, writes=is_first):
        if is_first:
            settings = {**run.to_dict(), **(known_by(model) if has_elmo else {})}
            settings[FITTED] = prepared.fit.to_list()
            note_settings(folder, settings, fingerprint=prepared.fingerprint, resume=options.resume)
        fabric.barrier()
        loss = prepared.task.loss
        trainer = Trainer(
            fabric,
            model,
            plan,
            loss=penalised(loss, model) if has_elmo else loss,
            optim=run.optim,
            schedule=run.schedule,
            training=recordable(run) if has_elmo else run.training,
            folder=folder,
        )
        trainer.run(options.observer, resume=options.resume)
        if is_first:
            _finish(adapter, prepared, trainer, dev, target, warnings, say)
            clear_up(folder, target)
            say(f"bundle written: {target}")
    leave(fabric)
    return target


def build_prepared(prepared: Prepared, say: Say) -> tuple[nn.Module, Prepared]:
    """The model, filled from pretrained vectors or from the bundle that the run starts from.

    A biLM inside decides how words are spelt, which the run then says.
    """
    run, start, longest = prepared.run, prepared.start, None
    if run.elmo is None:
        model = build_model(run.model_name(), asdict(run.model))
        words = getattr(model, "embedder", None)
    else:
        embedder = inner_elmo(run, run.elmo, prepared.pipeline, say)
        run, longest = spelled_alike(run, embedder), embedder.characters.shape[1]
        model = build_model(run.model_name(), asdict(run.model), embedder)
        words = embedder.words
    words = words or _sources(model)
    if prepared.table is not None and words is not None:
        getattr(words, "table", words).weight.data.copy_(torch.from_numpy(prepared.table))
    if start is not None:
        fill(model, run, getattr(prepared.task, "labels", ()), start, say)
    if run.bert is not None:
        freeze(model, run.bert, say)
    if run.vocabulary.frozen and words is not None:
        if prepared.table is None and start is None:
            say("no vectors are given, so that the table of words learns along")
        else:
            words.requires_grad_(False)
    return model, replace(prepared, run=run, max_characters=longest)


def _sources(model: nn.Module) -> nn.Embedding | None:
    """The table of words that a generator reads its sources by."""
    tables = getattr(model, "words", None)
    if not isinstance(tables, WordTables):
        return None
    return tables.target if tables.source is None else tables.source


def _plan(
    adapter: TaskAdapter, prepared: Prepared, model: nn.Module, device: torch.device, say: Say
) -> TrainingPlan:
    rows = prepared.rows
    train_set = adapter.encode(rows["train"], prepared, say, "train", to_train=True)
    tune_set = adapter.encode(rows["tune"], prepared, say, "held back")
    num_trained, num_tuned = adapter.num_trained(rows["train"], train_set), len(rows["tune"])
    say(f"{num_trained:,} {adapter.noun} to train on, {num_tuned:,} held back to tune by")
    train_set, tune_set = train_set.to(device), tune_set.to(device)
    if prepared.run.elmo is not None:
        train_set = read_contexts(train_set, model, say)
        tune_set = read_contexts(tune_set, model, lambda line: None)
    return adapter.plan(prepared, train_set, tune_set)


def _fitted_to_steps(prepared: Prepared, plan: TrainingPlan, say: Say) -> Prepared:
    """With the values that follow from the number of steps; all are said."""
    run, fit = prepared.fit.steps(prepared.run, len(plan.slots(0)))
    fit.tell(say)
    return replace(prepared, run=run, fit=fit)


def _finish(
    adapter: TaskAdapter,
    prepared: Prepared,
    trainer: Trainer,
    dev: Any,
    target: Path,
    warnings: list[str],
    say: Say,
) -> None:
    """Measure the best weights on dev and write the bundle."""
    run, task, model, state = prepared.run, prepared.task, trainer.bare, trainer.state
    best, _ = load_tensors(trainer.folder / BEST)
    model.load_state_dict(best)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    dev = dev.to(device)
    if run.elmo is not None:
        dev = read_words(dev, model)
    report = adapter.report(prepared, model, dev)
    found, learnt = check_end(adapter, prepared, state, report, say)
    metrics: dict[str, Any] = {
        "dev": report,
        "tune": {task.steers_by: state.best, "n": len(prepared.rows["tune"])},
        "training": {
            **state.facts(run.training.seed),
            "dev_rows_in_train": prepared.num_shared,
            "learnt": learnt,
            "warnings": [*warnings, *found],
            FITTED: prepared.fit.to_list(),
        },
    }
    base = None if run.elmo is None else base_of(model)
    weights = {
        name: value.cpu().numpy()
        for name, value in model.state_dict().items()
        if base is None or not name.startswith(PREFIX)  # a base is found by its name
    }
    card = task_card(prepared, adapter, metrics, name=target.name)
    source, records = prepared.source_pipeline, trainer.folder / RECORDS
    draw_curves(state.rows, f"tune_{task.steers_by}", records / "curves.png")
    write_bundle(
        target,
        config=BundleConfig(
            kind=adapter.kind,
            model={"name": run.model_name(), "config": config_of(model)},
            task=task.to_dict(),
            text=prepared.pipeline.config.to_dict(),
            library_version=__version__,
            base=None if base is None else base.name,
            base_fingerprint=None if base is None else base.fingerprint,
        ),
        tokenizer_json=prepared.pipeline.tokenizer.to_str(),
        source_tokenizer_json=None if source is None else source.tokenizer.to_str(),
        weights=weights,
        metrics=metrics,
        card=card if run.elmo is None else with_layers(card, layer_shares(weights)),
        records=records,
    )


TRAINERS: dict[type[AnyRun], Callable[[Any, RunOptions], Path]] = {
    Run: train_task,
    ElmoRun: partial(pretrain, ElmoPretraining()),
    BertRun: partial(pretrain, BertPretraining()),
    Word2VecRun: train_word2vec,
    FewLabelsRun: train_few_labels,
}
"""By the run's class: what trains it."""

"""Pretrain a BERT on raw text: learn pieces, number the documents, train, measure, leave a bundle.

As in `pretrain`, everything lies in `OUTPUT.partial` until the bundle is complete, the documents as
numbers among it.
"""

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from softquery import __version__
from softquery.bundle import RECORDS, BundleConfig, write_bundle
from softquery.data import (
    DocumentCorpus,
    DocumentText,
    MaskedText,
    document_fingerprint,
    is_document_corpus,
    read_documents,
    write_documents,
)
from softquery.errors import ConfigError, InputError
from softquery.files import open_text, read_lines
from softquery.models import Bert
from softquery.recipes.bert_card import bert_card
from softquery.recipes.bert_run import BertRun
from softquery.recipes.bert_start import BertStart, read_bert_start
from softquery.recipes.masked_plan import MaskedPlan
from softquery.recipes.places import check_places, kept_if_resumable, partial_folder
from softquery.recipes.records import clear_up, is_finished, note_settings
from softquery.recipes.text_source import TextSource, numbered_source, text_source
from softquery.recipes.work import Say
from softquery.runtime.network import build_encoder, config_of
from softquery.tasks import MaskedLanguageModel
from softquery.text import (
    TextPipeline,
    bert_vocabulary,
    build_pipeline,
    pipeline_from_pieces,
)
from softquery.training import (
    BEST,
    Fit,
    Fitted,
    Observer,
    draw_curves,
    launch,
    leave,
    load_tensors,
)

CORPUS = "corpus"
"""The folder with the numbered documents, inside that of the run."""
RESIDENT_SHARE = 0.25
"""Of a GPU's free memory that numbered text may take; more stays on the disk."""
TASK = MaskedLanguageModel()


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A run once its text has been numbered."""

    run: BertRun
    corpus: DocumentCorpus
    source: TextSource


def pretrain_bert(
    run: BertRun,
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
    """Pretrain a BERT and write its bundle; the arguments are those of `execute.train`."""
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
    source = _find_source(run, Path(data), rename)
    start = None if init is None else read_bert_start(init)
    if start is not None:
        run = start.shape(run, lines)
    _check_sizes(run)
    with kept_if_resumable(folder, lines) if fabric.is_global_zero else nullcontext():
        if fabric.is_global_zero:
            note_settings(folder, run.to_dict(), fingerprint=source.fingerprint, resume=resume)
            _number(run, source, folder / CORPUS, start, lines)
        fabric.barrier()
        settled = _settle(run, source, folder / CORPUS, start, lines)
        model = build_encoder(run.model_name(), asdict(settled.run.model))
        if start is not None:
            start.fill(model, lines)
        plan = _plan(settled, fabric, lines)
        fit = Fit(
            fabric,
            model,
            plan,
            loss=TASK.loss,
            optim=run.optim,
            schedule=run.schedule,
            training=run.training,
            folder=folder,
        )
        try:
            fitted = fit.run(observer, resume=resume)
        finally:
            with suppress(OSError):  # a full disk has been told of already
                fit.history.close()
        if fabric.is_global_zero:
            _finish(settled, model, plan, fitted, fit.progress.rows, folder, target)
            lines(f"bundle written: {target}")
    leave(fabric)
    return target


def _find_source(run: BertRun, folder: Path, rename: Mapping[str, str] | None) -> TextSource:
    if is_document_corpus(folder):
        return numbered_source(folder, document_fingerprint(folder))
    return text_source(folder, run.data.train, run.data.valid, rename)


def _check_sizes(run: BertRun) -> None:
    """Sizes that cannot be are told now, not after the text was read."""
    longest = run.model.max_length
    for name in ("length", "long_length")[: 2 if run.data.long_share else 1]:
        if getattr(run.data, name) > longest:
            raise ConfigError(
                f"data.{name} ({getattr(run.data, name)}) must be at most model.max_length "
                f"({longest})"
            )
    with torch.device("meta"):
        build_encoder(run.model_name(), asdict(replace(run.model, vocab_size=run.pieces.size)))


def _number(
    run: BertRun, source: TextSource, folder: Path, start: BertStart | None, say: Say
) -> None:
    """Turn the text into numbers of pieces, unless that has been done."""
    if folder.exists() or source.is_numbered:
        return
    count = len(source.train)
    files = f"{count} file{'s' * (count != 1)} of training text"
    if start is not None:
        pipeline = start.pipeline
    elif run.pieces.given:
        pipeline = _given_pipeline(run)
    else:
        say(f"learning up to {run.pieces.size:,} pieces from {files}")
        pipeline = build_pipeline(
            (line.text for line in read_lines(source.train, rename=source.rename)),
            replace(run.text, max_tokens=run.model.max_length),
            vocab_size=run.pieces.size,
            min_count=run.pieces.min_count,
        )
    say(f"numbering {files}")
    splits = {"train": source.train, "valid": source.valid}
    write_documents(
        folder,
        pipeline,
        {
            split: lambda paths=paths: read_lines(paths, rename=source.rename)  # type: ignore[misc]
            for split, paths in splits.items()
        },
        source=source.folder,
    )


def _given_pipeline(run: BertRun) -> TextPipeline:
    with open_text(run.pieces.given) as lines:
        pieces = list(lines)
    try:
        return pipeline_from_pieces(pieces, replace(run.text, max_tokens=run.model.max_length))
    except ConfigError as error:
        raise InputError(str(error), source=run.pieces.given) from None


def _settle(
    run: BertRun, source: TextSource, folder: Path, start: BertStart | None, say: Say
) -> Settled:
    """The run with the sizes that follow from the text, and with a pooler only if it learns."""
    corpus = read_documents(source.folder if source.is_numbered else folder)
    entries = bert_vocabulary(corpus.pipeline.tokenizer)
    # A corpus may have been numbered before, by another vocabulary.
    if start is not None and entries != bert_vocabulary(start.pipeline.tokenizer):
        raise InputError(
            f"is numbered otherwise than {start.bundle.path}; give the text itself",
            source=source.folder,
        )
    size = len(entries) if start is None else run.model.vocab_size
    say(f"{size:,} pieces; {corpus.totals['train']:,} of them make up the training text")
    model = replace(run.model, vocab_size=size, pooler=run.has_pairs)
    return Settled(run=replace(run, model=model), corpus=corpus, source=source)


def _plan(settled: Settled, fabric: Fabric, say: Say) -> MaskedPlan:
    run, pipeline = settled.run, settled.corpus.pipeline
    whole = _resident(settled.corpus.documents("train"), fabric.device)
    train, tune = whole.parted(run.data.tune_share)
    plan = MaskedPlan(
        text=MaskedText.of(whole.ids, pipeline, run.masking, device=fabric.device),
        train=train,
        tune=tune,
        files=run.data,
        pairs=run.has_pairs,
        training=run.training,
    )
    if any(not plan.slots(epoch) for epoch in range(run.data.rounds)):
        raise InputError(
            f"{train.num_pieces:,} pieces are too few to cut excerpts from; lower data.rounds",
            source=settled.source.folder,
        )
    say(f"{train.num_pieces:,} pieces to train on, {tune.num_pieces:,} held back to steer by")
    return plan


def _resident(documents: DocumentText, device: torch.device) -> DocumentText:
    """The text mapped from the disk, or on the GPU where it takes a small part of it."""
    if device.type != "cuda":
        return documents
    size = documents.ids.numel() * documents.ids.element_size()
    if size > RESIDENT_SHARE * torch.cuda.mem_get_info(device)[0]:
        return documents
    return replace(documents, ids=documents.ids.to(device))


def _finish(
    settled: Settled,
    model: Bert,
    plan: MaskedPlan,
    fitted: Fitted,
    rows: list[dict[str, float]],
    folder: Path,
    target: Path,
) -> None:
    """Measure the best weights on `valid` and write the bundle."""
    best, measured = load_tensors(folder / BEST)
    model.load_state_dict(best)
    run = settled.run
    valid = _resident(settled.corpus.documents("valid"), next(model.parameters()).device)
    report: dict[str, Any] = plan.scores(model, valid, run.data.length).report()
    if run.data.long_share:
        report["long"] = plan.scores(model, valid, run.data.long_length).report()
    metrics = {
        "dev": {**report, "vocabulary": run.model.vocab_size, "length": run.data.length},
        "tune": {name.removeprefix("tune_"): value for name, value in measured.items()},
        "training": {
            "epochs": fitted.num_epochs,
            "best_epoch": fitted.best_epoch + 1,
            "steps": fitted.num_steps,
            "seconds": round(fitted.seconds, 1),
            "seed": run.training.seed,
            "pieces": settled.corpus.totals["train"],
        },
    }
    draw_curves(rows, "tune_mlm_loss", folder / RECORDS / "curves.png")
    config, weights = _kept(run, model)
    pipeline = settled.corpus.pipeline
    write_bundle(
        target,
        config=BundleConfig(
            kind="encoder",
            model={"name": run.model_name(), "config": config},
            task=TASK.to_dict(),
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=weights,
        metrics=metrics,
        card=bert_card(run, metrics, name=target.name),
        records=folder / RECORDS,
    )
    clear_up(folder, target)


def _kept(run: BertRun, model: Bert) -> tuple[dict[str, Any], dict[str, Any]]:
    """Config and weights for the bundle, with the heads or without them."""
    config = config_of(model)
    weights = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
    if run.kept == "all":
        return config, weights
    heads = ("word_head.", "next_head.")
    kept = {name: value for name, value in weights.items() if not name.startswith(heads)}
    return {**config, "heads": "none"}, kept

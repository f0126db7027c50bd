"""Train a language model on raw text: number the words, train, measure, and leave a bundle.

As in `execute`, everything lies in `OUTPUT.partial` until the bundle is complete, the corpus as
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
    Corpus,
    Streams,
    corpus_fingerprint,
    is_corpus,
    read_corpus,
    write_corpus,
)
from softquery.errors import InputError
from softquery.files import read_texts
from softquery.models import Elmo
from softquery.recipes.language_card import language_card
from softquery.recipes.language_run import LanguageRun
from softquery.recipes.language_start import LanguageStart, read_language_start
from softquery.recipes.places import check_places, kept_if_resumable, partial_folder
from softquery.recipes.records import clear_up, is_finished, note_settings
from softquery.recipes.stream_plan import StreamMemory, StreamPlan
from softquery.recipes.text_source import TextSource, numbered_source, text_source
from softquery.recipes.work import Say
from softquery.runtime.network import build_embedder, config_of
from softquery.runtime.perplexity import text_likelihood
from softquery.tasks import LanguageModel
from softquery.text import TextPipeline, pipeline_from_words, spell_vocabulary
from softquery.training import (
    BEST,
    Fit,
    Fitted,
    Observer,
    Training,
    draw_curves,
    launch,
    leave,
    load_tensors,
)

CORPUS = "corpus"
"""The folder with the numbered text, inside that of the run."""
RESIDENT_SHARE = 0.25
"""Of a GPU's free memory that numbered text may take; more stays on the disk."""
MEASURED_STREAMS = 128
"""Streams in which the text of `valid` is measured at most."""
TYPES_MULTIPLE = {"cpu": 8, "cuda": 256}
"""Distinct types of a batch are filled up to it; on a GPU, each shape is recorded."""
TASK = LanguageModel()


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A run once its text has been numbered."""

    run: LanguageRun
    corpus: Corpus
    pipeline: TextPipeline
    """With the vocabulary that is predicted."""
    source: TextSource


def pretrain(
    run: LanguageRun,
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
    """Train a language model and write its bundle; the arguments are those of `execute.train`."""
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
    start = None if init is None else read_language_start(init)
    if start is not None:
        run = start.shape(run, lines)
    with torch.device("meta"):  # sizes that cannot be are told now, not after the text was read
        build_embedder(run.model_name(), asdict(run.model))
    with kept_if_resumable(folder, lines) if fabric.is_global_zero else nullcontext():
        if fabric.is_global_zero:
            note_settings(folder, run.to_dict(), fingerprint=source.fingerprint, resume=resume)
            _number(run, source, folder / CORPUS, start, lines)
        fabric.barrier()
        corpus = read_corpus(source.folder if source.is_numbered else folder / CORPUS)
        settled = _settle(run, source, corpus, start, lines)
        model = _build(settled, start, lines)
        fit = Fit(
            fabric,
            model,
            _plan(settled, model.to(fabric.device), fabric, lines),
            loss=TASK.loss,
            optim=run.optim,
            schedule=run.schedule,
            training=_recordable(run),
            folder=folder,
        )
        try:
            fitted = fit.run(observer, resume=resume)
        finally:
            with suppress(OSError):  # a full disk has been told of already
                fit.history.close()
        if fabric.is_global_zero:
            _finish(settled, model, fitted, fit.progress.rows, folder, target, lines)
    leave(fabric)
    return target


def _find_source(run: LanguageRun, folder: Path, rename: Mapping[str, str] | None) -> TextSource:
    if is_corpus(folder):
        return numbered_source(folder, corpus_fingerprint(folder))
    return text_source(folder, run.data.train, run.data.valid, rename)


def _number(
    run: LanguageRun, source: TextSource, folder: Path, start: LanguageStart | None, say: Say
) -> None:
    """Turn the text into numbers, unless that has been done."""
    if folder.exists() or source.is_numbered:
        return
    count = len(source.train)
    say(f"reading {count} file{'s' * (count != 1)} of training text, twice")
    write_corpus(
        folder,
        train=lambda: read_texts(source.train, rename=source.rename),
        valid=lambda: read_texts(source.valid, rename=source.rename),
        config=run.text,
        known=[] if start is None else start.vocabulary,
        max_characters=run.model.characters.max_characters,
        source=source.folder,
    )


def _settle(
    run: LanguageRun, source: TextSource, corpus: Corpus, start: LanguageStart | None, say: Say
) -> Settled:
    """Decide which words are predicted."""
    if start is not None and start.vocabulary:
        if corpus.types[: len(start.vocabulary)] != start.vocabulary:  # numbered without --init
            raise InputError(
                f"is numbered otherwise than {start.bundle.path}; give the text itself",
                source=source.folder,
            )
        size, origin = len(start.vocabulary), f", those of {start.bundle.path}"
    else:
        size = corpus.known(size=run.targets.size, min_count=run.targets.min_count)
        origin = f" of {len(corpus.types):,}"
    total = int(corpus.counts.sum())
    unknown = int(corpus.counts[size:].sum())
    say(f"predicted: {size:,} words{origin}; {unknown / total:.2%} of the text is beyond them")
    model = replace(run.model, vocab_size=size)
    pipeline = pipeline_from_words(corpus.types[:size], run.text)
    return Settled(run=replace(run, model=model), corpus=corpus, pipeline=pipeline, source=source)


def _build(settled: Settled, start: LanguageStart | None, say: Say) -> Elmo:
    run = settled.run
    model = build_embedder(run.model_name(), asdict(run.model))
    entries = settled.pipeline.vocabulary()
    model.spell(torch.from_numpy(spell_vocabulary(entries, run.model.characters.max_characters)))
    if run.model.softmax.sampler == "unigram":
        model.set_noise(torch.from_numpy(settled.corpus.counts[: len(entries)]).float())
    if start is not None:
        start.fill(model, say)
    return model


def _plan(settled: Settled, model: Elmo, fabric: Fabric, say: Say) -> StreamPlan:
    files = settled.run.data
    whole = _streams(settled, "train", fabric.device)
    num_held = max(2, round(files.tune_share * len(whole.forwards)))
    num_kept = len(whole.forwards) - num_held
    train = whole.part(0, num_kept, num_streams=files.num_streams).cropped(
        widest=max(settled.run.model.characters.widths),
        multiple=TYPES_MULTIPLE[fabric.device.type],
    )
    if train.num_steps(files.unroll) < files.rounds:
        needed = files.num_streams * (files.rounds * files.unroll + 1)
        raise InputError(
            f"{max(0, num_kept):,} words are too few for {files.num_streams} streams of "
            f"{files.unroll} words ({needed:,}); lower data.num_streams or data.unroll",
            source=settled.source.folder,
        )
    say(f"{num_kept:,} words to train on, {num_held:,} held back to steer by")
    tune_streams = _num_measured(num_held, files.num_streams)
    memory = StreamMemory(
        model.initial_state(files.num_streams),
        rounds=files.rounds,
        is_first=fabric.is_global_zero,
    )
    return StreamPlan(
        train=train,
        tune=whole.part(num_kept, num_kept + num_held, num_streams=tune_streams),
        memory=memory,
        unroll=files.unroll,
        rounds=files.rounds,
        fresh_share=files.fresh_share,
    )


def _recordable(run: LanguageRun) -> Training:
    """Two kinds of softmax choose by content what they compute, which no recording can."""
    if run.model.softmax.kind in ("adaptive", "characters"):
        return replace(run.training, graphs="off")
    return run.training


def _num_measured(num_words: int, most: int) -> int:
    """So many streams that each has some hundred words to warm up in."""
    return max(1, min(most, num_words // 500))


def _streams(settled: Settled, split: str, device: torch.device) -> Streams:
    """A split mapped from the disk, or on the GPU where it takes a small part of it."""
    model = settled.run.model
    streams = settled.corpus.streams(split, vocab_size=model.vocab_size, num_streams=1)
    if device.type != "cuda":
        return streams
    streams = replace(streams, characters=streams.characters.to(device))
    size = 2 * streams.forwards.numel() * streams.forwards.element_size()
    if size > RESIDENT_SHARE * torch.cuda.mem_get_info(device)[0]:
        return streams
    return replace(
        streams, forwards=streams.forwards.to(device), backwards=streams.backwards.to(device)
    )


def _finish(
    settled: Settled,
    model: Elmo,
    fitted: Fitted,
    rows: list[dict[str, float]],
    folder: Path,
    target: Path,
    say: Say,
) -> None:
    """Measure the best weights on `valid` and write the bundle."""
    best, measured = load_tensors(folder / BEST)
    model.load_state_dict(best)
    valid = _streams(settled, "valid", next(model.parameters()).device)
    count = _num_measured(len(valid.forwards), MEASURED_STREAMS)
    found = text_likelihood(model, replace(valid, num_streams=count))
    metrics: dict[str, Any] = {
        "dev": {**found.report(), "vocabulary": settled.run.model.vocab_size, "streams": count},
        "tune": {name.removeprefix("tune_"): value for name, value in measured.items()},
        "training": {
            "epochs": fitted.num_epochs,
            "best_epoch": fitted.best_epoch + 1,
            "steps": fitted.num_steps,
            "seconds": round(fitted.seconds, 1),
            "seed": settled.run.training.seed,
            "words": int(settled.corpus.counts.sum()),
        },
    }
    draw_curves(rows, "tune_perplexity", folder / RECORDS / "curves.png")
    write_bundle(
        target,
        config=BundleConfig(
            kind="embedder",
            model={"name": settled.run.model_name(), "config": config_of(model)},
            task=TASK.to_dict(),
            text=settled.pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=settled.pipeline.tokenizer.to_str(),
        weights={name: value.cpu().numpy() for name, value in model.state_dict().items()},
        metrics=metrics,
        card=language_card(settled.run, metrics, name=target.name),
        records=folder / RECORDS,
    )
    clear_up(folder, target)
    say(f"bundle written: {target}")

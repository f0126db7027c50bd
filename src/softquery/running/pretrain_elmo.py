"""Pretrain a language model: number the words of a text, and foretell each from those beside it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from softquery.data import Corpus, Streams, corpus_fingerprint, is_corpus, read_corpus, write_corpus
from softquery.errors import InputError, counted
from softquery.files import read_texts
from softquery.models import Elmo
from softquery.recipes.elmo_run import ElmoRun
from softquery.running.adapter import Say
from softquery.running.elmo_card import elmo_card
from softquery.running.elmo_start import ElmoStart, read_elmo_start
from softquery.running.pretrain import fits_on
from softquery.running.session import Session
from softquery.running.stream_plan import StreamMemory, StreamPlan
from softquery.running.text_source import TextSource
from softquery.runtime.embed.evaluate import text_likelihood
from softquery.runtime.torch_models import build_embedder, config_of
from softquery.tasks import LanguageModel
from softquery.text import TextPipeline, pipeline_from_words, spell_vocabulary
from softquery.training import Training

MEASURED_STREAMS = 128
"""Streams in which the text of `valid` is measured at most."""
TYPES_MULTIPLE = {"cpu": 8, "cuda": 256}
"""Distinct types of a batch are filled up to it; on a GPU, each shape is recorded."""


@dataclass(frozen=True, kw_only=True)
class ElmoLearner:
    """A language model and its text; see `softquery.running.pretrain.Learner`."""

    run: ElmoRun
    corpus: Corpus
    pipeline: TextPipeline
    """With the vocabulary that is predicted."""
    model: Elmo
    plan: StreamPlan

    @property
    def training(self) -> Training:
        """Two kinds of softmax choose by content what they compute, which no recording can."""
        if self.run.model.softmax.kind in ("adaptive", "characters"):
            return replace(self.run.training, graphs="off")
        return self.run.training

    @property
    def amount(self) -> dict[str, int]:
        """The words of the training text."""
        return {"words": int(self.corpus.counts.sum())}

    def measured(self) -> dict[str, Any]:
        """Perplexity of `valid`."""
        size, device = self.run.model.vocab_size, next(self.model.parameters()).device
        valid = _streams(self.corpus, "valid", size, device)
        count = _num_measured(len(valid.forwards), MEASURED_STREAMS)
        found = text_likelihood(self.model, replace(valid, num_streams=count))
        return {**found.report(), "vocabulary": size, "streams": count}

    def stored(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """All of the model."""
        return config_of(self.model), self.model.state_dict()

    def card(self, metrics: Mapping[str, Any], name: str) -> str:
        """What the bundle says of itself."""
        return elmo_card(self.run, metrics, name=name)


class ElmoPretraining:
    """Words foretold from their neighbours; see `softquery.running.pretrain.Pretraining`."""

    kind: ClassVar[str] = "embedder"
    curve: ClassVar[str] = "tune_perplexity"
    task: ClassVar[LanguageModel] = LanguageModel()

    def mark(self, folder: Path) -> str | None:
        """The fingerprint of a numbered corpus."""
        return corpus_fingerprint(folder) if is_corpus(folder) else None

    def begin(self, run: ElmoRun, init: str | PathLike[str], say: Say) -> tuple[ElmoRun, ElmoStart]:
        """Start from a biLM."""
        start = read_elmo_start(init)
        return start.shape(run, say), start

    def check(self, run: ElmoRun) -> None:
        """Build it without memory."""
        with torch.device("meta"):
            build_embedder(run.model_name(), asdict(run.model))

    def number(
        self,
        run: ElmoRun,
        source: TextSource,
        folder: Path,
        start: ElmoStart | None,
        say: Say,
    ) -> None:
        """Write the text as numbers of its words."""
        say(f"reading {source.shown}, twice")
        write_corpus(
            folder,
            train=lambda: read_texts(source.train, rename=source.rename),
            valid=lambda: read_texts(source.valid, rename=source.rename),
            config=run.text,
            known=[] if start is None else start.vocabulary,
            max_characters=run.model.characters.max_characters,
            source=source.folder,
        )

    def settle(
        self,
        run: ElmoRun,
        source: TextSource,
        numbers: Path,
        start: ElmoStart | None,
        stage: Session,
    ) -> ElmoLearner:
        """Decide which words are predicted, and build what does it."""
        corpus = read_corpus(numbers)
        size = _num_predicted(run, source, corpus, start, stage.say)
        run = replace(run, model=replace(run.model, vocab_size=size))
        pipeline = pipeline_from_words(corpus.types[:size], run.text)
        model = _build(run, corpus, pipeline.vocabulary(), start, stage.say)
        model.to(stage.fabric.device)
        plan = _plan(run, corpus, source, model, stage)
        return ElmoLearner(run=run, corpus=corpus, pipeline=pipeline, model=model, plan=plan)


def _num_predicted(
    run: ElmoRun, source: TextSource, corpus: Corpus, start: ElmoStart | None, say: Say
) -> int:
    """How many words are predicted, the most frequent ones or those of the start."""
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
    return size


def _build(
    run: ElmoRun, corpus: Corpus, entries: list[str], start: ElmoStart | None, say: Say
) -> Elmo:
    model = build_embedder(run.model_name(), asdict(run.model))
    model.spell(torch.from_numpy(spell_vocabulary(entries, run.model.characters.max_characters)))
    if run.model.softmax.sampler == "unigram":
        model.set_noise(torch.from_numpy(corpus.counts[: len(entries)]).float())
    if start is not None:
        start.fill(model, say)
    return model


def _plan(
    run: ElmoRun, corpus: Corpus, source: TextSource, model: Elmo, stage: Session
) -> StreamPlan:
    files, device = run.data, stage.fabric.device
    whole = _streams(corpus, "train", run.model.vocab_size, device)
    num_held = max(2, round(files.tune_share * len(whole.forwards)))
    num_kept = len(whole.forwards) - num_held
    train = whole.part(0, num_kept, num_streams=files.num_streams).cropped(
        widest=max(run.model.characters.widths),
        multiple=TYPES_MULTIPLE[device.type],
    )
    if train.num_steps(files.unroll) < files.rounds:
        needed = files.num_streams * (files.rounds * files.unroll + 1)
        raise InputError(
            f"{counted(max(0, num_kept), 'word is', 'words are')} too few for "
            f"{counted(files.num_streams, 'stream')} of {counted(files.unroll, 'word')} "
            f"({needed:,}); lower data.num_streams or data.unroll",
            source=source.folder,
        )
    stage.say(f"{counted(num_kept, 'word')} to train on, {num_held:,} held back to steer by")
    tune_streams = _num_measured(num_held, files.num_streams)
    state = model.initial_state(files.num_streams)
    return StreamPlan(
        train=train,
        tune=whole.part(num_kept, num_kept + num_held, num_streams=tune_streams),
        memory=StreamMemory(state, rounds=files.rounds, is_first=stage.is_first),
        unroll=files.unroll,
        rounds=files.rounds,
        fresh_share=files.fresh_share,
    )


def _num_measured(num_words: int, most: int) -> int:
    """So many streams that each has some hundred words to warm up in."""
    return max(1, min(most, num_words // 500))


def _streams(corpus: Corpus, split: str, vocab_size: int, device: torch.device) -> Streams:
    """A split mapped from the disk, or on the GPU where it takes a small part of it."""
    streams = corpus.streams(split, vocab_size=vocab_size, num_streams=1)
    if device.type != "cuda":
        return streams
    streams = replace(streams, characters=streams.characters.to(device))
    if not fits_on(device, [streams.forwards, streams.backwards]):
        return streams
    return replace(
        streams, forwards=streams.forwards.to(device), backwards=streams.backwards.to(device)
    )

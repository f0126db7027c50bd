"""Pretrain a language model: predict each word of a text from those before and after it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from lightning_fabric import Fabric
from torch import Tensor, nn

from softquery.data import (
    Corpus,
    Slot,
    StreamBatch,
    Streams,
    StreamSlots,
    corpus_fingerprint,
    is_corpus,
    read_corpus,
    write_corpus,
)
from softquery.errors import ConfigError, InputError, counted
from softquery.files import read_texts
from softquery.models import REGISTRY, BiLmState, Elmo, LanguageModelOutput, SoftmaxConfig
from softquery.nn import LstmState
from softquery.recipes import ElmoRun
from softquery.running.adapter import check_finite
from softquery.running.pretrain import TextSource, fits_on
from softquery.running.run_card import elmo_card
from softquery.running.run_options import Say
from softquery.running.start import Start, differing, read_pretrained, take_weights
from softquery.runtime.embed.evaluate import text_likelihood
from softquery.runtime.torch_models import build_embedder, config_of
from softquery.tasks import LanguageModel
from softquery.text import TextPipeline, pipeline_from_words, spell_vocabulary
from softquery.training import Training, TrainingPlan

MEASURED_STREAMS = 128
"""Streams in which the text of `valid` is measured at most."""
SAME_WEIGHTS = {"full", "sampled"}
"""Kinds of softmax that can go on from each other."""
TYPES_MULTIPLE = {"cpu": 8, "cuda": 256}
"""Distinct types of a batch are filled up to it; on a GPU, each shape is recorded."""


class StreamMemory:
    """The state of every stream between two steps; zeros at the beginning of the text.

    Args:
        state: Zeros for all streams.
        rounds: Epochs in which the text is read once.
        is_first: Whether this process speaks for streams that none has read since a resumption.
    """

    def __init__(self, state: BiLmState, *, rounds: int, is_first: bool = True) -> None:
        self._state = {
            f"{way}.{name}": getattr(getattr(state, way), name)
            for way in BiLmState._fields
            for name in LstmState._fields
        }
        self._rounds, self._is_first = rounds, is_first
        device = state.forwards.hidden.device
        self._owned = torch.zeros(state.forwards.hidden.shape[1], dtype=torch.bool, device=device)
        self._restored = False

    def begin(self, epoch: int) -> None:
        """Forget everything where the text begins anew."""
        if epoch % self._rounds == 0:
            for values in self._state.values():
                values.zero_()

    def of(self, streams: Tensor) -> BiLmState:
        """The state of some streams."""
        ways = [
            LstmState(*(self._state[f"{way}.{name}"][:, streams] for name in LstmState._fields))
            for way in BiLmState._fields
        ]
        return BiLmState(*ways)

    @torch.no_grad()
    def keep(self, output: LanguageModelOutput, batch: StreamBatch) -> None:
        """Put aside the state that the batch's streams ended in."""
        if output.state is None:
            raise ValueError("a model without a state has nothing to carry on")
        if self._restored:  # from now on, each process speaks for what it reads
            self._owned.zero_()
            self._restored = False
        self._owned.index_fill_(0, batch.streams, True)  # a recording takes no scalar otherwise
        for name, values in self._state.items():
            way, part = name.split(".")
            found = getattr(getattr(output.state, way), part).detach()
            values[:, batch.streams] = found.to(values.dtype)

    def tensors(self) -> dict[str, Tensor]:
        """This process's share, zeros for the streams of others."""
        owned = self._owned.view(1, -1, 1)
        return {name: values * owned for name, values in self._state.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the states of all streams."""
        for name, values in self._state.items():
            values.copy_(tensors[name])
        self._owned.fill_(self._is_first)
        self._restored = True


def scattered(places: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
    """Numbers in [0, 1) that follow from places in the text, whichever process reads them.

    >>> share = scattered(torch.arange(20_000)) < 0.1
    >>> 0.09 < share.double().mean() < 0.11
    tensor(True)
    """
    for factor in (2654435761, 0x45D9F3B, 0x45D9F3B):
        places = places * factor & 0xFFFFFFFF
        places = places ^ places >> 16
    return places.double() / 2**32


@dataclass(frozen=True, kw_only=True)
class StreamBatches:
    """Windows of streams in reading order, with a state carried along; and the tune set."""

    train: Streams
    tune: Streams
    memory: StreamMemory
    unroll: int
    rounds: int
    """Epochs that make a pass over the text."""
    fresh_share: float = 0.0
    """Streams that begin anew at each window, on average: a model learns to set out from zero."""

    def plan(self) -> TrainingPlan:
        """These batches as the training loop takes them."""
        return TrainingPlan(
            slots=self.slots,
            make_batch=self.make_batch,
            measure=self.measure,
            num_tokens=self.num_tokens,
            memory=self.memory,
            shaped_by_content=True,
        )

    def slots(self, epoch: int) -> Sequence[Slot]:
        """The windows of one epoch: a pass over the text, or one of the rounds it is cut into."""
        count = self.train.num_steps(self.unroll) // self.rounds
        return StreamSlots(self.train, epoch % self.rounds * count, count, self.unroll)

    def num_tokens(self, slot: Slot) -> int:
        """Words that a step reads, in each direction."""
        return len(slot.rows) * slot.length

    def make_batch(self, rows: Tensor, length: int) -> StreamBatch:
        """The windows at these places, with the state that was carried to them."""
        batch = self.train.batch(rows, length)
        state = self.memory.of(batch.streams)
        if self.fresh_share:
            goes_on = (scattered(rows) >= self.fresh_share).unsqueeze(-1)
            state = BiLmState(*(LstmState(*(v * goes_on for v in way)) for way in state))
        return batch._replace(state=state)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Log-likelihood of a held-back word, which steers, and perplexities."""
        if not isinstance(model, Elmo):
            raise TypeError(f"expected an Elmo, got {type(model).__name__}")
        found = text_likelihood(model, self.tune)
        check_finite(found.is_finite)
        report = found.report()
        shown = ("perplexity", "perplexity_forwards", "perplexity_backwards")
        return {"tune_log_likelihood": found.mean, **{f"tune_{n}": report[n] for n in shown}}


@dataclass(frozen=True, kw_only=True)
class ElmoLearner:
    """A language model and its text; see `softquery.running.pretrain.Learner`."""

    curve: ClassVar[str] = "tune_perplexity"
    task: ClassVar[LanguageModel] = LanguageModel()
    run: ElmoRun
    corpus: Corpus
    pipeline: TextPipeline
    """With the vocabulary that is predicted."""
    model: Elmo
    plan: TrainingPlan

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
    """Words predicted from their neighbours; see `softquery.running.pretrain.Pretraining`."""

    kind: ClassVar[str] = "embedder"

    def mark(self, folder: Path) -> str | None:
        """The fingerprint of a numbered corpus."""
        return corpus_fingerprint(folder) if is_corpus(folder) else None

    def begin(self, run: ElmoRun, init: str | PathLike[str], say: Say) -> tuple[ElmoRun, Start]:
        """Start from a biLM."""
        start = read_pretrained(init, "elmo", " to start from")
        given = replace(start.model.config, softmax=_softmax(run, start.model))
        taken = differing(run.model, given, (*REGISTRY["elmo"].structure, "softmax"))
        if taken:
            say(f"as in the bundle that is started from: {', '.join(taken)}")
        model = replace(run.model, **taken)
        return replace(run, model=model, text=start.pipeline.config), start

    def check(self, run: ElmoRun) -> None:
        """Build it without memory."""
        with torch.device("meta"):
            build_embedder(run.model_name(), asdict(run.model))

    def number(
        self,
        run: ElmoRun,
        source: TextSource,
        folder: Path,
        start: Start | None,
        say: Say,
    ) -> None:
        """Write the text as the ids of its words."""
        say(f"reading {source.shown}, twice")
        write_corpus(
            folder,
            train=lambda: read_texts(source.train, rename=source.rename),
            valid=lambda: read_texts(source.valid, rename=source.rename),
            config=run.text,
            known=[] if start is None else _predicted(start),
            max_characters=run.model.characters.max_characters,
            source=source.folder,
        )

    def settle(
        self,
        run: ElmoRun,
        source: TextSource,
        numbers: Path,
        start: Start | None,
        fabric: Fabric,
        say: Say,
    ) -> ElmoLearner:
        """Decide which words are predicted, and build what does it."""
        corpus = read_corpus(numbers)
        size = _num_predicted(run, source, corpus, start, say)
        sizes = replace(run.model, vocab_size=size)
        if sizes.reads == "words" and not sizes.num_words:
            sizes = replace(sizes, num_words=size)
        run = replace(run, model=sizes)
        pipeline = pipeline_from_words(corpus.types[:size], run.text)
        model = _build(run, corpus, pipeline.vocabulary(), start, say)
        model.to(fabric.device)
        plan = _batches(run, corpus, source, model, fabric, say).plan()
        return ElmoLearner(run=run, corpus=corpus, pipeline=pipeline, model=model, plan=plan)


def _num_predicted(
    run: ElmoRun, source: TextSource, corpus: Corpus, start: Start | None, say: Say
) -> int:
    """How many words are predicted, the most frequent ones or those of the start."""
    known = [] if start is None else _predicted(start)
    if start is not None and known:
        if corpus.types[: len(known)] != known:  # numbered without --init
            raise InputError(
                f"is numbered differently from {start.bundle.path}; give the text itself",
                source=source.folder,
            )
        size, origin = len(known), f", those of {start.bundle.path}"
    else:
        size = corpus.known(size=run.targets.size, min_count=run.targets.min_count)
        origin = f" of {len(corpus.types):,}"
    total = int(corpus.counts.sum())
    unknown = int(corpus.counts[size:].sum())
    say(f"predicted: {size:,} words{origin}; {unknown / total:.2%} of the text is beyond them")
    return size


def _build(run: ElmoRun, corpus: Corpus, entries: list[str], start: Start | None, say: Say) -> Elmo:
    model = build_embedder(run.model_name(), asdict(run.model))
    model.spell(torch.from_numpy(spell_vocabulary(entries, run.model.characters.max_characters)))
    if run.model.softmax.sampler == "unigram":
        model.set_noise(torch.from_numpy(corpus.counts[: len(entries)]).float())
    if start is not None:
        own, given = model.state_dict(), start.model.state_dict()
        if misfit := sorted(name for name in given if own[name].shape != given[name].shape):
            raise ConfigError(f"--init: {misfit[0]} of the bundle does not fit this run")
        take_weights(model, given, say)
    return model


def _predicted(start: Start) -> list[str]:
    """The words that a bundle's biLM predicts; none where it came without a softmax."""
    return [] if start.model.softmax is None else start.pipeline.vocabulary()


def _softmax(run: ElmoRun, model: Elmo) -> SoftmaxConfig:
    """The bundle's kind of softmax; how it is learnt stays the run's own."""
    given, asked = model.config.softmax, run.model.softmax
    if model.softmax is None or {given.kind, asked.kind} <= SAME_WEIGHTS:
        return asked
    return replace(
        asked, kind=given.kind, cutoffs=given.cutoffs, correction_size=given.correction_size
    )


def _batches(
    run: ElmoRun, corpus: Corpus, source: TextSource, model: Elmo, fabric: Fabric, say: Say
) -> StreamBatches:
    files, device = run.data, fabric.device
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
    say(f"{counted(num_kept, 'word')} to train on, {num_held:,} held back to steer by")
    tune_streams = _num_measured(num_held, files.num_streams)
    state = model.initial_state(files.num_streams)
    return StreamBatches(
        train=train,
        tune=whole.part(num_kept, num_kept + num_held, num_streams=tune_streams),
        memory=StreamMemory(state, rounds=files.rounds, is_first=fabric.is_global_zero),
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

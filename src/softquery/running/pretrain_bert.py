"""Pretrain a BERT: learn pieces, cut documents into them, and predict what was hidden."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from softquery.data import (
    DocumentCorpus,
    DocumentText,
    MaskedBatch,
    MaskedText,
    Masking,
    Slot,
    bin_rows,
    bin_slots,
    document_fingerprint,
    is_document_corpus,
    read_documents,
    write_documents,
)
from softquery.errors import ConfigError, InputError, counted
from softquery.files import open_text, read_lines
from softquery.models import REGISTRY, Bert
from softquery.recipes import BertRun, DocumentFiles
from softquery.running.adapter import check_finite
from softquery.running.pretrain import TextSource, fits_on
from softquery.running.run_card import bert_card
from softquery.running.run_options import Say
from softquery.running.start import Start, differing, read_pretrained, take_weights
from softquery.runtime.embed.evaluate import masked_scores, measured_slots
from softquery.runtime.torch_models import build_encoder, config_of
from softquery.tasks import MaskedLanguageModel, MaskedScores
from softquery.text import (
    TextConfig,
    TextPipeline,
    bert_vocabulary,
    build_pipeline,
    pipeline_from_pieces,
)
from softquery.training import Training, TrainingPlan

HEADS = ("word_head.", "next_head.")


@dataclass(kw_only=True)
class MaskedBatches:
    """Excerpts of documents, drawn anew each epoch, short ones first; and the tune set."""

    text: MaskedText
    train: DocumentText
    tune: DocumentText
    files: DocumentFiles
    pairs: bool
    """Whether sequences are pairs of texts."""
    training: Training
    """For the seed, and for when long sequences begin."""
    _kept: dict[tuple[int, int], list[Slot]] = field(default_factory=dict)

    @property
    def shaped_by_content(self) -> bool:
        """Whether no recording can make the batches: where the text stays on the disk."""
        return self.text.ids.device != self.text.ordinary.device

    def plan(self) -> TrainingPlan:
        """These batches as the training loop takes them."""
        return TrainingPlan(
            slots=self.slots,
            make_batch=self.make_batch,
            measure=self.measure,
            num_tokens=self.num_tokens,
            shaped_by_content=self.shaped_by_content,
        )

    def slots(self, epoch: int) -> list[Slot]:
        """The batches of one epoch: short sequences, and from some step on long ones.

        Attention to all tokens grows with the square of the length, so that most of the time goes
        to short ones (Section A.2). An epoch is a pass over the text, or one of the rounds that the
        pass is cut into; every epoch has as many steps as the first.
        """
        count = len(self._cut(0, self.files.length))
        num_short = min(max(0, self._num_short_steps(count) - epoch * count), count)
        found = _times(self._cut(epoch, self.files.length), count)[:num_short]
        if num_short < count:
            found += _times(self._cut(epoch, self.files.long_length), count)[num_short:]
        return found

    def num_tokens(self, slot: Slot) -> int:
        """Tokens that a step reads, the little padding included."""
        return len(slot.rows) * slot.length

    def make_batch(self, rows: Tensor, length: int) -> MaskedBatch:
        """The bins that these rows describe, with words hidden."""
        return self.text.batch(rows, length)

    def measure(self, model: nn.Module) -> dict[str, float]:
        """Log-likelihood of a hidden word, which steers, and each objective's measures.

        Where long sequences are learnt, they count as much as short ones: else the best weights
        would be those from before they were read.
        """
        if not isinstance(model, Bert):
            raise TypeError(f"expected a Bert, got {type(model).__name__}")
        lengths = [self.files.length, *([self.files.long_length] if self.files.long_share else [])]
        found = [self.scores(model, self.tune, length) for length in lengths]
        check_finite(all(each.is_finite for each in found))
        shown = {name: value for name, value in found[0].report().items() if "_" in name}
        if self.files.long_share:
            kind = "lm" if self.text.masking is None else "mlm"
            shown[f"long_{kind}_loss"] = -found[-1].mean
        steering = sum(each.mean for each in found) / len(found)
        return {"tune_log_likelihood": steering, **{f"tune_{n}": v for n, v in shown.items()}}

    def scores(self, model: Bert, documents: DocumentText, length: int) -> MaskedScores:
        """How well words hidden in some documents are predicted; always the same ones are."""
        masking = None if self.text.masking is None else Masking()
        text = replace(self.text, ids=documents.ids, masking=masking)
        slots = measured_slots(documents, length, pairs=self.pairs)
        return masked_scores(model, text.batch, slots)

    def _num_short_steps(self, steps_per_epoch: int) -> int:
        total = self.training.max_epochs * steps_per_epoch
        if self.training.max_steps is not None:
            total = min(total, self.training.max_steps)
        return total - round(self.files.long_share * total)

    def _cut(self, epoch: int, length: int) -> list[Slot]:
        """An epoch in batches of one length; those of the first and the latest one are kept."""
        key = (epoch, length)
        if key not in self._kept:
            for old in [old for old in self._kept if old[0] not in (0, epoch)]:
                del self._kept[old]
            self._kept[key] = self._drawn(epoch, length)
        return self._kept[key]

    def _drawn(self, epoch: int, length: int) -> list[Slot]:
        draw = np.random.default_rng([self.training.seed, epoch, length])
        part = self.train.part(epoch % self.files.rounds, self.files.rounds)
        found = part.pairs(length - 3, draw) if self.pairs else part.excerpts(length - 2)
        rows = bin_rows(found, length, salt=int(draw.integers(1 << 32)), draw=draw)
        if self.text.ordinary.is_cuda:
            rows = rows.pin_memory()  # or every step would wait for the one before it
        return bin_slots(rows, length, max(1, self.files.num_tokens // length))


def _times(slots: list[Slot], count: int) -> list[Slot]:
    """So many of them, from the beginning again where they are too few."""
    return [slots[place % len(slots)] for place in range(count)] if slots else []


@dataclass(frozen=True, kw_only=True)
class BertLearner:
    """A BERT and its documents; see `softquery.running.pretrain.Learner`."""

    run: BertRun
    corpus: DocumentCorpus
    model: Bert
    batches: MaskedBatches

    @property
    def task(self) -> MaskedLanguageModel:
        """Hidden words, or every next piece."""
        return MaskedLanguageModel(left_to_right=self.run.is_left_to_right)

    @property
    def curve(self) -> str:
        """The loss of words that were held back."""
        return "tune_lm_loss" if self.run.is_left_to_right else "tune_mlm_loss"

    @property
    def plan(self) -> TrainingPlan:
        """Batches with hidden words, and how well they are predicted."""
        return self.batches.plan()

    @property
    def pipeline(self) -> TextPipeline:
        """The pipeline that cut the documents into pieces."""
        return self.corpus.pipeline

    @property
    def training(self) -> Training:
        """As the run says."""
        return self.run.training

    @property
    def amount(self) -> dict[str, int]:
        """The pieces of the training text."""
        return {"pieces": self.corpus.totals["train"]}

    def measured(self) -> dict[str, Any]:
        """What was hidden in `valid`, in short sequences and in long ones where there are such."""
        files, device = self.run.data, next(self.model.parameters()).device
        valid = _resident(self.corpus.documents("valid"), device)
        report: dict[str, Any] = self.batches.scores(self.model, valid, files.length).report()
        if files.long_share:
            report["long"] = self.batches.scores(self.model, valid, files.long_length).report()
        return {**report, "vocabulary": self.run.model.vocab_size, "length": files.length}

    def stored(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The model with its heads, or without them."""
        settings, weights = config_of(self.model), self.model.state_dict()
        if self.run.kept == "all":
            return settings, weights
        kept = {name: value for name, value in weights.items() if not name.startswith(HEADS)}
        return {**settings, "heads": "none"}, kept

    def card(self, metrics: Mapping[str, Any], name: str) -> str:
        """What the bundle says of itself."""
        return bert_card(self.run, metrics, name=name)


class BertPretraining:
    """Hidden words, and texts that follow; see `softquery.running.pretrain.Pretraining`."""

    kind: ClassVar[str] = "encoder"

    def mark(self, folder: Path) -> str | None:
        """The fingerprint of numbered documents."""
        return document_fingerprint(folder) if is_document_corpus(folder) else None

    def begin(self, run: BertRun, init: str | PathLike[str], say: Say) -> tuple[BertRun, Start]:
        """Start from a BERT."""
        start = read_pretrained(init, "bert", " to start from")
        given = start.model.config
        if given.direction != run.model.direction:
            raise ConfigError(
                f"--init: the bundle has direction {given.direction}, and the recipe "
                f"{run.model.direction}"
            )
        taken = differing(run.model, given, REGISTRY["bert"].structure)
        if shown := [name for name in taken if name != "vocab_size"]:
            say(f"as in the bundle that is started from: {', '.join(shown)}")
        model = replace(run.model, **taken, window=run.model.window or given.window)
        return replace(run, model=model, text=start.pipeline.config), start

    def check(self, run: BertRun) -> None:
        """Positions must reach, and the rest is built without memory."""
        longest = run.model.max_length
        for name in ("length", "long_length")[: 2 if run.data.long_share else 1]:
            if getattr(run.data, name) > longest:
                raise ConfigError(
                    f"data.{name} ({getattr(run.data, name)}) must be at most model.max_length "
                    f"({longest})"
                )
        with torch.device("meta"):
            build_encoder(run.model_name(), asdict(replace(run.model, vocab_size=run.pieces.size)))

    def number(
        self, run: BertRun, source: TextSource, folder: Path, start: Start | None, say: Say
    ) -> None:
        """Write the documents as the ids of their pieces."""
        pipeline = _learnt_pipeline(run, source, say) if start is None else start.pipeline
        say(f"numbering {source.shown}")
        write_documents(
            folder,
            pipeline,
            {
                split: lambda paths=paths: read_lines(paths, rename=source.rename)  # type: ignore[misc]
                for split, paths in (("train", source.train), ("valid", source.valid))
            },
            source=source.folder,
        )

    def settle(
        self,
        run: BertRun,
        source: TextSource,
        numbers: Path,
        start: Start | None,
        fabric: Fabric,
        say: Say,
    ) -> BertLearner:
        """Take the sizes that follow from the text, and a pooler only if it learns."""
        corpus = read_documents(numbers)
        size = _num_pieces(run, source, corpus, start)
        say(f"{size:,} pieces; {corpus.totals['train']:,} of them make up the training text")
        run = replace(run, model=replace(run.model, vocab_size=size, pooler=run.has_pairs))
        model = build_encoder(run.model_name(), asdict(run.model))
        if start is not None:
            own, given = model.state_dict(), start.model.state_dict()
            take_weights(model, {name: given[name] for name in given if name in own}, say)
        batches = _batches(run, corpus, source, fabric.device, say)
        return BertLearner(run=run, corpus=corpus, model=model, batches=batches)


def _learnt_pipeline(run: BertRun, source: TextSource, say: Say) -> TextPipeline:
    """Pieces that were given, or those of the training text."""
    text = replace(run.text, max_tokens=run.model.max_length)
    if run.pieces.given:
        return _given_pipeline(run, text)
    say(f"learning up to {run.pieces.size:,} pieces from {source.shown}")
    return build_pipeline(
        (line.text for line in read_lines(source.train, rename=source.rename)),
        text,
        vocab_size=run.pieces.size,
        min_count=run.pieces.min_count,
    )


def _given_pipeline(run: BertRun, text: TextConfig) -> TextPipeline:
    with open_text(run.pieces.given) as lines:
        pieces = list(lines)
    try:
        return pipeline_from_pieces(pieces, text)
    except ConfigError as error:
        raise InputError(str(error), source=run.pieces.given) from None


def _num_pieces(
    run: BertRun, source: TextSource, corpus: DocumentCorpus, start: Start | None
) -> int:
    """The vocabulary's size; a table that is gone on from may be longer than it."""
    entries = bert_vocabulary(corpus.pipeline.tokenizer)
    if start is None:
        return len(entries)
    # A corpus may have been written before, by another vocabulary.
    if entries != bert_vocabulary(start.pipeline.tokenizer):
        raise InputError(
            f"is numbered differently from {start.bundle.path}; give the text itself",
            source=source.folder,
        )
    return run.model.vocab_size


def _batches(
    run: BertRun, corpus: DocumentCorpus, source: TextSource, device: torch.device, say: Say
) -> MaskedBatches:
    whole = _resident(corpus.documents("train"), device)
    train, tune = whole.parted(run.data.tune_share)
    batches = MaskedBatches(
        text=MaskedText.of(
            whole.ids, corpus.pipeline, None if run.is_left_to_right else run.masking, device=device
        ),
        train=train,
        tune=tune,
        files=run.data,
        pairs=run.has_pairs,
        training=run.training,
    )
    if any(not batches.slots(epoch) for epoch in range(run.data.rounds)):
        raise InputError(
            f"{counted(train.num_pieces, 'piece is', 'pieces are')} too few to cut excerpts from; "
            "lower data.rounds",
            source=source.folder,
        )
    say(f"{train.num_pieces:,} pieces to train on, {tune.num_pieces:,} held back to steer by")
    return batches


def _resident(documents: DocumentText, device: torch.device) -> DocumentText:
    """The text mapped from the disk, or on the GPU where it takes a small part of it."""
    if not fits_on(device, [documents.ids]):
        return documents
    return replace(documents, ids=documents.ids.to(device))

"""Pretrain a BERT: learn pieces, number documents by them, and foretell what was hidden."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from softquery.data import (
    DocumentCorpus,
    DocumentText,
    MaskedText,
    document_fingerprint,
    is_document_corpus,
    read_documents,
    write_documents,
)
from softquery.errors import ConfigError, InputError, counted
from softquery.files import open_text, read_lines
from softquery.models import Bert
from softquery.recipes.bert_run import BertRun
from softquery.running.adapter import Say
from softquery.running.bert_card import bert_card
from softquery.running.bert_start import BertStart, read_bert_start
from softquery.running.masked_plan import MaskedPlan
from softquery.running.pretrain import fits_on
from softquery.running.session import Session
from softquery.running.text_source import TextSource
from softquery.runtime.torch_models import build_encoder, config_of
from softquery.tasks import MaskedLanguageModel
from softquery.text import (
    TextConfig,
    TextPipeline,
    bert_vocabulary,
    build_pipeline,
    pipeline_from_pieces,
)
from softquery.training import Training

HEADS = ("word_head.", "next_head.")


@dataclass(frozen=True, kw_only=True)
class BertLearner:
    """A BERT and its documents; see `softquery.running.pretrain.Learner`."""

    run: BertRun
    corpus: DocumentCorpus
    model: Bert
    plan: MaskedPlan

    @property
    def pipeline(self) -> TextPipeline:
        """By what the documents were cut into pieces."""
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
        report: dict[str, Any] = self.plan.scores(self.model, valid, files.length).report()
        if files.long_share:
            report["long"] = self.plan.scores(self.model, valid, files.long_length).report()
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
    curve: ClassVar[str] = "tune_mlm_loss"
    task: ClassVar[MaskedLanguageModel] = MaskedLanguageModel()

    def mark(self, folder: Path) -> str | None:
        """The fingerprint of numbered documents."""
        return document_fingerprint(folder) if is_document_corpus(folder) else None

    def begin(self, run: BertRun, init: str | PathLike[str], say: Say) -> tuple[BertRun, BertStart]:
        """Start from a BERT."""
        start = read_bert_start(init)
        return start.shape(run, say), start

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
        self, run: BertRun, source: TextSource, folder: Path, start: BertStart | None, say: Say
    ) -> None:
        """Write the documents as numbers of their pieces."""
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
        start: BertStart | None,
        stage: Session,
    ) -> BertLearner:
        """Take the sizes that follow from the text, and a pooler only if it learns."""
        corpus = read_documents(numbers)
        size = _num_pieces(run, source, corpus, start)
        stage.say(f"{size:,} pieces; {corpus.totals['train']:,} of them make up the training text")
        run = replace(run, model=replace(run.model, vocab_size=size, pooler=run.has_pairs))
        model = build_encoder(run.model_name(), asdict(run.model))
        if start is not None:
            start.fill(model, stage.say)
        plan = _plan(run, corpus, source, stage)
        return BertLearner(run=run, corpus=corpus, model=model, plan=plan)


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
    run: BertRun, source: TextSource, corpus: DocumentCorpus, start: BertStart | None
) -> int:
    """The vocabulary's size; a table that is gone on from may be longer than it."""
    entries = bert_vocabulary(corpus.pipeline.tokenizer)
    if start is None:
        return len(entries)
    # A corpus may have been numbered before, by another vocabulary.
    if entries != bert_vocabulary(start.pipeline.tokenizer):
        raise InputError(
            f"is numbered otherwise than {start.bundle.path}; give the text itself",
            source=source.folder,
        )
    return run.model.vocab_size


def _plan(run: BertRun, corpus: DocumentCorpus, source: TextSource, stage: Session) -> MaskedPlan:
    device = stage.fabric.device
    whole = _resident(corpus.documents("train"), device)
    train, tune = whole.parted(run.data.tune_share)
    plan = MaskedPlan(
        text=MaskedText.of(whole.ids, corpus.pipeline, run.masking, device=device),
        train=train,
        tune=tune,
        files=run.data,
        pairs=run.has_pairs,
        training=run.training,
    )
    if any(not plan.slots(epoch) for epoch in range(run.data.rounds)):
        raise InputError(
            f"{counted(train.num_pieces, 'piece is', 'pieces are')} too few to cut excerpts from; "
            "lower data.rounds",
            source=source.folder,
        )
    stage.say(f"{train.num_pieces:,} pieces to train on, {tune.num_pieces:,} held back to steer by")
    return plan


def _resident(documents: DocumentText, device: torch.device) -> DocumentText:
    """The text mapped from the disk, or on the GPU where it takes a small part of it."""
    if not fits_on(device, [documents.ids]):
        return documents
    return replace(documents, ids=documents.ids.to(device))

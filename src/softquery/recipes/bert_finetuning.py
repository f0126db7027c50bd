"""Recipes for a pretrained BERT with a head: one text, a pair, every word, a span.

The rates are the paper's (Devlin et al. 2019, Appendix A.3), for a base-sized encoder; small ones
like them larger.
"""

from dataclasses import replace

from softquery.models import (
    BertClassifierConfig,
    BertMatcherConfig,
    BertReaderConfig,
    BertTaggerConfig,
)
from softquery.recipes.classify import SENTIMENT
from softquery.recipes.run import BertSettings, Files, Run, Vocabulary
from softquery.tasks import ClassifySettings, ReadSettings, TagSettings, TextClassification
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


def bert_classify() -> Run:
    """One text, one class (Section 4.1)."""
    return Run(
        name="bert-classify",
        summary="A pretrained BERT on your own texts, any labels (name one: --init DIR)",
        model=BertClassifierConfig(),
        settings=ClassifySettings(),
        text=_text(256),
        vocabulary=Vocabulary(size=16_000),
        bert=BertSettings(),
        data=Files(batch_size=32),
        optim=_optim(5e-5),
        schedule=_schedule(),
        training=_training(),
    )


def bert_match() -> Run:
    """Two texts in one row (Section 4.1), with the interface of ESIM."""
    return Run(
        name="bert-match",
        summary="A pretrained BERT on your own pairs, any labels (name one: --init DIR)",
        model=BertMatcherConfig(),
        text=_text(128),
        vocabulary=Vocabulary(size=16_000),
        bert=BertSettings(),
        data=Files(batch_size=32),
        optim=_optim(5e-5),
        schedule=_schedule(),
        training=_training(),
    )


def bert_tag() -> Run:
    """A tag for every word, by its first piece (Section 5.3)."""
    return Run(
        name="bert-tag",
        summary="A pretrained BERT on your own tags (CoNLL, JSONL; name one: --init DIR)",
        model=BertTaggerConfig(),
        settings=TagSettings(learnt="iob2"),
        text=_text(256),
        vocabulary=Vocabulary(size=16_000),
        bert=BertSettings(),
        data=Files(batch_size=32),
        optim=_optim(5e-5),
        schedule=_schedule(),
        training=_training(max_epochs=5),
    )


def bert_read() -> Run:
    """Where in a context the answer stands (Sections 4.2 and 4.3), 384 pieces at a time."""
    return Run(
        name="bert-read",
        summary="A pretrained BERT that answers from a context (SQuAD's JSON; --init DIR)",
        model=BertReaderConfig(),
        settings=ReadSettings(max_words=30, max_question=64, step=189),
        text=_text(317),
        vocabulary=Vocabulary(size=16_000),
        bert=BertSettings(),
        data=Files(batch_size=32),
        optim=_optim(5e-5),
        schedule=_schedule(),
        training=_training(max_epochs=2),
    )


def sentiment_zh() -> Run:
    """Chinese reviews, from a small BERT such as SimBERT-tiny: a teacher's opinions of them."""
    return replace(
        bert_classify(),
        name="sentiment-zh",
        summary="Chinese sentiment, negative or positive, from a small Chinese BERT (--init DIR)",
        task=TextClassification(labels=SENTIMENT),
        settings=None,
        data=Files(batch_size=64, tune="tune"),
        optim=_optim(2e-4),
        training=_training(max_epochs=4),
    )


def topic_zh() -> Run:
    """Chinese headlines, from a small BERT such as SimBERT-tiny: a teacher's opinions of them."""
    return replace(
        bert_classify(),
        name="topic-zh",
        summary="The topic of a Chinese headline, from a small Chinese BERT (--init DIR)",
        text=_text(64),
        data=Files(batch_size=64, tune="tune"),
        optim=_optim(2e-4),
        training=_training(max_epochs=4),
    )


def ner_zh() -> Run:
    """Names in Chinese sentences, cut to characters, from a small BERT such as SimBERT-tiny."""
    return replace(
        bert_tag(),
        name="ner-zh",
        summary="Names in Chinese sentences, from a small Chinese BERT (--init DIR)",
        data=Files(batch_size=64),
        optim=_optim(2e-4),
        training=_training(max_epochs=5),
    )


def _text(max_tokens: int) -> TextConfig:
    return TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=max_tokens)


def _optim(lr: float) -> Optim:
    return Optim(lr=lr, weight_decay=0.01, decayed="matrices", clip_norm=1.0)


def _schedule() -> Schedule:
    return Schedule(warmup_share=0.1, decay="linear", plateau_factor=1.0)


def _training(max_epochs: int = 3) -> Training:
    # A rate that falls to nothing by the last step leaves no sense in stopping before it.
    return Training(max_epochs=max_epochs, patience=max_epochs)

"""Recipes for BERT's pretraining."""

from dataclasses import replace

from softquery.models.bert import presets
from softquery.recipes.bert_run import BertRun, DocumentFiles, Pieces
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


def bert_tiny() -> BertRun:
    """The smallest of the published sizes: a test of one's text, on any machine."""
    return _run("tiny", lr=1e-3)


def bert_mini() -> BertRun:
    """A BERT of 11 million parameters, two thirds of them vectors of pieces."""
    return _run("mini", lr=1e-3)


def bert_mini_en() -> BertRun:
    """What made the shipped `bert-mini-en`: twelve passes over 79 million words of encyclopaedia.

    Fewer pieces than the paper's, so that it fits in 5.4 MB.
    """
    return replace(
        bert_mini(),
        name="bert-mini-en",
        summary="What made the shipped bert-mini-en (4 layers of 256, 6,000 pieces) on enwiki-2015",
        pieces=Pieces(size=6_000),
        training=replace(bert_mini().training, max_epochs=12),
    )


def bert_small() -> BertRun:
    """Mini's depth at twice its width."""
    return _run("small", lr=7e-4)


def bert_base() -> BertRun:
    """The paper's base model.

    Differs from paper: attention weights are not dropped, half the tokens a batch, a larger step.
    """
    return _run("base", lr=2e-4)


def bert_large() -> BertRun:
    """The paper's large model."""
    return _run("large", lr=1e-4)


def _run(size: str, *, lr: float) -> BertRun:
    model = presets()[size]
    sizes = f"{model.num_layers} layers of {model.hidden_size}"
    return BertRun(
        name=f"bert-{size}",
        summary=f"BERT, pretrained on your own raw text, {size} ({sizes})",
        model=replace(model, attention_dropout=0.0),
        text=TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=512),
        data=DocumentFiles(),
        optim=Optim(lr=lr, eps=1e-6, weight_decay=0.01, decayed="matrices", clip_norm=1.0),
        schedule=Schedule(warmup_steps=1000, decay="linear", plateau_factor=1.0),
        training=Training(max_epochs=10, patience=10, precision="bf16-mixed"),
    )

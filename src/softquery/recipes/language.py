"""Recipes for language models."""

from dataclasses import replace

from softquery.models import ElmoConfig
from softquery.models.elmo import presets
from softquery.recipes.language_run import LanguageRun, StreamFiles, Targets
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


def elmo() -> LanguageRun:
    """ELMo's biLM in its original size, on raw text.

    Differs from paper: without the clips, which cuDNN lacks; Adam with warm-up and a cosine instead
    of Adagrad; a vocabulary of 200,000 words.
    """
    return _run("elmo", "ELMo's biLM on your own raw text, original size (4,096/512)", "original")


def elmo_medium() -> LanguageRun:
    """ELMo's biLM at half the width."""
    return _run("elmo-medium", "ELMo's biLM on your own raw text, medium (2,048/256)", "medium")


def elmo_small() -> LanguageRun:
    """ELMo's biLM at a quarter of the width."""
    return _run("elmo-small", "ELMo's biLM on your own raw text, small (1,024/128)", "small")


def _run(name: str, summary: str, size: str) -> LanguageRun:
    model: ElmoConfig = replace(presets()[size], way="fast")
    return LanguageRun(
        name=name,
        summary=summary,
        model=model,
        text=TextConfig(unicode_form="NFC", lowercase=False, boundaries=True, max_tokens=1024),
        targets=Targets(min_count=2, size=200_000),
        data=StreamFiles(),
        optim=Optim(lr=1e-3, clip_norm=10.0),
        schedule=Schedule(warmup_steps=1000, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=10, patience=10, graphs="off"),
    )

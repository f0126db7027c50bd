"""Recipes for language models."""

from dataclasses import replace

from softquery.models import CharacterConfig, ElmoConfig
from softquery.models.elmo import presets
from softquery.recipes.elmo_run import ElmoRun, StreamFiles, Targets
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


def elmo() -> ElmoRun:
    """ELMo's biLM in its original size, on raw text.

    Differs from paper: without the clips, which cuDNN lacks; Adam with warm-up and a cosine instead
    of Adagrad; a vocabulary of 200,000 words.
    """
    return _run("elmo", "ELMo's biLM on your own raw text, original size (4,096/512)", "original")


def elmo_medium() -> ElmoRun:
    """ELMo's biLM at half the width."""
    return _run("elmo-medium", "ELMo's biLM on your own raw text, medium (2,048/256)", "medium")


def elmo_small() -> ElmoRun:
    """ELMo's biLM at a quarter of the width."""
    return _run("elmo-small", "ELMo's biLM on your own raw text, small (1,024/128)", "small")


def elmo_en() -> ElmoRun:
    """The shipped `elmo-en`: five passes over 79 million words of English encyclopaedia.

    Half the paper's depth of filters and a quarter of its width, so that it fits in 8 MB.
    """
    small = _run("elmo-en", "The shipped English biLM (1,024/192), on encyclopaedia text", "small")
    filters = CharacterConfig(filters=(16, 16, 32, 64, 128, 128, 128), num_highways=1)
    return replace(
        small,
        model=replace(small.model, projection_size=192, characters=filters, dropout=0.0),
        targets=Targets(min_count=2, size=100_000),
        data=StreamFiles(num_streams=1024, rounds=2, tune_share=0.004),
        optim=Optim(lr=4e-3, clip_norm=10.0),
        training=replace(small.training, precision="bf16-mixed"),
    )


def _run(name: str, summary: str, size: str) -> ElmoRun:
    model: ElmoConfig = replace(presets()[size], way="fast")
    return ElmoRun(
        name=name,
        summary=summary,
        model=model,
        text=TextConfig(unicode_form="NFC", lowercase=False, boundaries=True, max_tokens=1024),
        targets=Targets(min_count=2, size=200_000),
        data=StreamFiles(),
        optim=Optim(lr=2.5e-3, clip_norm=10.0),
        schedule=Schedule(warmup_steps=1000, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=10, patience=10),
    )

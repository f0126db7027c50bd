"""Bundles that write, with random weights: wide enough for int8, small enough for tests."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from registered import registered
from softquery.bundle import BundleConfig, write_bundle
from softquery.files import Row
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, build_pipeline

GENERATORS = registered("generator")

NUM_WORDS = 96
WORDS = [f"w{number}" for number in range(NUM_WORDS)]
SIZES: dict[str, dict[str, Any]] = {
    "seq2seq": {"embedding_size": 48, "hidden_size": 64},
    "transformer": {
        "hidden_size": 64, "num_heads": 4, "inner_size": 96, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "max_length": 60,
    },
}  # fmt: skip


def make_generator(
    folder: Path, name: str, *, form: str = "free", bleu: str = "13a", **settings: Any
) -> Path:
    """A bundle of such a model; its answers differ enough to be compared."""
    torch.manual_seed(3)
    pipeline = build_pipeline([" ".join(WORDS)], TextConfig(boundaries=True, max_tokens=24))
    config, model_class = GENERATORS[name]
    words = dict.fromkeys(("source_vocab_size", "target_vocab_size"), pipeline.vocab_size)
    model = model_class(config(**{**words, **SIZES[name], **settings}, dropout=0.0))
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data.mul_(1.5)
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="generator",
            model={"name": name, "config": config_of(model)},
            task={"name": "generate", "bleu": bleu, "form": form},
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"before": 1},
        card="# tiny\n",
    )


def some_texts(count: int, *, seed: int = 1) -> list[str]:
    """Texts of one to eight words."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, size)) for size in draw.integers(1, 9, count)]


def some_rows(sources: list[str], targets: list[str]) -> list[Row]:
    """Rows with a source and a target."""
    return [
        Row({"source": one, "target": other}, number, "rows.tsv")
        for number, (one, other) in enumerate(zip(sources, targets, strict=True), 1)
    ]

"""Small classifiers with random weights, made in a moment, for what runs and exports them."""

import random
from pathlib import Path
from typing import Any

import torch

from registered import registered
from softquery.bundle import BundleConfig, write_bundle
from softquery.files import Row
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, build_pipeline

CLASSIFIERS = registered("classifier")

WORDS = [f"w{number}" for number in range(80)]
LABELS = ("negative", "neutral", "positive")


def make_classifier(
    folder: Path,
    name: str = "attentive",
    *,
    size: int = 64,
    labels: tuple[str, ...] = LABELS,
    seed: int = 1,
    text: dict[str, Any] | None = None,
    **settings: Any,
) -> Path:
    """A bundle whose answers differ from text to text; all of its weights are random."""
    longest = {"max_tokens": 12 if name == "hierarchical" else 200}
    pipeline = build_pipeline([f"{' '.join(WORDS)}."], TextConfig(**{**longest, **(text or {})}))
    torch.manual_seed(seed)
    config_class, model_class = CLASSIFIERS[name]
    sizes = {"vocab_size": pipeline.vocab_size, "embedding_size": size, "hidden_size": size}
    model = model_class(config_class(**sizes, output_size=len(labels), **settings))
    for key, parameter in model.named_parameters():
        if "bias" in key:
            torch.nn.init.normal_(parameter, std=0.3)
    torch.nn.init.normal_(model.embedder.table.weight)
    torch.nn.init.normal_(model.output.weight, std=1.0)
    torch.nn.init.zeros_(model.output.bias)
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="classifier",
            model={"name": name, "config": config_of(model)},
            task={"name": "classify", "labels": list(labels), "metric": "accuracy"},
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={key: value.numpy() for key, value in model.state_dict().items()},
        metrics={"accuracy": 0.5},
        card="# small\n\nA model of random weights.\n",
    )


def random_texts(count: int, *, seed: int = 1) -> list[str]:
    """Texts of one to five sentences, of one word to thirty, some of them unknown."""
    draw = random.Random(seed)
    return [
        " ".join(
            " ".join(
                draw.choice([*WORDS, "unheard"]) for _ in range(draw.randint(1, 30))
            ).capitalize()
            + "."
            for _ in range(draw.randint(1, 5))
        )
        for _ in range(count)
    ]


def labelled_texts(texts: list[str], labels: list[str]) -> list[Row]:
    """Rows as a file would give them."""
    return [
        Row({"text": text, "label": label}, number, "rows.tsv")
        for number, (text, label) in enumerate(zip(texts, labels, strict=True), 2)
    ]

"""Small bundles with random weights, made in a moment, for what runs and exports them."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from registered import registered
from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.data import Pairs, Sentences
from softquery.export import ExportReport, export_matcher
from softquery.files import Row
from softquery.runtime.torch_models import config_of, pair_logits
from softquery.text import TextConfig, build_pipeline

MATCHERS = registered("matcher")

WORDS = [f"w{number}" for number in range(120)]
TASKS: dict[int, dict[str, Any]] = {
    1: {"name": "grade", "low": 0.0, "high": 5.0},
    2: {"name": "match", "labels": ["0", "1"]},
    3: {"name": "match", "labels": ["contradiction", "entailment", "neutral"]},
}
"""By the number of outputs."""


def make_bundle(
    folder: Path,
    name: str = "esim",
    *,
    size: int = 64,
    outputs: int = 3,
    seed: int = 1,
    spread: bool = True,
    **settings: Any,
) -> Path:
    """A bundle whose answers differ from pair to pair; all of its weights are random."""
    pipeline = build_pipeline([" ".join(WORDS)], TextConfig(max_tokens=400))
    torch.manual_seed(seed)
    config_class, model_class = MATCHERS[name]
    sizes = {"vocab_size": pipeline.vocab_size, "embedding_size": size, "hidden_size": size}
    model = model_class(config_class(**sizes, output_size=outputs, **settings))
    for key, parameter in model.named_parameters():
        if "bias" in key:
            torch.nn.init.normal_(parameter, std=0.3)
    if spread and settings.get("head") != "cosine":
        _spread_answers(model, pipeline.encode_ids)
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="matcher",
            model={"name": name, "config": config_of(model)},
            task=TASKS[outputs],
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={key: value.numpy() for key, value in model.state_dict().items()},
        metrics={"accuracy": 0.5},
        card="# small\n\nA model of random weights.\n",
    )


@torch.no_grad()
def _spread_answers(model: Any, encode_ids: Callable[[list[str]], list[list[int]]]) -> None:
    """Scale and shift the last layer, so that logits of random pairs lie around zero."""
    sides = zip(*random_pairs(64, seed=0), strict=True)
    first, second = (Sentences.pack(encode_ids(list(side))) for side in sides)
    logits = pair_logits(model, Pairs(first, second, torch.zeros(64)))
    last = [each for each in model.modules() if isinstance(each, torch.nn.Linear)][-1]
    last.weight /= logits.std(dim=0)[:, None]
    last.bias.copy_((last.bias - logits.mean(dim=0)) / logits.std(dim=0))


def exported(bundle: Path, output: Path, **options: Any) -> ExportReport:
    """Export a bundle to another place."""
    return export_matcher(read_bundle(bundle), output, **options)


def sentence(draw: random.Random, length: int) -> str:
    """Some words of the vocabulary, and now and then one that it does not know."""
    return " ".join(draw.choice([*WORDS, "unheard"]) for _ in range(length))


def random_pairs(count: int, *, seed: int = 1, longest: int = 20) -> list[tuple[str, str]]:
    """Pairs of one token to `longest`."""
    draw = random.Random(seed)
    return [
        (sentence(draw, draw.randint(1, longest)), sentence(draw, draw.randint(1, longest)))
        for _ in range(count)
    ]


def labelled(pairs: Iterable[tuple[str, str]], labels: Iterable[str]) -> list[Row]:
    """Rows as a file would give them."""
    return [
        Row({"sentence1": first, "sentence2": second, "label": label}, number, "rows.tsv")
        for number, ((first, second), label) in enumerate(zip(pairs, labels, strict=True), 2)
    ]


def unlabelled(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    """Rows without labels."""
    return [
        Row({"sentence1": first, "sentence2": second}, number, "rows.tsv")
        for number, (first, second) in enumerate(pairs, 2)
    ]

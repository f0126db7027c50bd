"""Matchers and classifiers of random weights with a biLM inside, as bundles."""

from pathlib import Path
from typing import Any

import torch

from elmo_cases import ElmoCase
from registered import registered
from small_bundles import TASKS, WORDS
from softquery.bundle import BundleConfig, read_bundle, weights_fingerprint, write_bundle
from softquery.models import Elmo
from softquery.nn import ElmoSettings
from softquery.runtime.inner.inner_weights import base_weights
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, pipeline_from_words
from softquery.zoo import resolve

CLASSIFIERS = registered("classifier")
MATCHERS = registered("matcher")

BOTH = {"places": ("input", "output")}


def make_inner(
    folder: Path,
    name: str = "esim",
    *,
    elmo: dict[str, Any] | None = None,
    ends: str = "there",
    size: int = 8,
    outputs: int = 3,
    bilm: Elmo | None = None,
    base: str | None = None,
    lowercase: bool = False,
    **settings: Any,
) -> Path:
    """A bundle whose answers differ from text to text; a head where it names a base.

    An `attentive` is a classifier; it takes no ends.
    """
    classifies = name in CLASSIFIERS
    ends = "added" if classifies else ends
    text = TextConfig(
        unicode_form="NFC", lowercase=lowercase, max_tokens=400, boundaries=ends == "there"
    )
    pipeline = pipeline_from_words(WORDS, text)
    bilm = bilm or ElmoCase(softmax={"kind": "none"}).build()
    torch.manual_seed(1)
    longest = bilm.config.characters.max_characters
    embedder = ElmoSettings(bundle=base or "elmo-tiny", **(elmo or BOTH)).embedder(
        bilm,
        torch.zeros(0, longest, dtype=torch.int16),
        word_size=size,
        ends=ends,  # type: ignore[arg-type]
        num_words=pipeline.vocab_size,
    )
    config_class, model_class = (CLASSIFIERS if classifies else MATCHERS)[name]
    settings |= {"max_characters": longest} if classifies else {}
    sizes = {"vocab_size": pipeline.vocab_size, "embedding_size": size, "hidden_size": size}
    model = model_class(config_class(**sizes, output_size=outputs, **settings), embedder)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "bias" in key or key.startswith("embedder.mixes."):
                parameter.normal_(std=0.5)
            elif not key.startswith("embedder.bilm."):
                parameter *= 2  # so that answers are not all alike
    found = None if base is None else base_weights(read_bundle(resolve(base)))
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="classifier" if classifies else "matcher",
            model={"name": name, "config": config_of(model)},
            task={"name": "classify", "labels": ["a", "b", "c"]} if classifies else TASKS[outputs],
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
            base=base,
            base_fingerprint=None if found is None else weights_fingerprint(found),
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={
            key: value.numpy()
            for key, value in model.state_dict().items()
            if found is None or not key.startswith("embedder.bilm.")
        },
        metrics={"accuracy": 0.5},
        card="# small\n\nA model of random weights.\n",
    )

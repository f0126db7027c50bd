"""Taggers of random weights as bundles, plain and with a biLM inside."""

import random
from pathlib import Path
from typing import Any

import torch

from elmo_cases import ElmoCase
from softquery.answers import TagSet
from softquery.bundle import BundleConfig, write_bundle
from softquery.files import TaggedSentence
from softquery.models import BiLstmTagger, BiLstmTaggerConfig, SpellingConfig
from softquery.nn import ElmoSettings
from softquery.runtime.torch_models import config_of
from softquery.tasks import Tagging
from softquery.text import TextConfig, pipeline_from_words

WORDS = [f"w{number}" for number in range(200)]
PIPELINE = pipeline_from_words(WORDS, TextConfig(unicode_form="NFC", max_tokens=512))
SPANS = TagSet.found([["B-LOC", "B-PER"]], given="iob2")
PLAIN = TagSet(labels=("ADP", "NOUN", "VERB"))
ODD = [
    ["w1", "w2", "Unheard", "w3"],
    ["w5"],
    [],
    ["naïve", "漢字", "\U0001f44d", "\u200b", "x" * 10_000],
    ["w7"] * 60,
    ["Unheard"],
]
"""Long and short, known and unknown words, and none."""


def make_tagger(
    folder: Path,
    *,
    tags: TagSet = SPANS,
    size: int = 8,
    spelling: dict[str, Any] | None = None,
    elmo: dict[str, Any] | None = None,
    seed: int = 1,
    **settings: Any,
) -> Path:
    """A bundle whose answers differ from word to word."""
    torch.manual_seed(seed)
    longest = 9 if elmo is not None else 12
    reading = {"size": 4, "output_size": 6, "max_characters": longest, **(spelling or {})}
    config = BiLstmTaggerConfig(
        vocab_size=PIPELINE.vocab_size,
        output_size=len(tags.labels),
        embedding_size=size,
        spelling=SpellingConfig(**reading),
        **{"hidden_sizes": (size, size), **settings},
    )
    embedder = None
    if elmo is not None:
        bilm = ElmoCase(softmax={"kind": "none"}).build()
        characters = torch.zeros(0, longest, dtype=torch.int16)
        embedder = ElmoSettings(bundle="elmo-tiny", **elmo).embedder(
            bilm, characters, word_size=size, ends="added", num_words=PIPELINE.vocab_size
        )
    model = BiLstmTagger(config, embedder)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name or name.startswith("embedder.mixes."):
                parameter.normal_(std=0.5)
            elif not name.startswith("embedder.bilm."):
                parameter *= 2  # so that answers are not all alike
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="tagger",
            model={"name": "tagger", "config": config_of(model)},
            task=Tagging(tags=tags).to_dict(),
            text=PIPELINE.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=PIPELINE.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"f1": 0.5},
        card="# small\n\nA tagger of random weights.\n",
    )


def random_sentences(count: int, *, seed: int = 1, longest: int = 20) -> list[list[str]]:
    """Words of the vocabulary, and now and then others."""
    draw = random.Random(seed)
    lengths = [draw.randint(1, longest) for _ in range(count)]
    return [[draw.choice([*WORDS, "unheard", "of"]) for _ in range(size)] for size in lengths]


def tagged(sentences: list[list[str]], tags: list[list[str]]) -> list[TaggedSentence]:
    """As a file would give them."""
    return [
        TaggedSentence(
            tokens=words, tags=own, rows=list(range(1, len(words) + 1)), source="a.conll"
        )
        for words, own in zip(sentences, tags, strict=True)
    ]

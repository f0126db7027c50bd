"""The models of one text under contract: every name in `TAGGERS`, in every shape."""

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import torch
from torch import nn

from registered import registered
from softquery.answers import TagSet
from softquery.data import Sentences, TextBatch, encode_words
from softquery.models import SpellingConfig
from softquery.tasks import Tagging
from softquery.text import TextConfig, pipeline_from_words

TAGGERS = registered("tagger")

PIPELINE = pipeline_from_words(["the", "cat", "sat", "on", "a", "mat"], TextConfig())
LONGEST = 9
RAGGED = [
    ["The", "cat", "sat", "on", "a", "mat"],
    ["zebra"],
    [],
    ["A", "Zebra", "sat"],
    ["on", "on"],
]
"""Long and short, known words and others, and no word at all."""
FOUR = [["the", "cat", "sat"], ["cats", "sit"], ["on", "a", "mat"], ["zebra", "a"]]
"""Enough to learn by heart."""
TAGS = TagSet(labels=("O", "B-X", "I-X"), scheme="iob2", written="iob2")


@dataclass(frozen=True, kw_only=True)
class TextCase:
    """One config of one model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    spelling: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        values = [str(value) for value in (*self.settings.values(), *self.spelling.values())]
        return "-".join([self.name, *values])

    @property
    def task(self) -> Tagging:
        return Tagging(tags=TAGS)

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> nn.Module:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        config, model = TAGGERS[self.name]
        spelling = {"size": 4, "output_size": 6, "max_characters": LONGEST, **self.spelling}
        return model(
            config(
                vocab_size=PIPELINE.vocab_size,
                output_size=self.task.output_size,
                embedding_size=5,
                spelling=SpellingConfig(**spelling),
                dropout=dropout,
                word_dropout=dropout,
                **{"hidden_sizes": (5, 4), **self.settings},
            )
        )

    def batch(self, sentences: list[list[str]] = RAGGED, *, extra_pad: int = 0) -> TextBatch:
        """Sentences as a batch, as long as the longest of them, and `extra_pad`."""
        ids = [[(len(words) + place) % 3 for place in range(len(words))] for words in sentences]
        texts = encode_words(sentences, PIPELINE, max_characters=LONGEST)
        length = max(1, *map(len, sentences)) + extra_pad
        rows = torch.arange(len(sentences))
        return replace(texts, label=Sentences.pack(ids)).batch(rows, length)


CASES = [
    *(
        TextCase(name="tagger", settings={"decoder": decoder}, spelling={"kind": kind})
        for decoder, kind in product(("crf", "softmax"), ("cnn", "lstm", "none"))
    ),
    TextCase(name="tagger", settings={"hidden_sizes": (6,)}),
]

"""The sentence encoders under contract: every registered one, in every shape a config can give."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from registered import registered
from softquery.data import Sentences, TaughtBatch, TaughtTexts
from softquery.tasks import SentenceDistillation

SENTENCE_ENCODERS = registered("sentence-encoder")

VOCAB_SIZE, OUTPUT_SIZE = 12, 8
RAGGED = [[5, 6, 7, 8, 9, 10], [3], [], [8, 9, 10, 4, 4, 5, 6, 7, 8], [11, 2, 3, 4]]
"""Sentences long and short, and one of nothing."""
FOUR = [[2, 3, 4], [6, 7, 8, 9, 10], [4, 5, 6, 7], [9, 10, 11, 2]]
"""Enough to learn by heart."""


@dataclass(frozen=True, kw_only=True)
class SentenceCase:
    """One config of one model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        return "-".join([self.name, *map(str, self.settings.values())])

    @property
    def task(self) -> SentenceDistillation:
        return SentenceDistillation(output_size=OUTPUT_SIZE, prefixes=(2, 4))

    @property
    def reads_order(self) -> bool:
        """Whether the order of words says something to it."""
        return self.settings.get("body") != "static"

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> nn.Module:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        config, model = SENTENCE_ENCODERS[self.name]
        sizes = {"embedding_size": 6, "hidden_size": 8, "num_heads": 2, "num_layers": 2}
        made = config(
            vocab_size=VOCAB_SIZE,
            output_size=OUTPUT_SIZE,
            dropout=dropout,
            word_dropout=dropout / 2,
            **{**sizes, **self.settings},
        )
        return model(made)

    def batch(self, texts: list[list[int]] = RAGGED, *, extra_pad: int = 0) -> TaughtBatch:
        """Texts as a batch with a teacher's vectors, padded by `extra_pad` beyond the longest."""
        generator = torch.Generator().manual_seed(7)
        wanted = F.normalize(torch.randn(len(texts), OUTPUT_SIZE, generator=generator), dim=-1)
        length = max([1, *map(len, texts)]) + extra_pad
        taught = TaughtTexts(Sentences.pack(texts), wanted)
        return taught.batch(torch.arange(len(texts)), length)


CASES = [
    *(
        SentenceCase(name="pooled-encoder", settings={"body": body, "pools": pools})
        for body, pools in product(
            ("static", "recurrent", "convolution", "transformer"), (("query", "max"), ("mean",))
        )
    ),
    SentenceCase(name="pooled-encoder", settings={"body": "recurrent", "cell": "gru"}),
    SentenceCase(name="pooled-encoder", settings={"body": "recurrent", "num_queries": 4}),
    SentenceCase(name="pooled-encoder", settings={"body": "transformer", "embedding_size": 8}),
    SentenceCase(name="pooled-encoder", settings={"body": "convolution", "embedding_size": 8}),
    SentenceCase(name="pooled-encoder", settings={"body": "convolution", "window": 5}),
    SentenceCase(name="pooled-encoder", settings={"body": "convolution", "num_context": 1}),
    SentenceCase(name="pooled-encoder", settings={"body": "static", "middle_size": 6}),
]

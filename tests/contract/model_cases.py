"""The models under contract: every name in `MATCHERS`, in every shape that a config can give it."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from registered import registered
from softquery.data import PairBatch, Sentences, Tokens
from softquery.tasks import PairClassification, PairGrading, PairTask

MATCHERS = registered("matcher")

SIZES = {"vocab_size": 12, "embedding_size": 6, "hidden_size": 5}

RAGGED = [
    ([5, 6, 7, 8], [9, 10]),
    ([3], [4, 5, 6, 7, 8]),
    ([], [6, 7]),
    ([8, 9, 10], []),
    ([11, 2, 3, 4, 5, 6, 7], [3]),
    ([], []),
]
"""Long and short, one token and none."""

FOUR = [
    ([2, 3, 4], [2, 3, 4, 5]),
    ([6, 7], [8, 9, 10]),
    ([4, 5, 6, 7], [5, 6]),
    ([9, 10, 11], [2, 3]),
]
"""Enough to learn by heart."""


@dataclass(frozen=True, kw_only=True)
class ModelCase:
    """One config of one model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        values = ("+".join(v) if isinstance(v, tuple) else str(v) for v in self.settings.values())
        return "-".join([self.name, *values])

    @property
    def output_size(self) -> int:
        config, _ = MATCHERS[self.name]
        return int(self.settings.get("output_size", config().output_size))

    @property
    def task(self) -> PairTask:
        if self.output_size == 1:
            return PairGrading(low=0, high=1)
        return PairClassification(labels=tuple("abc"[: self.output_size]))

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> nn.Module:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        config, model = MATCHERS[self.name]
        return model(config(**{**SIZES, **self.settings}, dropout=dropout))

    def batch(self, pairs: list[Any] = RAGGED, *, extra_pad: tuple[int, int] = (0, 0)) -> PairBatch:
        """Pairs as a batch; each side is as long as its longest sentence, and `extra_pad`."""
        sides = [
            tokens([pair[side] for pair in pairs], extra_pad=extra_pad[side]) for side in (0, 1)
        ]
        return PairBatch(*sides, self.labels(len(pairs)))

    def labels(self, count: int) -> Tensor:
        if self.output_size == 1:
            return torch.linspace(0.1, 0.9, count)
        return torch.arange(count) % self.output_size


def tokens(sentences: list[list[int]], *, extra_pad: int = 0) -> Tokens:
    length = max(1, *map(len, sentences)) + extra_pad
    return Sentences.pack(sentences).pad(torch.arange(len(sentences)), length)


def _esim(**settings: Any) -> ModelCase:
    return ModelCase(name="esim", settings=settings)


def _decomposable(**settings: Any) -> ModelCase:
    return ModelCase(name="decomposable", settings=settings)


def _siamese(**settings: Any) -> ModelCase:
    return ModelCase(name="siamese", settings=settings)


CASES = [
    _esim(),
    _esim(cell="gru"),
    _esim(output_size=2),
    _esim(output_size=1),
    _esim(cell="gru", output_size=1),
    *(
        _esim(parts=parts)
        for parts in (
            ("own",),
            ("own", "aligned"),
            ("aligned", "difference", "product"),
            ("own", "difference", "product"),
            ("own", "aligned", "product"),
            ("own", "aligned", "difference"),
        )
    ),
    *(
        _esim(composer=composer, projection_size=4, composer_size=12)  # at 5, units may all be off
        for composer in ("lstm", "gru", "feedforward", "convolution")
    ),
    _esim(composer="convolution", projection_size=7, composer_size=16, output_size=1),
    _esim(cell="gru", composer="convolution", composer_size=12, output_size=2),
    _esim(alignment_size=4),
    _esim(alignment_size=4, cell="gru", output_size=1),
    _esim(alignment_size=3, parts=("own", "aligned", "difference")),
    _esim(alignment_size=4, parts=("product",)),
    _esim(alignment_size=6, composer="convolution", projection_size=7, composer_size=12),
    *(
        _siamese(pooling=pooling, head=head, output_size=output_size)
        for pooling, (head, output_size) in product(
            ("mean", "max", "attentive"), (("cosine", 2), ("features", 3))
        )
    ),
    _decomposable(),
    _decomposable(max_distance=0),
    _decomposable(max_distance=2, output_size=2),
    _decomposable(output_size=1, hidden_size=12),  # at 5, rectified units may all be off
    _siamese(cell="gru"),
    _siamese(pooling="attentive", cell="gru"),
    _siamese(pooling="mean", head="cosine", output_size=1),
    _siamese(head="features", output_size=1),
]

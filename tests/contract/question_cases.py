"""The models of questions and contexts under contract: every name in `READERS`, in every shape."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from registered import registered
from softquery.answers import ContextWindow, ReadingRules
from softquery.data import NO_ANSWER, QuestionBatch, encode_windows
from softquery.models import SpellingConfig
from softquery.tasks import SpanReading
from softquery.text import TextConfig, pipeline_from_words

READERS = registered("reader")

PIPELINE = pipeline_from_words(["who", "sat", "the", "cat", "on", "a", "mat"], TextConfig())
LONGEST = 9
RAGGED = [
    ContextWindow(["Who", "sat"], ["The", "cat", "sat", "on", "a", "mat"]),
    ContextWindow(["Where", "did", "the", "cat", "sit"], ["zebra"]),
    ContextWindow([], ["A", "Zebra", "sat"]),
    ContextWindow(["who"], ["on", "on"]),
]
"""Long and short, known words and others, and a question without any word."""
FOUR = [
    ContextWindow(["who", "sat"], ["the", "cat", "sat"]),
    ContextWindow(["who", "sat"], ["zebra", "sat", "on", "a", "mat"]),
    ContextWindow(["on", "what"], ["zebra", "sat", "on", "a", "mat"]),
    ContextWindow(["what", "did", "it"], ["the", "cat", "sat"]),
]
LABELS = [(0, 1), (0, 0), (3, 4), (2, 2)]
"""Enough to learn by heart."""


@dataclass(frozen=True, kw_only=True)
class QuestionCase:
    """One config of one model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    spelling: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        values = [str(value) for value in (*self.settings.values(), *self.spelling.values())]
        return "-".join([self.name, *values])

    @property
    def learns_none(self) -> bool:
        return self.settings.get("no_answer") == "learnt"

    @property
    def task(self) -> SpanReading:
        return SpanReading(rules=ReadingRules(no_answer=self.settings.get("no_answer", "never")))

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> nn.Module:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        config, model = READERS[self.name]
        spelling = {"size": 4, "output_size": 6, "max_characters": LONGEST, **self.spelling}
        return model(
            config(
                vocab_size=PIPELINE.vocab_size,
                embedding_size=5,
                hidden_size=4,
                spelling=SpellingConfig(**spelling),
                dropout=dropout,
                word_dropout=dropout,
                **self.settings,
            )
        )

    def labels(self, windows: list[ContextWindow]) -> list[tuple[int, int]]:
        """Some legal span of each window; none of the last one where that is learnt."""
        made = [(len(window.words) // 2, len(window.words) - 1) for window in windows]
        return [*made[:-1], (NO_ANSWER, NO_ANSWER)] if self.learns_none else made

    def batch(
        self,
        windows: list[ContextWindow] = RAGGED,
        *,
        extra_pad: int = 0,
        labels: list[tuple[int, int]] | None = None,
    ) -> QuestionBatch:
        """Windows as a batch, as long as the longest of them, and `extra_pad`."""
        given = self.labels(windows) if labels is None else labels
        made = encode_windows(windows, PIPELINE, max_characters=LONGEST, labels=given)
        length = max(len(window.words) for window in windows) + extra_pad
        asked = max(1, *(len(window.question) for window in windows)) + extra_pad
        return made.batch(torch.arange(len(windows)), length, question_length=asked)


CASES = [
    *(
        QuestionCase(name="bidaf", settings={"score": score})
        for score in ("trilinear", "bilinear", "dot", "scaled_dot")
    ),
    QuestionCase(name="bidaf", settings={"no_answer": "learnt"}),
    *(QuestionCase(name="bidaf", spelling={"kind": kind}) for kind in ("lstm", "none")),
    QuestionCase(name="bidaf", settings={"num_highways": 0, "num_layers": 1}),
]

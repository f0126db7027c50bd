"""The classifiers under contract: every name in `CLASSIFIERS`, in every shape a config can give."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import nn

from registered import registered
from softquery.data import DocumentBatch, Documents, DocumentShape, TextBatch, encode_ids
from softquery.tasks import TextClassification

CLASSIFIERS = registered("classifier")

VOCAB_SIZE = 12
RAGGED = [
    [[5, 6, 7, 8], [9, 10]],
    [[3]],
    [],
    [[8, 9, 10], [4], [4, 5, 6, 7, 8, 9]],
    [[11, 2, 3, 4, 5, 6, 7]],
]
"""Texts of sentences: long and short, and one of nothing."""
FOUR = [[[2, 3, 4]], [[6, 7], [8, 9, 10]], [[4, 5, 6, 7]], [[9, 10, 11], [2]]]
"""Enough to learn by heart."""

Text = list[list[int]]


@dataclass(frozen=True, kw_only=True)
class ClassCase:
    """One config of one model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        return "-".join([self.name, *map(str, self.settings.values())])

    @property
    def is_hierarchical(self) -> bool:
        return self.name == "hierarchical"

    @property
    def task(self) -> TextClassification:
        return TextClassification(labels=("a", "b", "c"))

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> nn.Module:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        config, model = CLASSIFIERS[self.name]
        sizes = {"vocab_size": VOCAB_SIZE, "embedding_size": 6, "hidden_size": 5, "output_size": 3}
        own = {"context_size": 4} if self.is_hierarchical else {
            "embedding_dropout": dropout, "state_dropout": dropout
        }  # fmt: skip
        made = config(**sizes, **own, dropout=dropout, word_dropout=dropout / 2, **self.settings)
        return model(made)

    def batch(self, texts: list[Text] = RAGGED, *, extra_pad: int = 0) -> TextBatch | DocumentBatch:
        """Texts as a batch, as large as the largest of them, and `extra_pad` in every direction."""
        rows, label = torch.arange(len(texts)), torch.arange(len(texts)) % 3
        if not self.is_hierarchical:
            flat = [[word for sentence in text for word in sentence] for text in texts]
            length = max(1, *map(len, flat)) + extra_pad
            made = encode_ids(flat, vocab_size=VOCAB_SIZE)
            return made.batch(rows, length)._replace(label=label)
        longest = max([1, *(len(sentence) for text in texts for sentence in text)])
        shape = DocumentShape(max([1, *map(len, texts)]) + extra_pad, longest + extra_pad)
        return Documents.pack(texts).batch(rows, shape.as_length)._replace(label=label)

    def real_weights(self, output: Any, texts: list[Text] = RAGGED) -> list[list[torch.Tensor]]:
        """The weights of each text's words, and of its sentences, without padding."""
        found = []
        for row, text in enumerate(texts):
            if not self.is_hierarchical:
                found.append([output.word_weights[row, : sum(map(len, text))]])
                continue
            words = [output.word_weights[row, at, : len(each)] for at, each in enumerate(text)]
            found.append([*words, output.sentence_weights[row, : len(text)]])
        return found


CASES = [
    *(
        ClassCase(name="attentive", settings={"merge": merge, "cell": cell})
        for merge, cell in product(("sum", "concat"), ("lstm", "gru"))
    ),
    ClassCase(name="hierarchical", settings={"cell": "gru"}),
    ClassCase(name="hierarchical", settings={"cell": "lstm"}),
]

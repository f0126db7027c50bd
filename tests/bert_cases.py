"""BERTs under test, in every shape that their config can give them, and batches for them."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from softquery import __version__
from softquery.bundle import BundleConfig, write_bundle
from softquery.data import NONE, MaskedBatch, PackedTokens, Sentences, Tokens
from softquery.models import Bert, BertConfig
from softquery.runtime.torch_models import config_of
from softquery.text import BERT_RESERVED, TextConfig, TextPipeline, pipeline_from_pieces

PIECES = [*BERT_RESERVED, *"abcdefghij", "##x", "##y", "##z", "the", "cat", "sat"]
PAD, UNK, CLS, SEP, MASK = range(5)
SMALL = BertConfig(
    vocab_size=len(PIECES),
    hidden_size=8,
    num_layers=2,
    num_heads=2,
    inner_size=12,
    max_length=16,
    dropout=0.0,
    attention_dropout=0.0,
)
SEQUENCES = [
    ([CLS, 5, 6, 7, SEP, 8, 9, SEP], [0, 0, 0, 0, 0, 1, 1, 1]),
    ([CLS, 10, SEP], [0, 0, 0]),
    ([CLS, SEP], [0, 0]),
    ([CLS, 11, 12, SEP, 13, 14, 15, 16, 17, SEP], [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
    ([CLS, 18, 19, 20, SEP], [0, 0, 0, 0, 0]),
]
"""Long and short, pairs and single texts, one word and none."""


@dataclass(frozen=True, kw_only=True)
class BertCase:
    """One config."""

    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        return "-".join(f"{name}={value}" for name, value in self.settings.items()) or "default"

    @property
    def config(self) -> BertConfig:
        return replace(SMALL, **self.settings)

    def build(self, *, dropout: float = 0.0, seed: int = 1, std: float = 0.0) -> Bert:
        """The model with the random weights of a seed, in training mode; wild ones where asked."""
        torch.manual_seed(seed)
        model = Bert(replace(self.config, dropout=dropout, attention_dropout=dropout))
        if std:
            for parameter in model.parameters():
                nn.init.normal_(parameter, std=std)
        return model


CASES = [
    BertCase(),
    BertCase(settings={"heads": "words", "pooler": False}),
    BertCase(settings={"direction": "left", "heads": "words", "pooler": False}),
    BertCase(settings={"activation": "relu", "num_layers": 1}),
    BertCase(settings={"activation": "gelu_tanh", "num_heads": 4, "norm_eps": 1e-5}),
    BertCase(settings={"num_segments": 3, "num_heads": 1}),
    BertCase(settings={"embedding_size": 6}),
    BertCase(settings={"window": 2}),
    BertCase(settings={"window": 1, "heads": "words", "pooler": False}),
]


def tokens(sequences: list[Any] = SEQUENCES, *, extra_pad: int = 0) -> tuple[Tokens, torch.Tensor]:
    """Sequences side by side, padded, and their segments."""
    length = max(len(ids) for ids, _ in sequences) + extra_pad
    rows = torch.arange(len(sequences))
    ids, segments = (
        Sentences.pack([sequence[part] for sequence in sequences]).pad(rows, length)
        for part in (0, 1)
    )
    return ids, segments.ids


def packed(sequences: list[Any] = SEQUENCES) -> PackedTokens:
    """The same end to end."""
    return PackedTokens.of(*([sequence[part] for sequence in sequences] for part in (0, 1)))


def masked_batch() -> MaskedBatch:
    """The sequences with some words hidden; one place only fills up."""
    laid = packed()
    places = torch.tensor([2, 5, 9, 15, 19, 24, 0])
    targets = laid.ids[places].clone()
    targets[-1] = NONE
    ids = laid.ids.clone()
    ids[places[:3]] = MASK
    ids[places[3]] = 20
    firsts = laid.packing.starts[:-1].long()
    follows = torch.tensor([1, NONE, NONE, 0, NONE])
    return MaskedBatch(laid._replace(ids=ids), places, targets, firsts, follows)


def write_bert(
    folder: Path,
    model: Bert | None = None,
    pipeline: TextPipeline | None = None,
    **changes: object,
) -> Path:
    """Write a BERT as a bundle, that of a seed by default; `changes` are lies in its config."""
    model = model or BertCase().build()
    pipeline = pipeline or pipeline_from_pieces(
        PIECES, TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=16)
    )
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="encoder",
            model={"name": "bert", "config": {**config_of(model), **changes}},
            task={"name": "masked-language-model"},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={"n": 0},
        card="# a small BERT\n",
    )

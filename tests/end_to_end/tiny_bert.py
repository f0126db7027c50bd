"""Settings for a small BERT with a head, and a small pretrained one to stand it on."""

from pathlib import Path

import torch

from bert_cases import write_bert
from softquery.models import Bert, BertConfig
from softquery.text import TextConfig, build_pipeline

SMALL = {
    "model.encoder.num_heads": 2,
    "model.encoder.hidden_size": 16,
    "model.encoder.inner_size": 32,
    "model.encoder.num_layers": 2,
    "model.encoder.max_length": 128,
    "model.encoder.dropout": 0,
    "model.encoder.attention_dropout": 0,
    "vocabulary.size": 300,
    "optim.lr": 0.003,
    "data.batch_size": 8,
}
TEXT = TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=128)


def settings(**changes: object) -> list[str]:
    """As `--set` takes them, with changes; two underscores stand for a dot."""
    changed = {name.replace("__", "."): value for name, value in changes.items()}
    made = {**SMALL, **changed}
    return [word for name, value in made.items() for word in ("--set", f"{name}={value}")]


def write_base(folder: Path, texts: list[str], *, hidden_size: int = 16, seed: int = 1) -> Path:
    """A BERT as if it were pretrained, whose vocabulary is that of some texts."""
    torch.manual_seed(seed)
    pipeline = build_pipeline(texts, TEXT, vocab_size=300)
    model = Bert(
        BertConfig(
            vocab_size=pipeline.vocab_size,
            hidden_size=hidden_size,
            num_layers=2,
            num_heads=2,
            inner_size=2 * hidden_size,
            max_length=128,
            heads="words",
        )
    )
    return write_bert(folder, model, pipeline)

"""Small sentence encoders with random weights, made in a moment, for what runs and exports them."""

import random
from pathlib import Path
from typing import Any

import torch

from registered import registered
from softquery.bundle import BundleConfig, write_bundle
from softquery.files import Row
from softquery.runtime.torch_models import config_of
from softquery.text import BERT_RESERVED, TextConfig, TextPipeline, pipeline_from_pieces

SENTENCE_ENCODERS = registered("sentence-encoder")

STEMS = [f"w{letter}" for letter in "abcdefghijklmnopqrst"]
PIECES = [*STEMS, *(f"##{letter}" for letter in "abcdefghijklmnopqrst"), ".", "?", "我", "们"]
BODIES = ("static", "recurrent", "transformer")
PREFIXES = (8, 16)


def small_pipeline(**text: Any) -> TextPipeline:
    """WordPieces of two letters and of one."""
    config = TextConfig(**{"unit": "bert", "max_tokens": 64, **text})
    return pipeline_from_pieces([*BERT_RESERVED, *PIECES], config)


def make_sentence_encoder(
    folder: Path,
    body: str = "recurrent",
    *,
    size: int = 32,
    output_size: int = 24,
    seed: int = 1,
    text: dict[str, Any] | None = None,
    **settings: Any,
) -> Path:
    """A bundle whose vectors differ from text to text; all of its weights are random."""
    pipeline = small_pipeline(**(text or {}))
    torch.manual_seed(seed)
    config_class, model_class = SENTENCE_ENCODERS["pooled-encoder"]
    sizes: dict[str, Any] = {
        "vocab_size": pipeline.vocab_size,
        "output_size": output_size,
        "embedding_size": size,
        "hidden_size": size,
        "num_layers": 2,
        "num_heads": 2,
        "body": body,
    }
    model = model_class(config_class(**{**sizes, **settings}))
    for key, parameter in model.named_parameters():
        if "bias" in key:
            torch.nn.init.normal_(parameter, std=0.1)
    torch.nn.init.normal_(model.embedder.table.weight[1:])
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="sentence-encoder",
            model={"name": "pooled-encoder", "config": config_of(model)},
            task={"name": "encode", "prefixes": list(PREFIXES)},
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={key: value.numpy() for key, value in model.state_dict().items()},
        metrics={"cosine": 0.5},
        card="# small\n\nA model of random weights.\n",
    )


def random_sentences(count: int, *, seed: int = 1, longest: int = 12) -> list[str]:
    """Sentences of one word to `longest`, in pieces, some of them unknown."""
    draw = random.Random(seed)

    def word() -> str:
        if draw.random() < 0.1:
            return draw.choice(["unheard", "我们", "??"])
        return draw.choice(STEMS) + "".join(draw.choices("abcdefgh", k=draw.randint(0, 3)))

    return [" ".join(word() for _ in range(draw.randint(1, longest))) for _ in range(count)]


def labelled_pairs(labels: list[str], *, seed: int = 1) -> list[Row]:
    """Rows as a file would give them."""
    texts = random_sentences(2 * len(labels), seed=seed)
    return [
        Row({"sentence1": first, "sentence2": second, "label": label}, number, "rows.tsv")
        for number, (first, second, label) in enumerate(
            zip(texts[::2], texts[1::2], labels, strict=True), 2
        )
    ]

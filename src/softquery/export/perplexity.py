"""How well a bundle's language model foresees a text. Needs torch."""

import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import torch

from softquery.bundle import Bundle
from softquery.data import read_corpus, write_corpus
from softquery.errors import ConfigError, InputError
from softquery.files import read_texts
from softquery.runtime.embed.likelihood import text_likelihood
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_embedder

MOST_STREAMS = 32
WORDS_OF_A_STREAM = 500
"""At least so many, so that its beginning counts little."""


def perplexity(
    bundle: Bundle, texts: Sequence[str], *, source: str | PathLike[str] = "the text for the gate"
) -> dict[str, float | int]:
    """Perplexity against the bundle's own vocabulary, with what it depends on.

    Args:
        bundle: A biLM that kept its softmax.
        texts: What it shall foresee.
        source: Where they come from, for errors.
    """
    model = load_embedder(bundle).to("cuda" if torch.cuda.is_available() else "cpu")
    pipeline = fitting_pipeline(bundle)
    words = pipeline.vocabulary()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "corpus"
        write_corpus(
            folder,
            train=lambda: texts,
            valid=lambda: texts,
            config=pipeline.config,
            known=words,
            max_characters=model.config.characters.max_characters,
            source=source,
        )
        streams = read_corpus(folder).streams("valid", vocab_size=len(words), num_streams=1)
        count = max(1, min(MOST_STREAMS, len(streams.forwards) // WORDS_OF_A_STREAM))
        whole = streams.part(0, len(streams.forwards), num_streams=count)
        found = text_likelihood(model, whole).report()
    return {**found, "vocabulary": len(words), "streams": count}


def evaluate_perplexity(
    bundle: Bundle, data: Path, *, rename: Mapping[str, str] | None = None
) -> dict[str, float | int]:
    """Perplexity of both directions of a biLM on a file of text.

    Args:
        bundle: A biLM that kept its softmax.
        data: Any text file.
        rename: Our column's name to that of the file.
    """
    softmax = bundle.config.model["config"].get("softmax") or {}
    if softmax.get("kind", "none") == "none":
        message = "has no softmax to predict words with; use softquery embed"
        raise ConfigError(f"{bundle.path}: {message}")
    texts = list(read_texts([data], rename=rename))
    if not texts:
        raise InputError("holds no text", source=data)
    return perplexity(bundle, texts, source=data)

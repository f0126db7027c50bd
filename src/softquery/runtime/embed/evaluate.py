"""How well a language model predicts a text: each word, or hidden ones. Needs torch."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softquery.bundle import Bundle
from softquery.data import (
    NONE,
    DocumentText,
    MaskedBatch,
    MaskedText,
    Masking,
    Slot,
    Streams,
    bin_rows,
    read_corpus,
    read_documents,
    write_corpus,
    write_documents,
)
from softquery.errors import BundleError, ConfigError, InputError
from softquery.files import DocumentLine, read_lines, read_texts
from softquery.models import Bert, Elmo
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_embedder, load_encoder
from softquery.tasks import Likelihood, MaskedScores
from softquery.text import TextPipeline

MakeBatch = Callable[[Tensor, int], MaskedBatch]
MEASURED_TOKENS = 16_384
"""Tokens of a batch that is only measured."""
SEED = 0
"""By which words are hidden where models are measured: always the same ones."""


@torch.inference_mode()
def masked_scores(model: Bert, make_batch: MakeBatch, slots: Iterable[Slot]) -> MaskedScores:
    """The model over all batches, in evaluation mode."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    scores = MaskedScores(left_to_right=model.config.direction == "left")
    for slot in slots:
        batch = make_batch(slot.rows.to(device), slot.length)
        scores.add(model(batch), batch)
    model.train(was_training)
    return scores


def measured_slots(documents: DocumentText, length: int, *, pairs: bool) -> list[Slot]:
    """All of some documents, cut and hidden in one way whoever measures."""
    draw = np.random.default_rng(SEED)
    found = documents.pairs(length - 3, draw) if pairs else documents.excerpts(length - 2)
    if not len(found):
        return []
    rows = bin_rows(found, length, salt=SEED, draw=draw)
    size = max(1, MEASURED_TOKENS // length)
    return [Slot(part, length) for part in torch.split(rows, size)]


@dataclass(frozen=True, slots=True)
class HiddenWords:
    """A text in which always the same words are hidden, so that models can be compared."""

    text: MaskedText
    slots: list[Slot]
    length: int
    """Tokens of an excerpt."""
    num_pieces: int

    @property
    def device(self) -> torch.device:
        """Where models are measured."""
        return self.text.ordinary.device

    def num_words(self) -> int:
        """How many words are hidden."""
        batches = (self.text.batch(each.rows.to(self.device), each.length) for each in self.slots)
        return sum(int((batch.targets != NONE).sum()) for batch in batches)

    def scores(self, model: Bert) -> MaskedScores:
        """How well a model predicts them."""
        return masked_scores(model.to(self.device), self.text.batch, self.slots)


@contextmanager
def hidden_words(
    model: Bert,
    pipeline: TextPipeline,
    lines: Callable[[], Iterable[DocumentLine]],
    *,
    source: str | PathLike[str] = "the text",
    length: int = 128,
) -> Iterator[HiddenWords]:
    """Cut a text for a model, and hide words in it, for as long as they are asked for.

    For a model that reads from left to right nothing is hidden: each next piece is asked for.

    Args:
        model: Says how long an excerpt may be, and whether it is a pair.
        pipeline: The model's.
        lines: Opens the text.
        source: Where it comes from, for errors.
        length: Tokens of an excerpt.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "corpus"
        write_documents(folder, pipeline, {"valid": lines}, source=source)
        documents = read_documents(folder).documents("valid")
        masking = None if model.config.direction == "left" else Masking()
        text = MaskedText.of(documents.ids, pipeline, masking, device=device)
        length = min(length, model.config.max_length)
        slots = measured_slots(documents, length, pairs=model.next_head is not None)
        if not slots:
            raise InputError("is too short to hide a word in", source=source)
        yield HiddenWords(text, slots, length, documents.num_pieces)


def evaluate_masked(
    bundle: Bundle, data: Path, *, rename: Mapping[str, str] | None = None, length: int = 128
) -> dict[str, Any]:
    """Loss and accuracy of both objectives of a bundle on a file of text, or its perplexity.

    Args:
        bundle: Of a pretrained encoder that kept its heads.
        data: Any text file.
        rename: Our column's name to that of the file.
        length: Tokens of an excerpt.
    """
    model, pipeline = load_encoder(bundle), fitting_pipeline(bundle)
    if model.word_head is None:
        raise BundleError(f"{bundle.path}: was kept without its heads; there is nothing to measure")

    def lines() -> Iterator[DocumentLine]:
        return read_lines([data], rename=rename)

    with hidden_words(model, pipeline, lines, source=data, length=length) as hidden:
        report: dict[str, Any] = hidden.scores(model).report()
    return {**report, "pieces": hidden.num_pieces, "length": hidden.length}


@torch.inference_mode()
def text_likelihood(model: Elmo, streams: Streams, *, unroll: int = 20) -> Likelihood:
    """The likelihood of every word after the first of each stream, against all of the vocabulary.

    State is carried along each stream, so that a word is predicted from all that came before it.

    Args:
        model: With its softmax.
        streams: The text; few streams lose little at their beginnings, many are faster.
        unroll: Words read at a time; where a biLM runs the fast way, its state is clipped after
            each of them, as it was in training.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    words = model.word_table()
    state, found = model.initial_state(streams.num_streams), Likelihood()
    last = streams.stream_length - 1
    for start in range(0, last, unroll):
        slot = streams.slot(start, min(unroll, last - start))
        batch = streams.batch(slot.rows.to(device), slot.length)._replace(state=state)
        output = model(batch, words)
        state = output.state
        found.add(output, batch)
    model.train(was_training)
    return found


MOST_STREAMS = 32
WORDS_OF_A_STREAM = 500
"""At least so many, so that its beginning counts little."""


def perplexity(
    bundle: Bundle, texts: Sequence[str], *, source: str | PathLike[str] = "the text for the gate"
) -> dict[str, float | int]:
    """Perplexity against the bundle's own vocabulary, with what it depends on.

    Args:
        bundle: A biLM that kept its softmax.
        texts: What it shall predict.
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

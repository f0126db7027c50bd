"""How well hidden words are foretold: a model over batches, a bundle over a file. Needs torch."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    bin_rows,
    read_documents,
    write_documents,
)
from softquery.errors import BundleError, InputError
from softquery.files import DocumentLine, read_lines
from softquery.models import Bert
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_encoder
from softquery.tasks import MaskedScores
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
    scores = MaskedScores()
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
        """How well a model foretells them."""
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
        text = MaskedText.of(documents.ids, pipeline, Masking(), device=device)
        length = min(length, model.config.max_length)
        slots = measured_slots(documents, length, pairs=model.next_head is not None)
        if not slots:
            raise InputError("is too short to hide a word in", source=source)
        yield HiddenWords(text, slots, length, documents.num_pieces)


def evaluate_masked(
    bundle: Bundle, data: Path, *, rename: Mapping[str, str] | None = None, length: int = 128
) -> dict[str, Any]:
    """Loss and accuracy of both objectives of a bundle on a file of text.

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

"""Classifiers of texts in torch, on a CPU or a GPU: loaded, fed and asked."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softquery.bundle import Bundle
from softquery.data import (
    Documents,
    DocumentShape,
    Slot,
    TextBatch,
    Texts,
    document_slots,
    encode_ids,
    encode_words,
    in_order,
)
from softquery.errors import BundleError
from softquery.models import Attentive, Hierarchical
from softquery.nn import ElmoEmbedder
from softquery.runtime.batches import Floats
from softquery.runtime.classify.backend import Weighed, reading_of
from softquery.runtime.torch_device import TorchModel, evaluating
from softquery.runtime.torch_models import load_task_model
from softquery.text import TextInput, TextPipeline, Tokens

BATCH = 64
"""Texts that are answered at a time."""
NUM_TOKENS = 1 << 16
"""Of a batch of documents that is measured."""
WORDS = 16
"""To a multiple of which their sentences are padded then."""


class TorchClassifyBackend:
    """A classifier as a torch module; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._torch = TorchModel(lambda: load_classifier_model(bundle), device, threads)
        self.model, self.name = self._torch.module, self._torch.name
        self.pipeline = pipeline
        self.reading = reading_of(bundle.config.model["config"])

    def logits(self, texts: Sequence[Tokens]) -> Floats:
        """Logits [N, C] of texts."""
        found: Floats = class_logits(self.model, self._packed(texts), batch_size=BATCH).numpy()
        return found

    @torch.inference_mode()
    def weigh(self, text: Tokens) -> Weighed:
        """Logits and weights of one text."""
        lengths = [len(sentence) for sentence in text]
        longest = max([1, *lengths])
        data = self._packed([text])
        length = (
            longest
            if isinstance(data, Texts)
            else DocumentShape(max(1, len(text)), longest).as_length
        )
        batch = data.batch(torch.tensor([0], device=self._torch.device), length)
        output = self.model(batch)
        states = None
        if isinstance(self.model, Attentive) and isinstance(batch, TextBatch):
            states = self.model.states(batch)[0, : lengths[0]].float().cpu().numpy()
        words = output.word_weights[0].float().cpu().numpy().reshape(-1, longest)
        shares = output.sentence_weights
        return Weighed(
            output.logits[0].float().cpu().numpy(),
            [row[:count] for row, count in zip(words, lengths, strict=False)],
            None if shares is None else shares[0, : len(text)].float().cpu().numpy(),
            states,
        )

    @torch.inference_mode()
    def _packed(self, texts: Sequence[Tokens]) -> Texts | Documents:
        longest = getattr(self.model.config, "max_characters", 0)
        made = packed(texts, self.reading, self.pipeline, max_characters=longest)
        return read_by(self.model, made.to(self._torch.device))


def load_classifier_model(bundle: Bundle) -> Attentive | Hierarchical:
    """The model of a classifier with its weights, in evaluation mode."""
    model = load_task_model(bundle)
    if not isinstance(model, (Attentive, Hierarchical)):
        raise BundleError(f"{bundle.path}: expected a classifier, found a {bundle.config.kind}")
    return model


def packed(
    texts: Sequence[Any], reading: TextInput, pipeline: TextPipeline, *, max_characters: int = 0
) -> Texts | Documents:
    """Texts as they were read, as tensors.

    Args:
        texts: The sentences of each, as `reading` gave them.
        reading: How they were read.
        pipeline: Knows the words.
        max_characters: Symbols by which words are spelt, where they are.
    """
    if reading.max_sentences is not None:
        return Documents.pack(texts)
    sentences = [text[0] for text in texts]
    if reading.tokens == "words":
        return encode_words(sentences, pipeline, max_characters=max_characters)
    return encode_ids(sentences, vocab_size=pipeline.vocab_size)


def read_by(model: nn.Module, data: Texts | Documents) -> Texts | Documents:
    """Texts whose words a frozen biLM inside has read beforehand."""
    embedder = model.embedder
    if not isinstance(embedder, ElmoEmbedder) or not isinstance(data, Texts):
        return data
    return Texts(data.sentences, embedder.read(data.lexicon), data.label, data.num_cut)


@torch.inference_mode()
def class_logits(
    model: nn.Module, data: Texts | Documents, *, batch_size: int = 256
) -> Float[Tensor, "N C"]:
    """Logits of every text, in their order, on the CPU."""
    device = next(model.parameters()).device
    answers: Tensor | None = None
    with evaluating(model):
        for slot in _slots(data, batch_size):
            rows = slot.rows.to(device)
            logits = model(data.batch(rows, slot.length)).logits.float()
            if answers is None:
                answers = logits.new_empty(len(data), logits.shape[1])
            answers[rows] = logits
    return torch.empty(0, 0) if answers is None else answers.cpu()


def _slots(data: Texts | Documents, batch_size: int) -> Iterable[Slot]:
    if isinstance(data, Texts):
        return in_order(data.lengths().cpu(), batch_size=batch_size)
    return document_slots(data.shapes(WORDS), batch_size=batch_size, num_tokens=NUM_TOKENS)

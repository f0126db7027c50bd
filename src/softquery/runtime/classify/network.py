"""A classifier of texts as a torch module: loaded, fed and asked. Needs torch."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from softquery.bundle import Bundle
from softquery.data import (
    Documents,
    Slot,
    Texts,
    document_slots,
    encode_ids,
    encode_words,
    in_order,
)
from softquery.errors import BundleError
from softquery.models import Attentive, Hierarchical
from softquery.nn import ElmoEmbedder
from softquery.runtime.torch_models import load_task_model
from softquery.text import TextInput, TextPipeline

NUM_TOKENS = 1 << 16
"""Of a batch of documents that is measured."""
WORDS = 16
"""To a multiple of which their sentences are padded then."""


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
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    answers: Tensor | None = None
    for slot in _slots(data, batch_size):
        rows = slot.rows.to(device)
        logits = model(data.batch(rows, slot.length)).logits.float()
        if answers is None:
            answers = logits.new_empty(len(data), logits.shape[1])
        answers[rows] = logits
    model.train(was_training)
    return torch.empty(0, 0) if answers is None else answers.cpu()


def _slots(data: Texts | Documents, batch_size: int) -> Iterable[Slot]:
    if isinstance(data, Texts):
        return in_order(data.lengths().cpu(), batch_size=batch_size)
    return document_slots(data.shapes(WORDS), batch_size=batch_size, num_tokens=NUM_TOKENS)

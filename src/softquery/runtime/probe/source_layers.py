"""The encoder of a generator as layers of vectors for words (McCann et al. 2017, "CoVe")."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from softquery.bundle import Bundle
from softquery.data import Tokens
from softquery.models import Seq2Seq, Transformer
from softquery.runtime.fit_checks import fitting_pipeline, fitting_source_pipeline
from softquery.runtime.generate.torch import load_generator_model
from softquery.runtime.probe.layers import Layers, batches
from softquery.text import PAD_ID, TextPipeline

LONGEST = 100_000
"""Tokens of a sentence; only positions that were learnt end sooner."""


class SourceLayers:
    """What a generator's encoder makes of each word of a sentence.

    A word of several pieces is the mean of their vectors; one that was cut off is zeros.

    Args:
        model: On the device where it shall run.
        pipeline: By which it reads its sources.
    """

    def __init__(self, model: Seq2Seq | Transformer, pipeline: TextPipeline) -> None:
        limit = LONGEST
        if isinstance(model, Transformer) and model.config.positions == "learned":
            limit = min(pipeline.config.max_tokens, model.config.max_length)
        self.model = model.eval()
        self.pipeline = TextPipeline(pipeline.tokenizer, replace(pipeline.config, max_tokens=limit))

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[Layers]:
        """Read every sentence, those of like length together."""
        read = self.pipeline.encode([" ".join(sentence) for sentence in sentences])
        found: dict[int, Layers] = {}
        for rows in batches([len(each.ids) for each in read]):
            layers = self._read([read[row].ids for row in rows])
            for place, row in enumerate(rows):
                owners = _owners(sentences[row], read[row].offsets)
                found[row] = _pooled(layers[:, place], owners, len(sentences[row]))
        return [found[row] for row in range(len(sentences))]

    def _read(self, ids: list[list[int]]) -> Layers:
        """Layers × sentences × tokens × width."""
        device = next(self.model.parameters()).device
        padded = pad_sequence(list(map(torch.tensor, ids)), batch_first=True, padding_value=PAD_ID)
        lengths = torch.tensor(list(map(len, ids)))
        mask = torch.arange(padded.shape[1]) < lengths[:, None]
        with torch.inference_mode():
            tokens = Tokens(padded.to(device), mask.to(device))
            layers: Layers = torch.stack(self.model.source_layers(tokens)).float().cpu().numpy()
        return layers


def load_source_layers(bundle: Bundle, device: str | None = None) -> SourceLayers:
    """The encoder of a generator's bundle, ready to be probed."""
    pipeline = fitting_source_pipeline(bundle, fitting_pipeline(bundle))
    return SourceLayers(load_generator_model(bundle, device, None), pipeline)


def _owners(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[int]:
    """The word that each token is a part of; -1 for what has no width, such as both ends."""
    ends = np.cumsum([len(word) + 1 for word in words])
    return [
        int(np.searchsorted(ends, end - 1, side="right")) if end > start else -1
        for start, end in spans
    ]


def _pooled(layers: Layers, owners: list[int], num_words: int) -> Layers:
    """The mean of each word's tokens, on every layer."""
    shares = np.zeros((num_words, len(owners)), dtype=np.float32)
    for token, word in enumerate(owners):
        if word >= 0:
            shares[word, token] = 1
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    means: Layers = shares @ layers[:, : len(owners)]
    return means

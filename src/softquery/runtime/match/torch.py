"""A matcher's model in torch, on a CPU or a GPU."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from softquery.bundle import Bundle
from softquery.data import Pairs, Sentences, Tokens
from softquery.models import PairOutput
from softquery.models.pair_output import EncodedSentence
from softquery.nn import ElmoEmbedder, Lexicon
from softquery.runtime.batches import Floats, Ids, padded_ids, padded_rows
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.inner.inner_weights import reads_words
from softquery.runtime.inner.torch import Speller
from softquery.runtime.match.backend import Alignment, Read
from softquery.runtime.torch_device import TorchModel
from softquery.runtime.torch_models import load_matcher_model, pair_logits

BATCH = 256
"""Pairs of encodings that are compared at a time."""
GPU_BATCH = 1024
"""Pairs that are read at a time on a GPU, which idles on small batches."""


class TorchMatchBackend:
    """A matcher as a torch module; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        self._torch = TorchModel(lambda: load_matcher_model(bundle), device, threads)
        self.model, self.name = self._torch.module, self._torch.name
        embedder = self.model.embedder
        self._speller = None
        if reads_words(bundle) and isinstance(embedder, ElmoEmbedder):
            pipeline, longest = fitting_pipeline(bundle), embedder.characters.shape[1]
            self._speller = Speller(embedder, pipeline, longest, self._torch.device)

    @torch.inference_mode()
    def encode(self, sentences: Read) -> list[Floats]:
        """What `compare` needs of each sentence."""
        (rows,), lexicon = self._numbered(sentences)
        ids, lengths = padded_ids(rows)
        tokens = Tokens(self._torch.put(ids), self._torch.mask(lengths, ids.shape[1]))
        encoded = self.model.encode(tokens, lexicon)
        if isinstance(encoded, Tensor):
            return list(encoded.cpu().numpy())
        states = encoded.states.cpu().numpy()
        return [row[:length] for row, length in zip(states, lengths.tolist(), strict=True)]

    def compare(self, first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
        """Logits of encodings pairwise, or of one first side with every second side."""
        parts = []
        for start in range(0, len(second), BATCH):
            some = first if len(first) == 1 else first[start : start + BATCH]
            output = self._compared(some, second[start : start + BATCH])
            parts.append(output.logits.float().cpu().numpy())
        return np.concatenate(parts)

    def align(self, first: Floats, second: Floats) -> Alignment | None:
        """Logits and alignments of one pair; None for a model that aligns nothing."""
        output = self._compared([first], [second])
        if output.first_to_second is None or output.second_to_first is None:
            return None
        return Alignment(
            output.logits[0].cpu().numpy(),
            output.first_to_second[0].cpu().numpy(),
            output.second_to_first[0].cpu().numpy(),
        )

    def pair_logits(self, first: Read, second: Read) -> Floats:
        """Logits straight from sentences, one forward pass per batch."""
        rows, lexicon = self._numbered(first, second)
        sides = [Sentences.pack(side) for side in rows]
        pairs = Pairs(sides[0], sides[1], torch.zeros(len(first)), lexicon=lexicon)
        device = self._torch.device
        size = GPU_BATCH if device.type == "cuda" else BATCH
        answers: Floats = pair_logits(self.model, pairs.to(device), batch_size=size).numpy()
        return answers

    def _numbered(self, *sides: Read) -> tuple[list[Ids], Lexicon | None]:
        """Ids as they are, words by a lexicon of their own."""
        if self._speller is None:
            return list(sides), None
        numbers = self._speller.numbers()
        rows: list[Ids] = [numbers.encode_with_ends(side) for side in sides]
        return rows, self._speller.lexicon(numbers.words)

    @torch.inference_mode()
    def _compared(self, first: Sequence[Floats], second: Sequence[Floats]) -> PairOutput:
        everyone = list(first) * len(second) if len(first) == 1 else list(first)
        sides = [self._given(side) for side in (everyone, second)]
        output: PairOutput = self.model.compare(*sides)
        return output

    def _given(self, encodings: Sequence[Floats]) -> EncodedSentence | Tensor:
        """Encodings as the model compares them: states of every token, or one vector each."""
        if encodings[0].ndim == 1:
            return self._torch.put(np.stack(encodings).astype(np.float32))
        rows, lengths = padded_rows(encodings)
        return EncodedSentence(self._torch.put(rows), self._torch.mask(lengths, rows.shape[1]))

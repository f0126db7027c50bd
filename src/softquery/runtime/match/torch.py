"""A matcher's model in torch, on a CPU or a GPU."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from softquery.bundle import Bundle
from softquery.data import Pairs, Sentences, Tokens
from softquery.errors import ConfigError
from softquery.models import Esim, PairOutput
from softquery.models.esim import EncodedSentence
from softquery.nn import ElmoEmbedder, Lexicon
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.inner.reads import reads_words
from softquery.runtime.inner.speller import Speller
from softquery.runtime.match.backend import Alignment, Floats, Ids, Read, padded_ids, padded_rows
from softquery.runtime.torch_models import load_matcher_model, pair_logits

BATCH = 256
"""Pairs of encodings that are compared at a time."""


class TorchMatchBackend:
    """A bundle's model as a torch module on one device.

    Args:
        bundle: The model folder.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
        threads: How many threads torch may use, in the whole process; None leaves it as it is.
    """

    def __init__(
        self, bundle: Bundle, device: str | None = None, threads: int | None = None
    ) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self.device = torch.device(chosen)
            self.model = load_matcher_model(bundle).to(self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"device {chosen!r} cannot be used: {reason}") from None
        embedder = self.model.embedder
        self._speller = None
        if reads_words(bundle) and isinstance(embedder, ElmoEmbedder):
            pipeline, longest = fitting_pipeline(bundle), embedder.characters.shape[1]
            self._speller = Speller(embedder, pipeline, longest, self.device)

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    @torch.inference_mode()
    def encode(self, sentences: Read) -> list[Floats]:
        """What `compare` needs of each sentence."""
        (rows,), lexicon = self._numbered(sentences)
        ids, lengths = padded_ids(rows)
        mask = torch.arange(ids.shape[1]) < torch.from_numpy(lengths).unsqueeze(1)
        tokens = Tokens(torch.from_numpy(ids).to(self.device), mask.to(self.device))
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
        """Logits straight from sentences, one forward pass a batch."""
        rows, lexicon = self._numbered(first, second)
        sides = [Sentences.pack(side) for side in rows]
        pairs = Pairs(sides[0], sides[1], torch.zeros(len(first)), lexicon=lexicon)
        answers: Floats = pair_logits(self.model, pairs.to(self.device)).numpy()
        return answers

    def _numbered(self, *sides: Read) -> tuple[list[Ids], Lexicon | None]:
        """Ids as they are, words by a lexicon of their own."""
        if self._speller is None:
            return list(sides), None
        numbers = self._speller.numbers()
        rows: list[Ids] = [numbers.number_within(side) for side in sides]
        return rows, self._speller.lexicon(numbers.words)

    @torch.inference_mode()
    def _compared(self, first: Sequence[Floats], second: Sequence[Floats]) -> PairOutput:
        everyone = list(first) * len(second) if len(first) == 1 else list(first)
        if isinstance(self.model, Esim):
            return self.model.compare(self._sentences(everyone), self._sentences(second))
        sides = [
            torch.from_numpy(np.stack(side).astype(np.float32)).to(self.device)
            for side in (everyone, second)
        ]
        compared: PairOutput = self.model.compare(sides[0], sides[1])
        return compared

    def _sentences(self, encodings: Sequence[Floats]) -> EncodedSentence:
        rows, lengths = padded_rows(encodings)
        mask = torch.arange(rows.shape[1]) < torch.from_numpy(lengths).unsqueeze(1)
        return EncodedSentence(torch.from_numpy(rows).to(self.device), mask.to(self.device))

"""A tagger in torch, on a CPU or a GPU."""

from collections.abc import Sequence

from softquery.bundle import Bundle
from softquery.data import Sentences, Texts
from softquery.runtime.batches import Floats
from softquery.runtime.inner.torch import Speller
from softquery.runtime.tag.backend import Chain
from softquery.runtime.torch_device import TorchModel
from softquery.runtime.torch_models import load_tagger, max_characters, tag_scores
from softquery.text import TextPipeline

BATCH = 64
"""Sentences that are tagged at a time."""


class TorchTagBackend:
    """A tagger as a torch module; `device` and `threads` are those of `TorchModel`."""

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._torch = TorchModel(lambda: load_tagger(bundle), device, threads)
        self.model, self.name = self._torch.module, self._torch.name
        longest = max_characters(self.model.config)
        self._speller = Speller(self.model.embedder, pipeline, longest, self._torch.device)

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, C] of the tags of every sentence, and of tags in a chain."""
        return tag_scores(self.model, self._read(sentences), batch_size=BATCH)

    def _read(self, sentences: Sequence[Sequence[str]]) -> Texts:
        numbers = self._speller.numbers()
        rows = Sentences.pack(numbers.encode(sentences)).to(self._torch.device)
        return Texts(rows, self._speller.lexicon(numbers.words))

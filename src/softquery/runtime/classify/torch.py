"""Classifiers of texts in torch, on a CPU or a GPU."""

from collections.abc import Sequence

import torch

from softquery.bundle import Bundle
from softquery.data import Documents, DocumentShape, Texts
from softquery.runtime.classify.backend import Floats, Weighed
from softquery.runtime.classify.network import class_logits, load_classifier_model, packed, read_by
from softquery.runtime.fit_checks import reading_of
from softquery.runtime.torch_device import on_device
from softquery.text import TextPipeline, Tokens

BATCH = 64
"""Texts that are answered at a time."""


class TorchClassifyBackend:
    """A classifier as a torch module on one device.

    Args:
        bundle: The model folder.
        pipeline: Of the bundle.
        device: `"cpu"`, `"cuda"`, or None for a GPU where there is one.
        threads: How many threads torch may use, in the whole process; None leaves it as it is.
    """

    def __init__(
        self,
        bundle: Bundle,
        pipeline: TextPipeline,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.model, self.device = on_device(lambda: load_classifier_model(bundle), device, threads)
        self.pipeline = pipeline
        self.reading = reading_of(bundle.config.model["config"])

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

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
        output = self.model(data.batch(torch.tensor([0], device=self.device), length))
        words = output.word_weights[0].float().cpu().numpy().reshape(-1, longest)
        shares = output.sentence_weights
        return Weighed(
            output.logits[0].float().cpu().numpy(),
            [row[:count] for row, count in zip(words, lengths, strict=False)],
            None if shares is None else shares[0, : len(text)].float().cpu().numpy(),
        )

    @torch.inference_mode()
    def _packed(self, texts: Sequence[Tokens]) -> Texts | Documents:
        longest = getattr(self.model.config, "max_characters", 0)
        made = packed(texts, self.reading, self.pipeline, max_characters=longest)
        return read_by(self.model, made.to(self.device))

"""A reader in torch, on a CPU or a GPU."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from softquery.answers import ContextWindow, SpanScores
from softquery.bundle import Bundle
from softquery.data import Questions, encode_windows
from softquery.errors import BundleError, ConfigError
from softquery.nn import ElmoEmbedder
from softquery.runtime.read.backend import Floats
from softquery.runtime.read.network import load_reader_model, span_scores
from softquery.runtime.torch_models import max_characters
from softquery.text import TextPipeline

BATCH = 32
"""Windows that are read at a time."""


class TorchReadBackend:
    """A reader as a torch module on one device.

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
        if threads is not None:
            torch.set_num_threads(threads)
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self.device = torch.device(chosen)
            self.model = load_reader_model(bundle).to(self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"device {chosen!r} cannot be used: {reason}") from None
        self.path, self.pipeline = bundle.path, pipeline

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    def scores(self, windows: Sequence[ContextWindow]) -> list[SpanScores]:
        """Where the answer begins and ends, for every window."""
        return span_scores(self.model, self._encoded(windows), batch_size=BATCH)

    @torch.inference_mode()
    def meeting(self, window: ContextWindow) -> Floats:
        """How well the words of the context and of the question answer each other."""
        made = self._encoded([window])
        length, question_length = int(made.lengths()[0]), max(1, len(window.question))
        rows = torch.zeros(1, dtype=torch.int64, device=self.device)
        found = self.model(made.batch(rows, length, question_length=question_length)).scores
        if found is None:
            raise BundleError(f"{self.path}: this model compares no words, so it shows none")
        scores: Floats = found[0, :, : len(window.question)].float().cpu().numpy()
        return scores

    @torch.inference_mode()
    def _encoded(self, windows: Sequence[ContextWindow]) -> Questions:
        longest = max_characters(self.model.config)
        made = encode_windows(windows, self.pipeline, max_characters=longest).to(self.device)
        embedder = self.model.embedder
        if not isinstance(embedder, ElmoEmbedder):
            return made
        return replace(made, lexicon=embedder.read(made.lexicon))

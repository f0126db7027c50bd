"""Models that read one text in torch, on a CPU or a GPU."""

from collections.abc import Sequence

import torch

from softquery.bundle import Bundle
from softquery.data import Sentences, Texts
from softquery.errors import ConfigError
from softquery.runtime.inner.speller import Speller
from softquery.runtime.tag.decode_tags import Chain, Floats
from softquery.runtime.torch_models import load_tagger, max_characters, tag_scores
from softquery.text import TextPipeline


class TorchTagBackend:
    """A tagger as a torch module on one device.

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
            self.model = load_tagger(bundle).to(self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"device {chosen!r} cannot be used: {reason}") from None
        longest = max_characters(self.model.config)
        self._speller = Speller(self.model.embedder, pipeline, longest, self.device)

    @property
    def name(self) -> str:
        """What computes."""
        return f"torch on {self.device.type}"

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, C] of the tags of every sentence, and of tags in a chain."""
        return tag_scores(self.model, self._read(sentences), batch_size=64)

    def _read(self, sentences: Sequence[Sequence[str]]) -> Texts:
        numbers = self._speller.numbers()
        rows = Sentences.pack(numbers.encode(sentences)).to(self.device)
        return Texts(rows, self._speller.lexicon(numbers.words))

"""A pretrained encoder that gives vectors of pieces in their context. Needs no torch once exported.

L layers, T pieces, D width.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from softquery.answers import Generated
from softquery.answers.fill import Filled
from softquery.bundle import Bundle
from softquery.errors import ConfigError
from softquery.explain import SelfAttention
from softquery.runtime.batches import Floats
from softquery.runtime.bert.backend import BertRow
from softquery.runtime.call_checks import listed_sentences, listed_words
from softquery.runtime.embed.layer_choice import Choice, Mix, check_choice, chosen
from softquery.runtime.embed.self_looks import self_attention
from softquery.runtime.embed.text_means import mean_vectors
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Advance, Sentences, Texts
from softquery.runtime.kinds import check_kind
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.text import PieceEncoder
from softquery.text.text_config import BERT_CLS, BERT_SEP

if TYPE_CHECKING:
    from softquery.runtime.fill.model import MaskFiller
    from softquery.runtime.generate.model import Generator
    from softquery.runtime.generate.request import GenerateRequest

Text = str | Sequence[str]
"""A sentence, or its words where it is cut already."""


class PieceNetwork(Protocol):
    """An encoder without a head."""

    @property
    def name(self) -> str:
        """The name of the backend, such as `"onnx"`."""

    def states(self, rows: Sequence[BertRow]) -> list[Floats]:
        """The hidden states of each row: [L, T, D]."""


class PieceEmbedder:
    """Vectors of pieces, the marks at both ends among them; used like `ContextEmbedder`.

    Args:
        bundle: The model folder.
        network: Its encoder.
        open_filler: Opens the same bundle to fill masks with, when that is first asked for.
        open_generator: Opens it to go on from texts, likewise.
    """

    learnt_mix: Mix | None = None
    num_marks = 1
    """At each end of a text."""

    def __init__(
        self,
        bundle: Bundle,
        network: PieceNetwork,
        open_filler: "Callable[[], MaskFiller]",
        open_generator: "Callable[[], Generator]",
    ) -> None:
        self.bundle, self.backend = bundle, network
        self._open_filler, self._open_generator = open_filler, open_generator
        self.pipeline = fitting_pipeline(bundle)
        self._cutting = PieceEncoder(self.pipeline)
        sizes = bundle.config.model["config"]
        self.num_layers: int = sizes["num_layers"] + 1
        """With layer 0, the pieces without their context."""
        self.output_size: int = sizes["hidden_size"]
        self.max_tokens: int = min(self.pipeline.config.max_tokens, sizes["max_length"])
        self.mix = Mix.average(self.num_layers)

    def __repr__(self) -> str:
        return model_repr(self, num_layers=self.num_layers, output_size=self.output_size)

    def tokens(self, texts: Sentences) -> list[list[str]]:
        """The pieces of each text between their marks, and all of them; given words are cut."""
        sentences = listed_sentences(texts)
        whole = [text if isinstance(text, str) else " ".join(text) for text in sentences]
        return [
            [BERT_CLS, *(name for name, _ in pieces), BERT_SEP]
            for pieces in self.pipeline.pieces(whole)
        ]

    def num_cut(self, tokens: Sequence[Sequence[str]]) -> int:
        """How many sentences are longer than the model's limit, and are cut to it."""
        return sum(len(sentence) > self.max_tokens for sentence in listed_words(tokens))

    def embed(self, texts: Sentences, *, layers: Choice | int = "all") -> list[Floats]:
        """Vectors for each text, [layers, pieces, width]; see `ContextEmbedder.embed`."""
        return self.embed_tokens(self.tokens(texts), layers=layers)

    @cached_property
    def filler(self) -> "MaskFiller":
        """The same bundle, opened to fill masks; one without a head for hidden words is refused."""
        return self._open_filler()

    def fill(
        self, text: str, *, top_k: int = 5, candidates: Iterable[str] | None = None
    ) -> list[Filled]:
        """Words for the masks of a text; see `MaskFiller.fill`."""
        return self.filler.fill(text, top_k=top_k, candidates=candidates)

    @cached_property
    def generator(self) -> "Generator":
        """The same bundle, opened to go on from texts; one that sees both sides is refused."""
        return self._open_generator()

    def generate(
        self, texts: Texts, request: "GenerateRequest | None" = None
    ) -> list[list[Generated]]:
        """What may follow each text, of a model that reads from left to right.

        See `Generator.generate`.
        """
        return self.generator.generate(texts, request)

    def explain(self, text: str) -> SelfAttention:
        """Whom every piece of a text asked, in every layer and head."""
        return self_attention(self, text)

    def encode(
        self, texts: Texts, *, advance: Advance = lambda done: None, progress: bool = False
    ) -> Floats:
        """A matrix [n, d] with a vector of length one for each text: the mean of its pieces.

        All layers are averaged, and marks left out. A text without pieces has zeros.
        """
        return mean_vectors(self, texts, advance, progress)

    def embed_tokens(
        self, tokens: Sequence[Sequence[str]], *, layers: Choice | int = "all"
    ) -> list[Floats]:
        """Vectors of sentences that are cut into pieces; one beyond the limit keeps its end."""
        check_choice(layers, self.num_layers)
        room = self.max_tokens - 2
        given = listed_words(tokens)
        rows = [BertRow.of(self._cutting.marked(_inner(each)[:room])) for each in given]
        return [chosen(each, layers, self.mix) for each in self.backend.states(rows)]

    def stream(self) -> "PieceEmbedder":
        """Refused: nothing runs on from one text to the next."""
        raise ConfigError("an encoder reads every line by itself; omit --stateful")


def _inner(names: Sequence[str]) -> list[str]:
    """Pieces without the marks around them."""
    inner = list(names)
    if inner[:1] == [BERT_CLS]:
        inner = inner[1:]
    return inner[:-1] if inner[-1:] == [BERT_SEP] else inner


def open_pieces(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> PieceEmbedder:
    """Open a bundle of a pretrained encoder; the arguments are those of `softquery.load`."""
    bundle = opened(name_or_path)
    check_kind(bundle, "encoder")

    def filler() -> "MaskFiller":
        from softquery.runtime.fill.model import open_filler

        return open_filler(bundle, backend=backend, threads=threads, device=device)

    def generator() -> "Generator":
        from softquery.runtime.generate.model import load_generator

        return load_generator(bundle, backend=backend, threads=threads, device=device)

    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.bert.onnx import OnnxBertEncoder

        return PieceEmbedder(bundle, OnnxBertEncoder(bundle, threads), filler, generator)
    with needs_torch():
        from softquery.runtime.bert.torch import TorchBertEncoder
    return PieceEmbedder(bundle, TorchBertEncoder(bundle, device, threads), filler, generator)

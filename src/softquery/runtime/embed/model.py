"""A bundle that gives vectors of words in their context."""

from collections.abc import Sequence
from dataclasses import replace

from softquery.bundle import Bundle
from softquery.errors import BundleError, InputError
from softquery.files import LONGEST_LINE
from softquery.runtime.call_checks import listed_sentences, listed_words
from softquery.runtime.embed.backend import ContextState, EmbedBackend
from softquery.runtime.embed.elmo import sizes_of
from softquery.runtime.embed.layer_choice import Choice, Mix, check_choice, chosen
from softquery.runtime.embed.text_means import mean_vectors
from softquery.runtime.embed.word_layers import CACHE_BYTES, WordsInContext, learnt_mix
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Advance, Sentences, Texts
from softquery.runtime.inner.inner_weights import has_inner
from softquery.runtime.inner.onnx import open_inner
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.match.backend import Floats
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.text import SUBWORDS, TextPipeline

Text = str | Sequence[str]
"""A sentence, or its words where it is cut already."""
CHUNK_LINES, CHUNK_TOKENS = 256, 8192
"""Lines that are computed together, and how many words they may have; results depend on nothing
outside of a chunk."""


@opened_by("softquery.load")
class ContextEmbedder:
    """Vectors of words in their context, from texts or from words. Safe from many threads.

    Args:
        bundle: The model folder.
        words: Its biLM.
        mix: What `layers="mix"` means, where the bundle has learnt one.
    """

    num_marks = 0
    """At each end of a text; an encoder has one."""

    def __init__(self, bundle: Bundle, words: WordsInContext, mix: Mix | None = None) -> None:
        self.bundle = bundle
        self.words = words
        self.backend = words.backend
        self.learnt_mix = mix
        self.mix = mix or Mix.average(words.num_layers)
        self.pipeline = fitting_pipeline(bundle)
        config = self.pipeline.config
        if config.unit in SUBWORDS:
            raise BundleError(
                f"{bundle.path / 'config.json'}: a biLM reads words, but text.unit is "
                f"{config.unit!r}"
            )
        self.max_tokens = config.max_tokens - 2 * config.boundaries
        # Cut here and not by the pipeline, which would not say how much.
        self._cutter = TextPipeline(
            self.pipeline.tokenizer, replace(config, boundaries=False, max_tokens=LONGEST_LINE)
        )

    def __repr__(self) -> str:
        return model_repr(self, num_layers=self.num_layers, output_size=self.output_size)

    @property
    def num_layers(self) -> int:
        """With layer 0, the word without its context."""
        return self.words.num_layers

    @property
    def output_size(self) -> int:
        """Width of a vector."""
        return self.words.output_size

    def tokens(self, texts: Sentences) -> list[list[str]]:
        """The words of each text as the model's pipeline cuts them, and all of them.

        What is given as words stays as it is.
        """
        texts = listed_sentences(texts)
        strings = [text for text in texts if isinstance(text, str)]
        cut = iter(self._cutter.words(strings))
        return [next(cut) if isinstance(text, str) else _checked(text) for text in texts]

    def num_cut(self, tokens: Sequence[Sequence[str]]) -> int:
        """How many sentences are longer than the model's limit, and are cut to it."""
        return sum(len(sentence) > self.max_tokens for sentence in listed_words(tokens))

    def embed(self, texts: Sentences, *, layers: Choice | int = "all") -> list[Floats]:
        """Vectors for each text, [layers, words, width], in the order of the texts.

        A text's vectors depend on its own words and nothing else; one without words has none. Texts
        beyond the model's limit are cut to it (`num_cut`).

        Args:
            texts: Sentences, or lists of words, which are taken as they are.
            layers: `"all"`; `"mix"`, by the weights that the bundle has learnt, else the average;
                `"top"`; `"average"`; or the number of one. One layer is still a first axis.
        """
        check_choice(layers, self.num_layers)
        tokens = self.tokens(texts)
        found: list[Floats] = []
        for part in chunks(tokens):
            found += self.embed_tokens(part, layers=layers)
        return found

    def encode(
        self, texts: Texts, *, advance: Advance = lambda done: None, progress: bool = False
    ) -> Floats:
        """A matrix [n, d] with a vector of length one for each text: the mean of its words.

        Layers are mixed as `layers="mix"` does. A text without words has zeros.
        """
        return mean_vectors(self, texts, advance, progress)

    def embed_tokens(
        self, tokens: Sequence[Sequence[str]], *, layers: Choice | int = "all"
    ) -> list[Floats]:
        """Vectors of one chunk of sentences that are cut into words; see `embed`."""
        given = listed_words(tokens)
        every = self.words.layers([sentence[: self.max_tokens] for sentence in given])
        return [chosen(each, layers, self.mix) for each in every]

    def stream(self) -> "EmbeddingStream":
        """A text whose lines are read one after the other, each with the state of those before."""
        return EmbeddingStream(self)


class EmbeddingStream:
    """Lines of one text, read with a state that runs on, as biLMs are pretrained.

    Args:
        embedder: The model.
    """

    def __init__(self, embedder: ContextEmbedder) -> None:
        self.embedder = embedder
        self.state: ContextState | None = None

    def embed(self, texts: Sentences, *, layers: Choice | int = "all") -> list[Floats]:
        """Vectors of the next lines; see `ContextEmbedder.embed`."""
        check_choice(layers, self.embedder.num_layers)
        return self.embed_tokens(self.embedder.tokens(texts), layers=layers)

    def embed_tokens(
        self, tokens: Sequence[Sequence[str]], *, layers: Choice | int = "all"
    ) -> list[Floats]:
        """Vectors of the next lines, which are cut into words."""
        found: list[Floats] = []
        for sentence in listed_words(tokens):
            kept = sentence[: self.embedder.max_tokens]
            (each,), self.state = self.embedder.words.carry([kept], self.state)
            found.append(chosen(each, layers, self.embedder.mix))
        return found


def chunks(tokens: Sequence[list[str]]) -> list[list[list[str]]]:
    """Sentences in parts of a bounded size, in order."""
    parts: list[list[list[str]]] = []
    size = CHUNK_TOKENS
    for sentence in tokens:
        size += len(sentence)
        if not parts or size > CHUNK_TOKENS or len(parts[-1]) == CHUNK_LINES:
            parts.append([])
            size = len(sentence)
        parts[-1].append(sentence)
    return parts


def open_embedder(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> ContextEmbedder:
    """Open a bundle of word vectors in context by its name in the zoo or by its folder.

    A matcher or a tagger with a biLM inside is one as well.

    Args:
        name_or_path: Such as `"elmo-en"`, or a folder, or a bundle that is read already.
        backend: See `softquery.load`.
        threads: See `softquery.load`.
        device: See `softquery.load`.
        cache_bytes: How much memory the vectors of words by themselves may take; 0 for none.
    """
    bundle = opened(name_or_path)
    sizes = sizes_of(bundle)
    if choose_backend(bundle, backend, threads, device) == "torch":
        computes = _on_torch(bundle, device, threads)
        words = WordsInContext(computes, sizes, cache_bytes=cache_bytes)
    else:
        inside = open_inner(bundle, threads, cache_bytes=cache_bytes)
        words = inside or WordsInContext.open(bundle, threads=threads, cache_bytes=cache_bytes)
    return ContextEmbedder(bundle, words, learnt_mix(bundle))


def _on_torch(bundle: Bundle, device: str | None, threads: int | None) -> EmbedBackend:
    with needs_torch():
        from softquery.runtime.embed.torch import TorchEmbedBackend
        from softquery.runtime.torch_models import load_embedder, load_task_model
    model = load_task_model(bundle).embedder.bilm if has_inner(bundle) else load_embedder(bundle)
    return TorchEmbedBackend(model, device, threads)


def _checked(words: Sequence[str]) -> list[str]:
    if not all(isinstance(word, str) and word for word in words):
        odd = next(word for word in words if not isinstance(word, str) or not word)
        raise InputError(f"expected words, found {odd!r:.40}", source="the texts")
    return list(words)

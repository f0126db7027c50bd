"""A tagging bundle that answers."""

from collections.abc import Sequence
from typing import Any, Protocol

from softquery.answers import Tagged, TagSet
from softquery.bundle import Bundle
from softquery.runtime.bert.backend import BertTagBackend, is_bert, open_bert
from softquery.runtime.call_checks import listed_sentences, listed_words
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Sentences, in_view
from softquery.runtime.inner.onnx import open_inner
from softquery.runtime.kinds import check_kind, check_task
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.runtime.tag.backend import Chain, Floats, decode_tags, is_word_head
from softquery.text import TextPipeline, in_parts, rejoined

Text = str | Sequence[str]
"""A sentence as it is written, or cut into words already."""
CHUNK = 256
"""Sentences of a bulk call that are answered together."""


class TagBackend(Protocol):
    """Computes for a tagger: ONNX Runtime, torch, or a BERT on either."""

    @property
    def name(self) -> str:
        """The name of the backend, such as `"onnx"`."""

    def scores(self, sentences: Sequence[Sequence[str]]) -> tuple[list[Floats], Chain | None]:
        """Scores [T, C] of the tags of every sentence, and of tags in a chain."""


@opened_by("softquery.load")
class Tagger:
    """Says of every word what it is.

    Args:
        bundle: The model folder.
        pipeline: Of the bundle.
        backend: What computes its scores.
    """

    chunk = CHUNK

    def __init__(self, bundle: Bundle, pipeline: TextPipeline, backend: TagBackend) -> None:
        self.bundle = bundle
        self.pipeline = pipeline
        self.tags = TagSet.from_dict(bundle.config.task)
        self.backend = backend

    def __repr__(self) -> str:
        return model_repr(self, tags=self.tags.labels)

    @property
    def report(self) -> dict[str, Any] | None:
        """What a run on a file found and measured, as its `report.json` has it; None without."""
        return self.bundle.report

    def predict(self, texts: Sentences, *, progress: bool = False) -> list[Tagged]:
        """The tags of each text, in the scheme that the bundle writes."""
        return in_view(listed_sentences(texts), self._tag, "texts", chunk=CHUNK, progress=progress)

    def _tag(self, texts: list[Any]) -> list[Tagged]:
        words = self.words(texts)
        found = zip(texts, words, self.own_tags(words), strict=True)
        return [self.tagged(text, tokens, tags) for text, tokens, tags in found]

    def tagged(self, text: Text, words: Sequence[str], tags: Sequence[str]) -> Tagged:
        """The answer to a text, from its words and their tags in the model's own scheme."""
        return Tagged(
            tuple(words),
            tuple(self.tags.write(tags)),
            tuple(self.tags.spans(tags)),
            text if isinstance(text, str) else None,
        )

    def own_tags(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tags of sentences that are cut into words, in the model's own scheme."""
        found: list[list[str]] = []
        sentences = listed_words(sentences)
        limit = self.pipeline.config.max_tokens
        for start in range(0, len(sentences), CHUNK):
            chunk = sentences[start : start + CHUNK]
            scores, chain = self.backend.scores(list(in_parts(chunk, limit)))
            tags = decode_tags(scores, self.tags, chain)
            found += rejoined(tags, [len(words) for words in chunk])
        return found

    def words(self, texts: Sequence[Text]) -> list[list[str]]:
        """Texts as words; those that are cut already stay as they are."""
        listed = listed_sentences(texts)
        whole = [text for text in listed if isinstance(text, str)]
        spans = iter(zip(whole, self.pipeline.word_spans(whole), strict=True))
        return [_sliced(*next(spans)) if isinstance(text, str) else text for text in listed]

    def num_cut(self, sentences: Sequence[Sequence[str]]) -> int:
        """How many sentences are longer than the model's limit, and are read in parts."""
        return sum(
            len(words) > self.pipeline.config.max_tokens for words in listed_words(sentences)
        )


def _sliced(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


def load_tagger(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Tagger:
    """Open a tagging bundle; the arguments are those of `softquery.load`."""
    bundle = opened(name_or_path)
    check_kind(bundle, "tagger")
    check_task(bundle)
    pipeline = fitting_pipeline(bundle)
    if is_bert(bundle):
        network = open_bert(bundle, backend, threads, device)
        return Tagger(bundle, pipeline, BertTagBackend(network, pipeline))
    if is_word_head(bundle):
        from softquery.runtime.tag.word_head import open_word_head

        return Tagger(bundle, pipeline, open_word_head(bundle, backend, threads, device))
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.tag.onnx import OnnxTagBackend

        context = open_inner(bundle, threads)
        return Tagger(bundle, pipeline, OnnxTagBackend(bundle, pipeline, threads, context))
    with needs_torch():
        from softquery.runtime.tag.torch import TorchTagBackend
    return Tagger(bundle, pipeline, TorchTagBackend(bundle, pipeline, device, threads))

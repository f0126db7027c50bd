"""Sentences for the first graph of a matcher or classifier with a biLM inside. Needs no torch."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.inner.mixed import KEPT, Context, MixedContext
from softquery.runtime.inner.reads import NESTED, reads_words
from softquery.runtime.match.backend import Read, padded_ids, padded_rows
from softquery.runtime.onnx_session import short_reason
from softquery.text import BOS_ID, EOS_ID


class NestedSentences:
    """From words to rows of a table of words, and to what a biLM says of them.

    Args:
        bundle: Of the model around the biLM.
        stored: Its weights.
        context: The biLM.
        inputs: The names of what the graph takes.
    """

    def __init__(
        self,
        bundle: Bundle,
        stored: Mapping[str, NDArray[Any]],
        context: Context,
        inputs: Collection[str],
    ) -> None:
        pipeline = fitting_pipeline(bundle)
        nested = bundle.config.model["config"][NESTED]
        try:
            self._mixed = MixedContext(context, nested, stored, pipeline.config)
            self._boundaries = pipeline.config.boundaries
            if self._boundaries != (nested["ends"] == "there"):
                raise ValueError(f"{NESTED}.ends and text.boundaries contradict each other")
        except (KeyError, ValueError, TypeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else short_reason(error)
            raise BundleError(f"{bundle.path}: does not fit the graphs ({reason})") from None
        self._inputs = inputs
        self._row = lru_cache(KEPT)(lambda word: pipeline.look_up([word])[0])

    def fed(self, sentences: Read) -> dict[str, Any]:
        """Words as the graph takes them."""
        rows = [[self._row(word) for word in sentence] for sentence in sentences]
        if self._boundaries:
            rows = [[BOS_ID, *row, EOS_ID] for row in rows]
        ids, lengths = padded_ids(rows)
        vectors = self._mixed.of(sentences)
        feed: dict[str, Any] = {
            name: padded_rows([each[name] for each in vectors])[0] for name in self._mixed.mixes
        }
        return {**feed, "lengths": lengths, **({"ids": ids} if "ids" in self._inputs else {})}


def check_spelling(bundle: Bundle, kind: str = "matcher") -> None:
    """Refuse a model with a biLM that spells a closed vocabulary, which has no graphs."""
    if NESTED in bundle.config.model["config"] and not reads_words(bundle):
        raise BundleError(
            f"{bundle.path}: a {kind} whose ELMo spells a closed vocabulary runs on torch alone"
        )

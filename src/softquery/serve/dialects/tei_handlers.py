"""Tokens, vectors of tokens and weights of words, as the engine computes them for TEI's clients."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from softquery.search import Index
from softquery.search.query.sparse_weights import sparse_weights
from softquery.serve.faults import Fault, FaultKind
from softquery.serve.handlers import ContextVectorHandler, Floats, num_characters, text_slices
from softquery.serve.queued_request import SplitRequest, one_answer_per_item
from softquery.text import TextPipeline

MOST_NUMBERS = 2_000_000
"""Numbers of one answer; as JSON they are about 25 MB."""
UNCUT = 1 << 30
"""In place of a limit: tokens are shown as they are before a model cuts them."""


class TokenVectorHandler(ContextVectorHandler):
    """Vectors of the words or pieces of texts, before they are pooled: [T, D] for each.

    As each token is answered with hundreds of numbers, a request has far fewer tokens than others.
    """

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """As for pooled vectors, up to so many numbers."""
        total = 0
        for each in super().split(request):
            total += sum(each.costs)
            if total * self.vector_size > MOST_NUMBERS:
                most = MOST_NUMBERS // self.vector_size
                message = f"more than {most:,} tokens; one request may ask for vectors of so many"
                raise Fault(FaultKind.VALIDATION, message, tei="Validation")
            yield each

    def compute(self, items: Sequence[list[str]]) -> list[Floats]:
        """The mixed layers of each text."""
        return [each[0] for each in self.embedder.embed_tokens(items, layers="mix")]


@dataclass(frozen=True, slots=True)
class TokenizeRequest:
    """Texts, and whether the marks of their beginning and end are wanted."""

    texts: Sequence[str]
    has_marks: bool


class TokenizeHandler:
    """The tokens of texts, with their numbers and places.

    Args:
        name: The name of the model.
        pipeline: Of the model; nothing is cut off.
    """

    def __init__(self, name: str, pipeline: TextPipeline) -> None:
        self.name = name
        self.pipeline = TextPipeline(pipeline.tokenizer, replace(pipeline.config, max_tokens=UNCUT))

    join = staticmethod(one_answer_per_item)

    def split(self, request: TokenizeRequest) -> Iterator[SplitRequest]:
        """An item is a text; its cost is estimated by its length."""
        for some in text_slices(request.texts):
            texts = request.texts[some]
            costs = [1 + num_characters(text) // 4 for text in texts]
            yield SplitRequest([(text, request.has_marks) for text in texts], costs, sum(costs))

    def compute(self, items: Sequence[tuple[str, bool]]) -> list[list[dict[str, Any]]]:
        """Cut all texts in one call."""
        encoded = self.pipeline.encode([text for text, _ in items])
        found = []
        for (text, has_marks), each in zip(items, encoded, strict=True):
            tokens = zip(each.ids, each.tokens, each.offsets, strict=True)
            shown = [_token(text, *token) for token in tokens]
            if self.pipeline.config.boundaries:
                marks = [_mark(each.ids[end], each.tokens[end]) for end in (0, -1)]
                shown = [marks[0], *shown[1:-1], marks[1]] if has_marks else shown[1:-1]
            found.append(shown)
        return found

    def decoded(self, lists: Sequence[Sequence[int]], *, has_marks: bool) -> list[str]:
        """The text of each list of numbers, with marks or without."""
        if not has_marks:
            return [self.pipeline.decode(numbers) for numbers in lists]
        tokenizer = self.pipeline.tokenizer
        return [tokenizer.decode(list(each), skip_special_tokens=False) for each in lists]


class SparseHandler:
    """The weights of the words of texts, as an index counts them.

    Args:
        name: The name of the index.
        index: The index.
    """

    def __init__(self, name: str, index: Index) -> None:
        self.name, self.index = name, index

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """An item is a text; its cost is estimated by its length."""
        for some in text_slices(request):
            costs = [1 + num_characters(text) // 4 for text in request[some]]
            yield SplitRequest(list(request[some]), costs, sum(costs))

    def compute(self, items: Sequence[str]) -> list[Mapping[int, float]]:
        """Weigh the words of one text after the other."""
        segments, models = self.index.segments, self.index.models
        return [sparse_weights(segments, models, text) for text in items]


def _token(text: str, number: int, token: str, place: tuple[int, int]) -> dict[str, Any]:
    start, stop = place
    shown = text[start:stop] or token
    return {"id": number, "text": shown, "special": False, "start": start, "stop": stop}


def _mark(number: int, token: str) -> dict[str, Any]:
    return {"id": number, "text": token, "special": True, "start": None, "stop": None}

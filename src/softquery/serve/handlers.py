"""The verbs of models as the engine computes them: items of many requests in one batch.

One class per verb and kind of model. Each is made from a model's name and the opened model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Generated
from softquery.errors import InputError
from softquery.runtime import (
    ContextEmbedder,
    GenerateRequest,
    Matcher,
    PieceEmbedder,
    SentenceEncoder,
)
from softquery.runtime.embed.text_means import mean_in_context
from softquery.runtime.leaving_out import MOST_PARTS
from softquery.runtime.vectors.text_vectors import WordVectorAverages, own_vectors
from softquery.serve.queued_request import SplitRequest, one_answer_per_item

Floats = NDArray[np.float32]
TokenIds = tuple[int, ...]
SLICE_CHARACTERS = 10_000
"""Characters of texts that are read in one go, unless one text alone has more."""
BANNED, REQUIRED = 250, 10
"""So many banned words, or required ones, cost a generator as much as the search without them."""


def text_slices(texts: Sequence[Any], most: int = SLICE_CHARACTERS) -> Iterator[slice]:
    """Texts in slices of so many characters; a text may also be several texts.

    >>> list(text_slices(["abc", "d", "efgh", ("i", "j")], 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    start = size = 0
    for place, text in enumerate(texts):
        length = num_characters(text)
        if place > start and size + length > most:
            yield slice(start, place)
            start, size = place, 0
        size += length
    if texts:
        yield slice(start, len(texts))


def num_characters(text: str | Sequence[Any]) -> int:
    """Characters of a text, or of all texts of a sequence.

    >>> num_characters(["ab", ("c", "")])
    3
    """
    return len(text) if isinstance(text, str) else sum(map(num_characters, text))


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """Texts to be compared: pairwise, or one text with every text of the other side."""

    first: Sequence[str]
    second: Sequence[str]


class MatchHandler:
    """A matcher's probabilities of pairs: a list of floats for each.

    Args:
        name: The name of the model.
        matcher: The model, opened for one thread.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher = name, matcher

    join = staticmethod(one_answer_per_item)

    def split(self, request: MatchRequest) -> Iterator[SplitRequest]:
        """Tokenise every distinct text once; an item is a pair."""
        first, second = request.first, request.second
        if len(first) != len(second):
            first, second = list(first) * len(second), list(second) * len(first)
        sentences: dict[str, TokenIds] = {}
        longest = [max(pair, key=len) for pair in zip(first, second, strict=True)]
        for some in text_slices(longest):
            yield self._pairs(first[some], second[some], sentences)

    def _pairs(
        self, first: Sequence[str], second: Sequence[str], sentences: dict[str, TokenIds]
    ) -> SplitRequest:
        """Pairs as items; reads what `sentences` does not hold yet."""
        new = [text for text in dict.fromkeys([*first, *second]) if text not in sentences]
        ids, cuts = self.matcher.read(new)
        sentences.update(zip(new, map(tuple, ids), strict=True))
        pairs = [
            (sentences[one], sentences[other]) for one, other in zip(first, second, strict=True)
        ]
        return SplitRequest(
            pairs,
            [len(one) + len(other) for one, other in pairs],
            num_tokens=sum(map(len, ids)),
            num_truncated=sum(cut > 0 for cut in cuts),
        )

    def compute(self, items: Sequence[tuple[TokenIds, TokenIds]]) -> list[list[float]]:
        """Encode the texts that are not in the matcher's cache, then compare."""
        unique = list(dict.fromkeys(side for pair in items for side in pair))
        encoding = dict(zip(unique, self.matcher.encodings_of_read(unique), strict=True))
        queries = {first for first, _ in items}
        first = [items[0][0]] if len(queries) == 1 else [first for first, _ in items]
        rows = self.matcher.compare(
            [encoding[side] for side in first], [encoding[second] for _, second in items]
        )
        found: list[list[float]] = rows.tolist()
        return found


class MatcherVectorHandler:
    """A matcher's vectors of texts.

    Args:
        name: The name of the model.
        matcher: The model, which encodes each text by itself.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher, self.vectors = name, matcher, own_vectors(matcher)
        self.vector_size, self.pooling = self.vectors.size, self.vectors.pooling

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """Tokenise the texts; an item is a text."""
        for some in text_slices(request):
            ids, cuts = self.matcher.read(request[some])
            costs = [len(sentence) for sentence in ids]
            yield SplitRequest(ids, costs, sum(costs), sum(cut > 0 for cut in cuts))

    def compute(self, items: Sequence[Sequence[int]]) -> list[Floats]:
        """Encode and pool."""
        encodings = self.matcher.encodings_of_read(items)
        return [self.vectors.pooled(*pair) for pair in zip(items, encodings, strict=True)]


class SentenceVectorHandler:
    """A sentence encoder's vectors.

    Args:
        name: The name of the model.
        encoder: The model, opened for one thread.
    """

    pooling = "own"
    has_prefixes = True
    """A vector may be cut, and serves as a shorter one."""

    def __init__(self, name: str, encoder: SentenceEncoder) -> None:
        self.name, self.encoder = name, encoder
        self.vector_size = encoder.output_size

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """Tokenise the texts; an item is a text."""
        for some in text_slices(request):
            ids, cuts = self.encoder.pipeline.encode_ids_with_cuts(list(request[some]))
            costs = [len(sentence) for sentence in ids]
            yield SplitRequest(ids, costs, sum(costs), sum(cut > 0 for cut in cuts))

    def compute(self, items: Sequence[Sequence[int]]) -> list[Floats]:
        """All texts in one call."""
        return list(self.encoder.backend.vectors(items))


class ContextVectorHandler:
    """Vectors of texts from an embedder of words in context, or from an encoder without a head.

    Args:
        name: The name of the model.
        embedder: The model, opened for one thread.
    """

    pooling = "mean"

    def __init__(self, name: str, embedder: ContextEmbedder | PieceEmbedder) -> None:
        self.name, self.embedder = name, embedder
        self.vector_size = embedder.output_size

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """Cut the texts into words; an item is a text."""
        for some in text_slices(request):
            words = self.embedder.tokens(request[some])
            kept = [sentence[: self.embedder.max_tokens] for sentence in words]
            costs = [len(sentence) for sentence in kept]
            yield SplitRequest(kept, costs, sum(costs), self.embedder.num_cut(words))

    def compute(self, items: Sequence[list[str]]) -> list[Floats]:
        """The mean over the words of each text."""
        found = self.embedder.embed_tokens(items, layers="mix")
        return [mean_in_context(self.embedder, each) for each in found]


class WordVectorHandler:
    """Vectors of texts from the vectors of their words.

    Args:
        name: The name of the bundle.
        vectors: The word vectors, which average those of a text.
    """

    pooling = "mean"

    def __init__(self, name: str, vectors: WordVectorAverages) -> None:
        self.name, self.vectors, self.vector_size = name, vectors, vectors.size

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """Cut the texts into words; an item is a text."""
        for some in text_slices(request):
            words = self.vectors.read(request[some])
            costs = [len(sentence) for sentence in words]
            yield SplitRequest(words, costs, sum(costs))

    def compute(self, items: Sequence[list[str]]) -> list[Floats]:
        """The weighted mean over the words of each text."""
        return [self.vectors.pooled(words) for words in items]


class ExplainHandler:
    """A matcher's alignments and reasons of pairs, as plain values ready for JSON.

    Args:
        name: The name of the model.
        matcher: The model, which aligns words.
    """

    def __init__(self, name: str, matcher: Matcher) -> None:
        self.name, self.matcher = name, matcher

    join = staticmethod(one_answer_per_item)

    def split(self, request: tuple[str, str]) -> Iterator[SplitRequest]:
        """The pair is one item: it is aligned by itself, and compared again without each word."""
        length = sum(map(len, self.matcher.read(request)[0]))
        yield SplitRequest([request], [length * (1 + min(length, 2 * MOST_PARTS))], length)

    def compute(self, items: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Align one pair after the other."""
        return [self._explained(*pair) for pair in items]

    def _explained(self, first: str, second: str) -> dict[str, Any]:
        found = self.matcher.explain(first, second)
        return {
            "first": first,
            "second": second,
            "first_tokens": list(found.first_tokens),
            "second_tokens": list(found.second_tokens),
            "first_to_second": np.round(found.first_to_second.astype(np.float64), 4).tolist(),
            "second_to_first": np.round(found.second_to_first.astype(np.float64), 4).tolist(),
            "label": found.label,
            "score": found.score,
            "probabilities": found.probabilities,
            "model": self.name,
            "reasons": None if found.reasons is None else found.reasons.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Texts to generate from, and how."""

    texts: Sequence[str]
    options: GenerateRequest


class GeneratingModel(Protocol):
    """A generator: texts in, generated texts out."""

    def generate(self, texts: Sequence[str], request: GenerateRequest) -> list[list[Generated]]:
        """The generated texts for each source, best first; none if the rules allow none."""


class GenerateHandler:
    """A generator's texts for each text, best first.

    Args:
        name: The name of the model.
        generator: The model, opened for one thread.
    """

    def __init__(self, name: str, generator: GeneratingModel) -> None:
        self.name, self.generator = name, generator

    join = staticmethod(one_answer_per_item)

    def split(self, request: GenerationRequest) -> Iterator[SplitRequest]:
        """An item is a text; it costs its length times the hypotheses that the search keeps.

        Words to look out for make each of them dearer.
        """
        options = request.options
        lengths = [1 + len(text) // 4 for text in request.texts]
        kept = getattr(options.strategy, "size", 1) * (1 + (options.rank == "both_ways"))
        kept *= 1 + len(options.ban) // BANNED + len(options.require) // REQUIRED
        items = [(text, options) for text in request.texts]
        yield SplitRequest(items, [length * kept for length in lengths], sum(lengths))

    def compute(self, items: Sequence[tuple[str, GenerateRequest]]) -> list[list[Generated]]:
        """Generate together for those texts that have the same options."""
        places_by_options: dict[GenerateRequest, list[int]] = {}
        for place, (_, options) in enumerate(items):
            places_by_options.setdefault(options, []).append(place)
        found: list[list[Generated]] = [[]] * len(items)
        for options, places in places_by_options.items():
            generated = self.generator.generate([items[place][0] for place in places], options)
            for place, answers in zip(places, generated, strict=True):
                if not answers:
                    raise InputError(f"the rules leave no text for {items[place][0]!r:.80}")
                found[place] = answers
        return found

"""Classifiers, taggers, readers and fillers of masks as the engine computes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, Protocol

from softquery.answers import (
    Answer,
    ContextWindow,
    ContextWindows,
    Filled,
    SpanScores,
    Tagged,
    choose_answers,
    make_windows,
)
from softquery.answers.read import NO_WORDS
from softquery.errors import InputError
from softquery.explain import TextWeights
from softquery.runtime import FillRequest, PieceEmbedder, Reader, Tagger
from softquery.runtime.classify.text_reasons import MOST_OF_DOCUMENT
from softquery.runtime.fill.masked_texts import TextWithMasks
from softquery.serve.handlers import num_characters, text_slices
from softquery.serve.queued_request import SplitRequest, one_answer_per_item
from softquery.text import in_parts

TaggedPart = tuple[int, list[str], list[str]]
"""The place of a text, some of its words, and their tags."""
Words = str | Sequence[str]
"""A sentence as it is written, or cut into words already."""


class PredictingModel(Protocol):
    """A model with one answer per text, which depends on no other text."""

    def predict(self, texts: Sequence[Any], /) -> Sequence[Any]:
        """Answers in the order of the texts."""


class PredictHandler:
    """The answers of a model that predicts something of each text by itself.

    Args:
        name: The name of the model.
        model: The model.
    """

    def __init__(self, name: str, model: PredictingModel) -> None:
        self.name, self.model = name, model

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[Any]) -> Iterator[SplitRequest]:
        """An item is a text; its cost is estimated by its length."""
        costs = [1 + num_characters(text) // 4 for text in request]
        yield SplitRequest(list(request), costs, sum(costs))

    def compute(self, items: Sequence[Any]) -> Sequence[Any]:
        """Predict all texts in one call."""
        return self.model.predict(items)


class WeighingModel(Protocol):
    """A model that tells how much each word had to say."""

    @property
    def most_tokens(self) -> int:
        """The most tokens that it reads of a text."""

    def explain(self, text: str, /) -> TextWeights:
        """The weights of the words of a text, with the answer that it led to."""


class WeighHandler:
    """A classifier's answers with the weights of words, and what the answers owe to them.

    Args:
        name: The name of the model.
        model: The model, which attends to words.
    """

    def __init__(self, name: str, model: WeighingModel) -> None:
        self.name, self.model = name, model

    join = staticmethod(one_answer_per_item)

    def split(self, request: Sequence[str]) -> Iterator[SplitRequest]:
        """An item is a text; it costs its length, once more for each word that is left out."""
        lengths = [1 + num_characters(text) // 4 for text in request]
        read = [min(length, self.model.most_tokens) for length in lengths]
        costs = [length * (1 + min(length, MOST_OF_DOCUMENT)) for length in read]
        yield SplitRequest(list(request), costs, sum(lengths))

    def compute(self, items: Sequence[str]) -> list[TextWeights]:
        """Weigh one text after the other."""
        return [self.model.explain(text) for text in items]


class TagHandler:
    """A tagger's tags. A text that is longer than the model's limit is computed in parts.

    Args:
        name: The name of the model.
        tagger: The model, opened for one thread.
    """

    def __init__(self, name: str, tagger: Tagger) -> None:
        self.name, self.tagger = name, tagger

    def split(self, request: Sequence[Words]) -> Iterator[SplitRequest]:
        """Cut the texts into words; an item is a part of a text, with the place of the text."""
        limit = self.tagger.pipeline.config.max_tokens
        for some in text_slices(request):
            words = self.tagger.words(request[some])
            items = [
                (place, part)
                for place, sentence in enumerate(words, some.start)
                for part in in_parts([sentence], limit)
            ]
            costs = [len(part) for _, part in items]
            yield SplitRequest(items, costs, sum(costs))

    def compute(self, items: Sequence[tuple[int, list[str]]]) -> list[TaggedPart]:
        """The words of each part, with their tags in the model's own scheme."""
        tags = self.tagger.own_tags([words for _, words in items])
        return [(*item, found) for item, found in zip(items, tags, strict=True)]

    def join(self, request: Sequence[Words], answers: list[TaggedPart]) -> list[Tagged]:
        """The parts of each text as one answer."""
        found = []
        for place, parts in groupby(answers, key=lambda answer: answer[0]):
            _, words, tags = zip(*parts, strict=True)
            joined = (list(chain.from_iterable(each)) for each in (words, tags))
            found.append(self.tagger.tagged(request[place], *joined))
        return found


class ReadHandler:
    """A reader's answers. A context that is longer than a window is computed window by window.

    Args:
        name: The name of the model.
        reader: The model, opened for one thread.
    """

    def __init__(self, name: str, reader: Reader) -> None:
        self.name, self.reader = name, reader

    def split(self, request: Sequence[tuple[str, str]]) -> Iterator[SplitRequest]:
        """Cut contexts into windows; an item is a window, with the pairs of its slice."""
        for some in text_slices(request):
            windowed = make_windows(request[some], self.reader.pipeline, self.reader.window)
            items = [(some.start, windowed, window) for window in windowed.windows]
            costs = [len(window.question) + len(window.words) for window in windowed.windows]
            yield SplitRequest(items, costs, sum(costs))

    def compute(
        self, items: Sequence[tuple[int, ContextWindows, ContextWindow]]
    ) -> list[tuple[int, ContextWindows, SpanScores]]:
        """Where the answer begins and ends in each window."""
        scores = self.reader.backend.scores([window for _, _, window in items])
        return [
            (start, windowed, found)
            for (start, windowed, _), found in zip(items, scores, strict=True)
        ]

    def join(
        self,
        request: Sequence[tuple[str, str]],
        answers: list[tuple[int, ContextWindows, SpanScores]],
    ) -> list[Answer]:
        """The best span of all windows of each context; none if a context has no words."""
        found = [NO_WORDS] * len(request)
        for start, windows in groupby(answers, key=lambda answer: answer[0]):
            group = list(windows)
            windowed = group[0][1]
            chosen = choose_answers(
                windowed,
                [scores for _, _, scores in group],
                max_words=self.reader.rules.max_words,
                abstain_below=self.reader.abstain_below,
            )
            found[start : start + len(chosen)] = chosen
        return found


@dataclass(frozen=True, slots=True)
class FillingRequest:
    """Texts with masks, and what is wanted for each of the masks."""

    texts: Sequence[str]
    options: FillRequest


FillItem = tuple[TextWithMasks, FillRequest, list[list[int]]]
"""A text, what is wanted for its masks, and the pieces of the candidates."""


class FillHandler:
    """An encoder's words for masks.

    Args:
        name: The name of the model.
        embedder: The model, opened for one thread.
    """

    def __init__(self, name: str, embedder: PieceEmbedder) -> None:
        self.name, self.filler = name, embedder.filler

    join = staticmethod(one_answer_per_item)

    def split(self, request: FillingRequest) -> Iterator[SplitRequest]:
        """An item is a text; it costs its pieces, once more for each further pass over them.

        A candidate of several pieces costs a pass for each of them at each mask.
        """
        reader, options = self.filler.reader, request.options
        pieces = reader.spell(options.candidates)
        longest = max(map(len, pieces), default=1)
        passes = sum(len(each) for each in pieces if len(each) > 1)
        for some in text_slices(request.texts):
            read = []
            for number, text in enumerate(request.texts[some], some.start + 1):
                try:
                    read.append(reader.read(text, longest=longest))
                except InputError as error:
                    raise InputError(error.message, source="texts", row=number) from None
            costs = [len(each.ids) * (1 + passes * len(each.places)) for each in read]
            items = [(each, options, pieces) for each in read]
            yield SplitRequest(items, costs, sum(len(each.ids) for each in read))

    def compute(self, items: Sequence[FillItem]) -> list[list[Filled]]:
        """Fill together those texts that have the same options."""
        places: dict[FillRequest, list[int]] = {}
        for place, (_, options, _) in enumerate(items):
            places.setdefault(options, []).append(place)
        found: list[list[Filled]] = [[]] * len(items)
        for options, some in places.items():
            texts = [items[place][0] for place in some]
            filled = self.filler.filled(texts, options, items[some[0]][2])
            for place, words in zip(some, filled, strict=True):
                found[place] = words
        return found

"""A reading bundle that answers questions about a context.

T words of a page, J of a question.
"""

from collections.abc import Sequence

from softquery.answers import (
    Answer,
    Calibration,
    ContextWindows,
    ReadingRules,
    candidates,
    lay_out,
    settle,
)
from softquery.bundle import Bundle
from softquery.errors import BundleError, InputError
from softquery.explain import PairAlignment
from softquery.runtime.backend_choice import Backend, choose_backend, needs_torch
from softquery.runtime.bert.backend import BertReadBackend, is_bert, open_bert
from softquery.runtime.fit_checks import check_task, fitting_pipeline
from softquery.runtime.opened import Source, opened
from softquery.runtime.read.backend import ReadBackend
from softquery.softmax import softmax
from softquery.text import TextPipeline

Asked = tuple[str, str]
"""A question, and the context that answers it."""
CHUNK = 64
"""Questions of a bulk call that are answered together."""
SHOWN = 24
"""Words of the context that a picture shows on either side of the answer."""


class Reader:
    """Finds the part of a context that answers a question.

    Args:
        bundle: The model folder.
        pipeline: Of the bundle.
        backend: What computes its scores.
    """

    def __init__(self, bundle: Bundle, pipeline: TextPipeline, backend: ReadBackend) -> None:
        self.bundle = bundle
        self.pipeline = pipeline
        self.rules = ReadingRules.from_dict(bundle.config.task)
        self.paging = self.rules.paging(pipeline.config.max_tokens)
        try:
            chosen = Calibration.from_dict(bundle.calibration).abstain_below
        except BundleError as error:
            raise BundleError(f"{bundle.path}/{error}") from None
        self.abstain_below = self.rules.abstain_below if chosen is None else chosen
        self.backend = backend

    def predict(self, pairs: Sequence[Asked]) -> list[Answer]:
        """The answer to each question, from the context beside it."""
        return [answer.if_sure(self.abstain_below) for answer in self.best(pairs)]

    def best(self, pairs: Sequence[Asked]) -> list[Answer]:
        """The best span of each context, however unsure it is."""
        return [
            answer
            for start in range(0, len(pairs), CHUNK)
            for answer in self._best(pairs[start : start + CHUNK])
        ]

    def candidates(self, question: str, context: str, *, top: int = 5) -> list[Answer]:
        """The best spans of one context, best first, however unsure they are."""
        sheet = lay_out([(question, context)], self.pipeline, self.paging)
        scores = self.backend.scores(sheet.pages)
        return candidates(sheet, scores, max_words=self.rules.max_words, top=top)[0]

    def explain(self, question: str, context: str) -> PairAlignment:
        """Which words of the context each word of the question asked, and the other way round.

        The picture shows the words around the best span; what was asked beyond them is missing from
        the sum of a row. The model itself uses what the context's words ask, and of what the
        question's words ask the strongest.
        """
        sheet = lay_out([(question, context)], self.pipeline, self.paging)
        if not sheet.pages:
            raise InputError("a context without any word has nothing to show")
        scores = self.backend.scores(sheet.pages)
        named = candidates(sheet, scores, max_words=self.rules.max_words, top=3)[0]
        answer = named[0].if_sure(self.abstain_below)
        number, first, last = _shown(sheet, named[0])
        page, begin = sheet.pages[number], sheet.places[number].first
        meeting = self.backend.meeting(page)
        start, end = sheet.passages[0].slice_of(begin + first, begin + last)
        return PairAlignment(
            first=question,
            second=context[start:end],
            first_tokens=tuple(page.question),
            second_tokens=tuple(page.words[first : last + 1]),
            first_to_second=softmax(meeting.T)[:, first : last + 1],
            second_to_first=softmax(meeting)[first : last + 1],
            label=answer.text,
            score=answer.score,
            probabilities={each.text or "": each.score for each in reversed(named)},
            model=self.bundle.path.name,
        )

    def num_long(self, contexts: Sequence[str]) -> int:
        """How many contexts are longer than a page, and are read in several."""
        # A word has at least one character, so that short texts need no second look.
        long = [text for text in contexts if len(text) > self.paging.size]
        return sum(len(spans) > self.paging.size for spans in self.pipeline.word_spans(long))

    def _best(self, pairs: Sequence[Asked]) -> list[Answer]:
        sheet = lay_out(pairs, self.pipeline, self.paging)
        scores = self.backend.scores(sheet.pages) if sheet.pages else []
        return settle(sheet, scores, max_words=self.rules.max_words)


def _shown(sheet: ContextWindows, answer: Answer) -> tuple[int, int, int]:
    """The page on which an answer has most words around it, and the words to show of it."""
    found = sheet.passages[0].words_at(answer.start or 0, answer.end or 0) or (0, 0)
    middle = sum(found) / 2

    def distance(number: int) -> float:
        page, place = sheet.pages[number], sheet.places[number]
        if not place.first <= found[0] <= found[1] < place.first + len(page.words):
            return float("inf")
        return abs(place.first + len(page.words) / 2 - middle)

    number = min(range(len(sheet.pages)), key=distance)
    first, last = (each - sheet.places[number].first for each in found)
    return number, max(0, first - SHOWN), min(len(sheet.pages[number].words) - 1, last + SHOWN)


def load_reader(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Reader:
    """Open a reading bundle; the arguments are those of `softquery.load`."""
    bundle = opened(name_or_path)
    if bundle.config.kind != "reader":
        raise BundleError(f"{bundle.path}: expected a reader, found kind {bundle.config.kind!r}")
    check_task(bundle)
    pipeline = fitting_pipeline(bundle)
    if is_bert(bundle):
        network = open_bert(bundle, backend, threads, device)
        return Reader(bundle, pipeline, BertReadBackend(network, pipeline, bundle))
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.inner.inner_weights import check_spelling
        from softquery.runtime.inner.onnx import open_inner
        from softquery.runtime.read.onnx import OnnxReadBackend

        check_spelling(bundle, "reader")
        # Bulk runs go on to the same bytes, so that what was read before must not matter.
        context = open_inner(bundle, threads, company="alone")
        return Reader(bundle, pipeline, OnnxReadBackend(bundle, pipeline, threads, context))
    with needs_torch():
        from softquery.runtime.read.torch import TorchReadBackend
    return Reader(bundle, pipeline, TorchReadBackend(bundle, pipeline, device, threads))

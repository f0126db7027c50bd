"""A reading bundle that answers questions about a context.

T words of a window, J of a question.
"""

from collections.abc import Sequence

from softquery.answers import (
    Answer,
    Calibration,
    ContextWindows,
    ReadingRules,
    candidates,
    choose_answers,
    make_windows,
)
from softquery.bundle import Bundle
from softquery.errors import BundleError, InputError
from softquery.explain import PairAlignment
from softquery.numpy_softmax import softmax
from softquery.runtime.bert.backend import BertReadBackend, is_bert, open_bert
from softquery.runtime.call_checks import (
    QUESTION_COLUMNS,
    listed_pairs,
    listed_texts,
    one_text,
    whole_number,
)
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.given_texts import Pairs, in_view
from softquery.runtime.kinds import check_kind, check_task
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.runtime.read.backend import ReadBackend
from softquery.text import TextPipeline

Asked = tuple[str, str]
"""A question, and the context that answers it."""
CHUNK = 64
"""Questions of a bulk call that are answered together."""
SHOWN = 24
"""Words of the context that a picture shows on either side of the answer."""


@opened_by("softquery.load")
class Reader:
    """Finds the part of a context that answers a question.

    Args:
        bundle: The model folder.
        pipeline: Of the bundle.
        backend: What computes its scores.
    """

    chunk = CHUNK

    def __init__(self, bundle: Bundle, pipeline: TextPipeline, backend: ReadBackend) -> None:
        self.bundle = bundle
        self.pipeline = pipeline
        self.rules = ReadingRules.from_dict(bundle.config.task)
        self.window = self.rules.sliding_window(pipeline.config.max_tokens)
        try:
            chosen = Calibration.from_dict(bundle.calibration).abstain_below
        except BundleError as error:
            raise BundleError(f"{bundle.path}/{error}") from None
        self.abstain_below = self.rules.abstain_below if chosen is None else chosen
        self.backend = backend

    def __repr__(self) -> str:
        return model_repr(self, window=self.window.size, abstain_below=self.abstain_below)

    def predict(self, pairs: Pairs, *, progress: bool = False) -> list[Answer]:
        """The answer to each question, from the context beside it."""
        found = self.best(pairs, progress=progress)
        return [answer.if_sure(self.abstain_below) for answer in found]

    def best(self, pairs: Pairs, *, progress: bool = False) -> list[Answer]:
        """The best span of each context, however unsure it is."""
        given = listed_pairs(pairs, columns=QUESTION_COLUMNS)
        return in_view(given, self._best, "questions", chunk=CHUNK, progress=progress)

    def candidates(self, question: str, context: str, *, top_k: int = 5) -> list[Answer]:
        """The best spans of one context, best first, however unsure they are."""
        top_k = whole_number(top_k, "top_k")
        windowed = self._windowed(question, context)
        scores = self.backend.scores(windowed.windows)
        return candidates(windowed, scores, max_words=self.rules.max_words, top=top_k)[0]

    def explain(self, question: str, context: str) -> PairAlignment:
        """Which words of the context each word of the question asked, and the other way round.

        The picture shows the words around the best span; what was asked beyond them is missing from
        the sum of a row. The model itself uses what the context's words ask, and of what the
        question's words ask the strongest.
        """
        windowed = self._windowed(question, context)
        if not windowed.windows:
            raise InputError("a context without any word has nothing to show")
        scores = self.backend.scores(windowed.windows)
        named = candidates(windowed, scores, max_words=self.rules.max_words, top=3)[0]
        answer = named[0].if_sure(self.abstain_below)
        number, first, last, found = _shown(windowed, named[0])
        window, begin = windowed.windows[number], windowed.places[number].first
        meeting = self.backend.meeting(window)
        start, end = windowed.contexts[0].slice_of(begin + first, begin + last)
        return PairAlignment(
            first=question,
            second=context[start:end],
            first_tokens=tuple(window.question),
            second_tokens=tuple(window.words[first : last + 1]),
            first_to_second=softmax(meeting.T)[:, first : last + 1],
            second_to_first=softmax(meeting)[first : last + 1],
            label=answer.text,
            score=answer.score,
            probabilities=_likeliest_first(named),
            model=self.bundle.path.name,
            sides=("question", "text"),
            found=found if answer.text else range(0),
        )

    def num_long(self, contexts: Sequence[str]) -> int:
        """How many contexts are longer than a window, and are read in several."""
        # A word has at least one character, so that short texts need no second look.
        long = [text for text in listed_texts(contexts) if len(text) > self.window.size]
        return sum(len(spans) > self.window.size for spans in self.pipeline.word_spans(long))

    def _windowed(self, question: str, context: str) -> ContextWindows:
        asked = one_text(question, "the question"), one_text(context, "the context")
        return make_windows([asked], self.pipeline, self.window)

    def _best(self, pairs: Sequence[Asked]) -> list[Answer]:
        windowed = make_windows(pairs, self.pipeline, self.window)
        scores = self.backend.scores(windowed.windows) if windowed.windows else []
        return choose_answers(windowed, scores, max_words=self.rules.max_words)


def _likeliest_first(named: Sequence[Answer]) -> dict[str, float]:
    """The scores of spans by their texts; of two that read the same, the better one counts."""
    found: dict[str, float] = {}
    for each in named:
        found.setdefault(each.text or "", each.score)
    return found


def _shown(windowed: ContextWindows, answer: Answer) -> tuple[int, int, int, range]:
    """The window in which an answer has most words around it, and its words to show.

    Returns:
        The window's number, its first and last word to show, and which of these are the answer.
    """
    found = windowed.contexts[0].words_at(answer.start or 0, answer.end or 0) or (0, 0)
    middle = sum(found) / 2

    def distance(number: int) -> float:
        window, place = windowed.windows[number], windowed.places[number]
        if not place.first <= found[0] <= found[1] < place.first + len(window.words):
            return float("inf")
        return abs(place.first + len(window.words) / 2 - middle)

    number = min(range(len(windowed.windows)), key=distance)
    first, last = (each - windowed.places[number].first for each in found)
    begin = max(0, first - SHOWN)
    end = min(len(windowed.windows[number].words) - 1, last + SHOWN)
    return number, begin, end, range(first - begin, last - begin + 1)


def load_reader(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Reader:
    """Open a reading bundle; the arguments are those of `softquery.load`."""
    bundle = opened(name_or_path)
    check_kind(bundle, "reader")
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
        context = open_inner(bundle, threads, batching="alone")
        return Reader(bundle, pipeline, OnnxReadBackend(bundle, pipeline, threads, context))
    with needs_torch():
        from softquery.runtime.read.torch import TorchReadBackend
    return Reader(bundle, pipeline, TorchReadBackend(bundle, pipeline, device, threads))

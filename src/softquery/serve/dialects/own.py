"""What no other dialect offers: `/v1/match`, `/v1/explain`, `/v1/search` and further tasks."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from softquery.answers import filled_record, generated_record
from softquery.decoding import Beam, CoupletRule
from softquery.runtime import FillRequest, GenerateRequest
from softquery.runtime.fill.model import MOST_CANDIDATES
from softquery.runtime.generate.request import Rank
from softquery.search import SearchResult
from softquery.search.query.stages import STAGES, Stage, checked_stages
from softquery.serve.bodies import (
    LIMIT,
    Count,
    Model,
    RequestBody,
    ResponseBody,
    SmallCount,
    Text,
    TextOrTexts,
    Texts,
    refusals,
)
from softquery.serve.catalogue import Verb
from softquery.serve.faults import Dialect
from softquery.serve.handlers import GenerationRequest, num_characters
from softquery.serve.json_responses import Json
from softquery.serve.prediction_handlers import FillingRequest
from softquery.serve.search_handler import SearchRequest
from softquery.serve.service import Service

Operator = Literal["<", "<=", ">", ">=", "!="]
Index = Annotated[
    str | None, Field(description="The name of an index from /info; by default the first.")
]


class SentencePair(RequestBody):
    """Two sentences, named like the columns of files."""

    sentence1: Text
    sentence2: Text


class MatchBody(RequestBody):
    """Pairs to be matched."""

    pairs: Annotated[list[SentencePair], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
    model: Model = None


class Matched(ResponseBody):
    """The match of a pair; `label` is null for a grade, and if the model is not sure enough."""

    sentence1: str
    sentence2: str
    label: str | None
    score: float
    probabilities: dict[str, float]


class MatchAnswer(ResponseBody):
    """One match per pair, in order."""

    model: str
    matches: list[Matched]
    tokens: int


class ExplainBody(SentencePair):
    """A pair to be explained."""

    model: Model = None


class GivenReasons(ResponseBody):
    """What the answer owes to each word, by leaving it out; lists are by sentence."""

    answer: str
    method: str
    score: Annotated[float, Field(description="The log-odds of the answer with all words.")]
    probability: float
    words: list[list[str]]
    changes: Annotated[
        list[list[float]],
        Field(description="How much of `score` is lost without the word; below 0 it rises."),
    ]
    probabilities: Annotated[
        list[list[float]], Field(description="Of the answer without the word.")
    ]
    base: float | None


class Explained(ResponseBody):
    """Which words attended to which: rows are the tokens that attend, columns those attended to.

    `reasons` say what the answer owes to each word.
    """

    first: str
    second: str
    first_tokens: list[str]
    second_tokens: list[str]
    first_to_second: list[list[float]]
    second_to_first: list[list[float]]
    label: str | None
    score: float
    probabilities: dict[str, float]
    model: str
    reasons: GivenReasons | None


class SearchBody(RequestBody):
    """A question to an index, or a list of them."""

    query: TextOrTexts
    top_k: SmallCount = 5
    where: Annotated[
        dict[str, str | list[str] | dict[Operator, str | int | float]] | None,
        Field(
            description="Columns, each with the value it must have, a list of allowed ones, or "
            'bounds such as `{"<": 20}` or `{">=": "2026-01-31"}`.'
        ),
    ] = None
    min_score: Annotated[
        float | None,
        Field(
            ge=0,
            description="The score that a hit needs; by default what the aim asks for, and in an "
            "index without learned scores its own, or none without `rerank`.",
        ),
    ] = None
    aim: Annotated[
        str | None,
        Field(
            max_length=60,
            description="What the threshold is for: `precision=P` or `coverage=C`, such as "
            "`precision=0.9`; by default the index's own. `min_score` wins over it.",
        ),
    ] = None
    candidates: Annotated[
        Count, Field(description="How many rows are compared.", json_schema_extra={LIMIT: "count"})
    ] = 50
    explain: Annotated[bool, Field(description="Whether hits have an `alignment`.")] = False
    stages: Annotated[
        list[Stage] | None,
        Field(
            min_length=1,
            max_length=len(STAGES),
            description="What finds and orders rows; all by default. Scores depend on it.",
        ),
    ] = None
    index: Index = None

    def request(self, most: int) -> SearchRequest:
        """The request to the engine.

        Args:
            most: Rows that one request may compare. There are no more hits than that, nor
                candidates unless the body asks for them. Several queries share them.
        """
        is_given = "candidates" in self.model_fields_set
        count = 1 if isinstance(self.query, str) else len(self.query)
        return SearchRequest(
            query=self.query,
            top_k=min(self.top_k, most),
            where=self.where,
            min_score=self.min_score,
            candidates=self.candidates if is_given else max(1, min(self.candidates, most // count)),
            explain=self.explain,
            stages=None if self.stages is None else checked_stages(self.stages),
            aim=self.aim,
        )


class FoundRows(ResponseBody):
    """The best hits, best first; none if no answer is good enough, and then the nearest rows.

    Each row has `question`, `answer`, `score`, the kept columns, and a hit with `explain` an
    `alignment`. `note` says if a model of the index does not read the language of the query.
    """

    query: str
    stages: list[Stage]
    hits: list[dict[str, Any]]
    nearest: list[dict[str, Any]]
    note: str | None


class SearchAnswer(FoundRows):
    """What was found for one query."""

    index: str


class SearchAnswers(ResponseBody):
    """What was found for each of several queries, in their order."""

    index: str
    results: list[FoundRows]


class TextsBody(RequestBody):
    """Texts to be answered, each by itself."""

    texts: Texts
    model: Model = None


Words = Annotated[list[Text], Field(json_schema_extra={LIMIT: "texts"})]


class GenerateBody(RequestBody):
    """Texts to generate from, with the options of `softquery generate`."""

    texts: Texts
    model: Model = None
    n_best: Annotated[SmallCount, Field(description="Generated texts for each, best first.")] = 1
    beam: Annotated[SmallCount, Field(description="Hypotheses that the beam search keeps.")] = 5
    prefix: Annotated[Text, Field(description="What every generated text begins with.")] = ""
    ban: Annotated[Words, Field(description="Words that must not occur.")] = []
    require: Annotated[Words, Field(description="Words that must occur.")] = []
    rules: Annotated[
        list[CoupletRule] | None,
        Field(description="Rules of couplets; by default form and repeats."),
    ] = None
    rank: Annotated[
        Rank,
        Field(description="Order of couplets; both_ways also scores the source given the text."),
    ] = "likelihood"

    def request(self) -> GenerationRequest:
        """The request to the engine."""
        options = GenerateRequest(
            strategy=Beam(size=max(self.beam, self.n_best), num_best=self.n_best),
            prefix=self.prefix,
            ban=tuple(self.ban),
            require=tuple(self.require),
            rules=None if self.rules is None else tuple(self.rules),
            rank=self.rank,
        )
        return GenerationRequest(self.texts, options)


class FillBody(RequestBody):
    """Texts with `[MASK]` in them, with the options of `softquery fill`."""

    texts: Texts
    model: Model = None
    top_k: Annotated[SmallCount, Field(description="Words for each mask.")] = 5
    candidates: Annotated[
        list[Annotated[Text, Field(pattern=r"\S")]],
        Field(
            max_length=MOST_CANDIDATES,
            description="Words to be scored instead, each of one piece or several.",
        ),
    ] = []

    def request(self) -> FillingRequest:
        """The request to the engine."""
        return FillingRequest(self.texts, FillRequest.of(self.top_k, self.candidates or None))


class ClassifyBody(TextsBody):
    """Texts to be classified."""

    explain: Annotated[
        bool,
        Field(
            description="Whether answers have the `sentences` that the model read, with "
            "`word_weights` and, of documents, `sentence_weights`, and `reasons`: what the answer "
            "owes to each word, by leaving it out."
        ),
    ] = False


class TokensBody(RequestBody):
    """Texts, or lists of words if they are already tokenised."""

    texts: Annotated[
        list[Text | Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]],
        Field(min_length=1, json_schema_extra={LIMIT: "texts"}),
    ]
    model: Model = None


class QuestionBody(RequestBody):
    """A question and the context that may hold its answer."""

    question: Text
    context: Text


class ReadBody(RequestBody):
    """Questions to be answered from contexts."""

    questions: Annotated[
        list[QuestionBody], Field(min_length=1, json_schema_extra={LIMIT: "texts"})
    ]
    model: Model = None


class TaskAnswer(ResponseBody):
    """One answer per text, as the command of the same name prints it."""

    model: str
    answers: list[dict[str, Any]]


class Own:
    """Answers requests to our own addresses.

    Args:
        service: Answers requests of all dialects.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    async def match(self, body: MatchBody) -> Json:
        """What each pair is: a label, a score, and the probability of every label."""
        pairs = [(pair.sentence1, pair.sentence2) for pair in body.pairs]
        served, answers, tokens = await self.service.match(body.model, pairs)
        matches = [answer.record(*pair) for answer, pair in zip(answers, pairs, strict=True)]
        return Json({"model": served.name, "matches": matches, "tokens": tokens})

    async def explain(self, body: ExplainBody) -> Json:
        """The match of a pair, and which words of each sentence attended to which of the other."""
        return Json(await self.service.explain(body.model, body.sentence1, body.sentence2))

    async def search(self, body: SearchBody) -> Json:
        """The stored questions that mean the same, with their answers."""
        request = body.request(self.service.limits.max_texts)
        served, found = await self.service.search(body.index, request)
        results = [_found(each) for each in found]
        if isinstance(body.query, str):
            return Json({"index": served.name, **results[0]})
        return Json({"index": served.name, "results": results})

    async def classify(self, body: ClassifyBody) -> Json:
        """The label of each text, and with `explain` how much each word had to say."""
        if body.explain:
            return await self._task("weigh", body.model, body.texts, _with_weights)
        return await self._task("classify", body.model, body.texts, _with_text)

    async def tag(self, body: TokensBody) -> Json:
        """The tag of each word of each text."""
        return await self._task("tag", body.model, body.texts, _by_itself)

    async def read(self, body: ReadBody) -> Json:
        """The answer to each question, as a span of its context."""
        questions = [(each.question, each.context) for each in body.questions]
        return await self._task("read", body.model, questions, _with_question)

    async def generate(self, body: GenerateBody) -> Json:
        """One or several generated texts for each text, best first."""
        served, generated = await self.service.generate(body.model, body.request())
        found = [generated_record(*each) for each in zip(body.texts, generated, strict=True)]
        return Json({"model": served.name, "answers": found})

    async def fill(self, body: FillBody) -> Json:
        """Words for each `[MASK]` of each text, the likeliest first; each mask by itself."""
        served, filled = await self.service.fill(body.model, body.request())
        found = [filled_record(*each) for each in zip(body.texts, filled, strict=True)]
        return Json({"model": served.name, "answers": found})

    async def _task(
        self,
        verb: Verb,
        model: str | None,
        texts: Sequence[Any],
        record: Callable[[Any, Any], dict[str, Any]],
    ) -> Json:
        served, answers = await self.service.predict(verb, model, texts)

        def content() -> dict[str, Any]:
            found = [record(answer, text) for answer, text in zip(answers, texts, strict=True)]
            return {"model": served.name, "answers": found}

        return Json(content, size=num_characters(texts))


def _found(result: SearchResult) -> dict[str, Any]:
    return {
        "query": result.query,
        "stages": list(result.stages),
        "hits": result.hits,
        "nearest": result.nearest,
        "note": result.note,
    }


def _with_text(answer: Any, text: str) -> dict[str, Any]:
    found: dict[str, Any] = answer.record(text)
    return found


def _with_weights(answer: Any, text: str) -> dict[str, Any]:
    found: dict[str, Any] = answer.to_dict()
    del found["model"]
    return found


def _by_itself(answer: Any, text: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.record()
    return found


def _with_question(answer: Any, question: tuple[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = answer.record(*question)
    return found


def own_routes(service: Service, *, searches: bool = False) -> APIRouter:
    """Our own addresses, as far as the served models and indexes can answer them.

    Args:
        service: Answers requests of all dialects.
        searches: Whether there may be an index later, even if there is none now.
    """
    router, own = APIRouter(tags=["softquery"]), Own(service)
    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.OPENAI)}
    routes: list[tuple[Verb, Callable[..., Any], Any]] = [
        ("match", own.match, MatchAnswer),
        ("explain", own.explain, Explained),
        ("search", own.search, SearchAnswer | SearchAnswers),
        ("classify", own.classify, TaskAnswer),
        ("tag", own.tag, TaskAnswer),
        ("read", own.read, TaskAnswer),
        ("fill", own.fill, TaskAnswer),
        ("generate", own.generate, TaskAnswer),
    ]
    for verb, answer, model in routes:
        if service.catalogue.able(verb) or (searches and verb == "search"):
            router.add_api_route(f"/v1/{verb}", answer, response_model=model, **common)
    return router

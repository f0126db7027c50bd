"""What other dialects have no words for: `/v1/match /v1/explain /v1/search` and further tasks."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from softquery.answers import generated_record
from softquery.decoding import Beam, CoupletRule
from softquery.runtime import GenerateRequest
from softquery.runtime.generate.request import Rank
from softquery.serve.bodies import (
    LIMIT,
    Count,
    Json,
    Model,
    RequestBody,
    ResponseBody,
    SmallCount,
    Text,
    Texts,
    refusals,
)
from softquery.serve.catalogue import Skill
from softquery.serve.faults import Dialect
from softquery.serve.service import Service
from softquery.serve.skills import SearchRequest, WriteRequest

Index = Annotated[
    str | None, Field(description="One of the indexes at /info; by default the first.")
]


class SentencePair(RequestBody):
    """Two sentences, named as the columns of files are."""

    sentence1: Text
    sentence2: Text


class MatchBody(RequestBody):
    """Pairs to be matched."""

    pairs: Annotated[list[SentencePair], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
    model: Model = None


class Matched(ResponseBody):
    """What a pair is; `label` is null for a grade, and where the model is not sure enough."""

    sentence1: str
    sentence2: str
    label: str | None
    score: float
    probabilities: dict[str, float]


class MatchAnswer(ResponseBody):
    """One answer a pair."""

    model: str
    matches: list[Matched]
    tokens: int


class ExplainBody(SentencePair):
    """A pair to be explained."""

    model: Model = None


class Explained(ResponseBody):
    """Which words looked at which: a row for each token that asks, a column for each asked."""

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


class SearchBody(RequestBody):
    """A question to an index."""

    query: Text
    top_k: SmallCount = 5
    where: Annotated[
        dict[str, str | list[str]] | None,
        Field(description="Columns, each with the value that it must have, or with several."),
    ] = None
    min_score: Annotated[
        float | None,
        Field(ge=0, le=1, description="From which score on a hit is an answer; else the index's."),
    ] = None
    candidates: Annotated[
        Count, Field(description="Rows that are compared.", json_schema_extra={LIMIT: "count"})
    ] = 50
    explain: Annotated[bool, Field(description="Whether hits have an `alignment`.")] = False
    index: Index = None

    def request(self, most: int) -> SearchRequest:
        """What is passed on.

        Args:
            most: Rows that one request may compare: no more hits than that, nor candidates where
                nobody asked for so many.
        """
        is_asked = "candidates" in self.model_fields_set
        return SearchRequest(
            query=self.query,
            top_k=min(self.top_k, most),
            where=self.where,
            min_score=self.min_score,
            candidates=self.candidates if is_asked else min(self.candidates, most),
            explain=self.explain,
        )


class SearchAnswer(ResponseBody):
    """The best hits, best first; none where no answer is good enough.

    Each has `question`, `answer`, `score`, the kept columns, and with `explain` an `alignment`.
    """

    index: str
    query: str
    hits: list[dict[str, Any]]


class TextsBody(RequestBody):
    """Texts to be answered one by one."""

    texts: Texts
    model: Model = None


Words = Annotated[list[Text], Field(json_schema_extra={LIMIT: "texts"})]


class GenerateBody(RequestBody):
    """Texts to write for, and how; the same as the options of `softquery generate`."""

    texts: Texts
    model: Model = None
    n_best: Annotated[SmallCount, Field(description="Texts for each, best first.")] = 1
    beam: Annotated[SmallCount, Field(description="Texts that the search keeps.")] = 5
    prefix: Annotated[Text, Field(description="What every text begins with.")] = ""
    ban: Annotated[Words, Field(description="Words that may not come.")] = []
    require: Annotated[Words, Field(description="Words that must come.")] = []
    rules: Annotated[
        list[CoupletRule] | None, Field(description="Of couplets; by default form and repeats.")
    ] = None
    rank: Annotated[
        Rank, Field(description="Of couplets: both_ways reads them backwards, too.")
    ] = "likelihood"

    def request(self) -> WriteRequest:
        """What is passed on."""
        how = GenerateRequest(
            strategy=Beam(size=max(self.beam, self.n_best), num_best=self.n_best),
            prefix=self.prefix,
            banned=tuple(self.ban),
            required=tuple(self.require),
            rules=None if self.rules is None else tuple(self.rules),
            rank=self.rank,
        )
        return WriteRequest(self.texts, how)


class TokensBody(RequestBody):
    """Texts, or lists of words where they are cut already."""

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
    """One answer a text, as the command of the same name prints it."""

    model: str
    answers: list[dict[str, Any]]


class Own:
    """The answers of our own addresses.

    Args:
        service: Computes.
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
        """What a pair is, and which words of each sentence looked at which of the other."""
        return Json(await self.service.explain(body.model, body.sentence1, body.sentence2))

    async def search(self, body: SearchBody) -> Json:
        """The stored questions that mean the same, with their answers."""
        request = body.request(self.service.limits.max_texts)
        served, hits = await self.service.search(body.index, request)
        return Json({"index": served.name, "query": body.query, "hits": hits})

    async def classify(self, body: TextsBody) -> Json:
        """What each text is."""
        return await self._task("classify", body.model, body.texts, _with_text)

    async def tag(self, body: TokensBody) -> Json:
        """What each word of each text is."""
        return await self._task("tag", body.model, body.texts, _by_itself)

    async def read(self, body: ReadBody) -> Json:
        """Where in its context the answer to each question stands."""
        asked = [(each.question, each.context) for each in body.questions]
        return await self._task("read", body.model, asked, _with_question)

    async def generate(self, body: GenerateBody) -> Json:
        """A text for each text, or several, best first."""
        served, written = await self.service.write(body.model, body.request())
        found = [generated_record(*each) for each in zip(body.texts, written, strict=True)]
        return Json({"model": served.name, "answers": found})

    async def _task(
        self,
        skill: Skill,
        model: str | None,
        texts: Sequence[Any],
        record: Callable[[Any, Any], dict[str, Any]],
    ) -> Json:
        served, answers = await self.service.predict(skill, model, texts)
        found = [record(answer, text) for answer, text in zip(answers, texts, strict=True)]
        return Json({"model": served.name, "answers": found})


def _with_text(answer: Any, text: str) -> dict[str, Any]:
    found: dict[str, Any] = answer.record(text)
    return found


def _by_itself(answer: Any, text: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.record()
    return found


def _with_question(answer: Any, asked: tuple[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = answer.record(*asked)
    return found


def own_routes(service: Service) -> APIRouter:
    """Addresses for what the models and indexes at hand can do."""
    router, own = APIRouter(tags=["softquery"]), Own(service)
    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.OPENAI)}
    routes: list[tuple[Skill, Callable[..., Any], type[ResponseBody]]] = [
        ("match", own.match, MatchAnswer),
        ("explain", own.explain, Explained),
        ("search", own.search, SearchAnswer),
        ("classify", own.classify, TaskAnswer),
        ("tag", own.tag, TaskAnswer),
        ("read", own.read, TaskAnswer),
        ("generate", own.generate, TaskAnswer),
    ]
    for skill, answer, model in routes:
        if service.catalogue.able(skill):
            router.add_api_route(f"/v1/{skill}", answer, response_model=model, **common)
    return router

"""Text Embeddings Inference: `/embed /rerank /predict /similarity /info /health`, and `POST /`.

What its clients may send besides: `truncate` (false refuses texts that would be cut; by default
they are cut), `truncation_direction` (texts are cut on the right alone), `raw_scores` (log-odds in
place of probabilities), `return_text`. Of our own is `model` in every body. `/rerank` also takes
`documents` in place of `texts`, as clients of Jina and vLLM send it, and answers as theirs do.
"""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from softquery.serve.bodies import (
    LIMIT,
    Count,
    Json,
    Model,
    RawJson,
    RequestBody,
    ResponseBody,
    Text,
    Texts,
    as_list,
    refusals,
    written,
)
from softquery.serve.catalogue import Served
from softquery.serve.dialects.rerank import JinaRanked, JinaRerank, jina_answer
from softquery.serve.faults import Dialect, Fault, FaultKind
from softquery.serve.service import Scored, Service
from softquery.serve.skills import log_odds
from softquery.serve.vector_json import cosines

Direction = Annotated[Literal["right", "Right"], Field(description="Texts are cut on the right.")]
Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]
Single = Annotated[list[Text], Field(min_length=1, max_length=1)]
Pairs = Annotated[list[Pair], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]


class EmbedBody(RequestBody):
    """Texts to be embedded."""

    inputs: Text | Texts
    normalize: bool | None = True
    truncate: bool | None = None
    truncation_direction: Direction = "right"
    prompt_name: None = None
    dimensions: Count | None = None
    model: Model = None


class RerankBody(RequestBody):
    """Texts to be ordered by how well they match a query."""

    query: Text
    texts: Texts
    raw_scores: bool = False
    return_text: bool = False
    truncate: bool | None = None
    truncation_direction: Direction = "right"
    model: Model = None


class PredictBody(RequestBody):
    """A pair, or pairs, to be classified by a matcher."""

    inputs: Pair | Pairs
    raw_scores: bool = False
    truncate: bool | None = None
    truncation_direction: Direction = "right"
    model: Model = None

    def pairs(self) -> tuple[list[tuple[str, str]], bool]:
        """All pairs, and whether they came as a list."""
        lists = [each for each in self.inputs if isinstance(each, list)]
        one = [each for each in self.inputs if isinstance(each, str)]
        return [(each[0], each[1]) for each in lists or [one]], bool(lists)


class PredictTextBody(RequestBody):
    """A text, or texts, to be classified by a classifier."""

    inputs: (
        Text
        | Single
        | Annotated[list[Single], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
    )
    raw_scores: bool = False
    truncate: bool | None = None
    model: Model = None

    def texts(self) -> tuple[list[str], bool]:
        """All texts, and whether they came as a list of lists."""
        if isinstance(self.inputs, str):
            return [self.inputs], False
        lists = [each[0] for each in self.inputs if isinstance(each, list)]
        return lists or [each for each in self.inputs if isinstance(each, str)], bool(lists)


class SimilaritySentences(RequestBody):
    """One sentence and those that it is compared with."""

    source_sentence: Text
    sentences: Texts


class SimilarityParameters(RequestBody):
    """How texts are read."""

    truncate: bool | None = None
    truncation_direction: Direction = "right"
    prompt_name: None = None


class SimilarityBody(RequestBody):
    """Sentences to be compared by their vectors."""

    inputs: SimilaritySentences
    parameters: SimilarityParameters | None = None
    model: Model = None


class Rank(ResponseBody):
    """One text of a ranking."""

    index: int
    score: float
    text: str | None = None


class Prediction(ResponseBody):
    """One label."""

    label: str
    score: float


Predictions = list[Prediction] | list[list[Prediction]]
Vectors = list[list[float]]
AnyAnswer = Vectors | list[float] | list[Rank] | Predictions
EmbedEither = Annotated[EmbedBody | SimilarityBody, Field(union_mode="left_to_right")]
PredictEither = Annotated[PredictBody | PredictTextBody, Field(union_mode="left_to_right")]
AnyBody = Annotated[
    EmbedBody | SimilarityBody | PredictBody | RerankBody, Field(union_mode="left_to_right")
]


class Tei:
    """The answers of this dialect.

    Args:
        service: Computes.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    async def embed(self, body: EmbedBody) -> Response:
        """A vector for each text, of length 1 unless `normalize` is false."""
        found = await self.service.embed(
            body.model,
            as_list(body.inputs),
            normalize=body.normalize is not False,
            dimensions=body.dimensions,
            truncate=body.truncate,
        )
        return RawJson(b"[" + b",".join(await written(found.vectors)) + b"]")

    async def rerank(self, body: RerankBody | JinaRerank) -> Json:
        """Texts ordered by how well they match the query, best first."""
        if isinstance(body, JinaRerank):
            return await jina_answer(self.service, body)
        found = await self.service.score(
            body.model, [body.query], body.texts, truncate=body.truncate
        )
        return Json(_ranks(found, body))

    async def predict(self, body: PredictBody) -> Json:
        """All labels of each pair with their probabilities, likeliest first."""
        asked, many = body.pairs()
        served, answers, _ = await self.service.match(body.model, asked, truncate=body.truncate)
        found = [_labels(served, each, body.raw_scores) for each in answers]
        return Json(found if many else found[0])

    async def predict_text(self, body: PredictTextBody) -> Json:
        """All labels of each text with their probabilities, likeliest first."""
        texts, many = body.texts()
        served, answers = await self.service.predict("classify", body.model, texts)
        found = [_labels(served, each, body.raw_scores) for each in answers]
        return Json(found if many else found[0])

    async def similarity(self, body: SimilarityBody) -> Json:
        """The cosine of the sentence's vector with that of each other one."""
        truncate = None if body.parameters is None else body.parameters.truncate
        one, others = await asyncio.gather(
            self.service.embed(body.model, [body.inputs.source_sentence], truncate=truncate),
            self.service.embed(body.model, body.inputs.sentences, truncate=truncate),
        )
        return Json([round(each, 8) for each in cosines(one.vectors[0], others.vectors)])

    async def predict_any(self, body: PredictEither) -> Json:
        """All labels of each pair or text with their probabilities, likeliest first."""
        if isinstance(body, PredictBody):
            return await self.predict(body)
        return await self.predict_text(body)

    async def embed_or_compare(self, body: EmbedEither) -> Response:
        """Vectors, or their cosines: what is sent says what is asked."""
        if isinstance(body, EmbedBody):
            return await self.embed(body)
        return await self.similarity(body)

    async def any(self, body: AnyBody) -> Response:
        """The same address for all of them: what is sent says what is asked."""
        if isinstance(body, RerankBody):
            return await self.rerank(body)
        if isinstance(body, PredictBody):
            return await self.predict(body)
        return await self.embed_or_compare(body)


def _ranks(found: Scored, body: RerankBody) -> list[dict[str, Any]]:
    ranks = []
    for place, score in found.best_first():
        shown = log_odds(score) if body.raw_scores else score
        text = {"text": body.texts[place]} if body.return_text else {}
        ranks.append({"index": place, **text, "score": shown})
    return ranks


def _labels(served: Served, answer: Any, raw_scores: bool) -> list[dict[str, Any]]:
    """Labels of one answer; a grade has none, and is named by itself."""
    shares = answer.probabilities
    if not shares:
        if raw_scores:
            raise Fault(FaultKind.VALIDATION, f"raw_scores: {served.name} gives grades, not labels")
        return [{"label": "grade", "score": answer.score}]
    order = sorted(shares, key=lambda label: -shares[label])
    scores = {label: log_odds(shares[label]) if raw_scores else shares[label] for label in order}
    return [{"label": label, "score": scores[label]} for label in order]


def tei_routes(service: Service) -> APIRouter:
    """Addresses for what the models at hand can do."""
    router, tei = APIRouter(tags=["TEI"]), Tei(service)
    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.TEI)}
    matches, classifies, embeds = (
        bool(service.catalogue.able(skill)) for skill in ("match", "classify", "embed")
    )
    if embeds:
        router.add_api_route("/embed", tei.embed, response_model=Vectors, **common)
        router.add_api_route("/similarity", tei.similarity, response_model=list[float], **common)
        router.add_api_route(
            "/",
            tei.any if matches else tei.embed_or_compare,
            response_model=AnyAnswer if matches else Vectors | list[float],
            **common,
        )
    if matches:
        ranked = list[Rank] | JinaRanked
        router.add_api_route("/rerank", tei.rerank, response_model=ranked, **common)
    if matches or classifies:
        predict = tei.predict_any if matches and classifies else tei.predict
        chosen = predict if matches else tei.predict_text
        router.add_api_route("/predict", chosen, response_model=Predictions, **common)
    return router

"""Text Embeddings Inference: `/embed /rerank /predict /similarity`, which `POST /` takes as well.

What it has for tokens is in `tei_tokens`.

Its clients may also send `truncate` (false refuses texts that would be truncated; by default they
are truncated), `truncation_direction` (only on the right), `raw_scores` (log-odds instead of
probabilities) and `return_text`. `model` in every body is our own addition. `/rerank` also takes
`documents` instead of `texts`, as clients of Jina and vLLM send it, and answers as those expect.
"""

import asyncio
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from softquery.errors import counted
from softquery.serve.bodies import (
    LIMIT,
    Count,
    Model,
    RequestBody,
    ResponseBody,
    Text,
    TextOrTexts,
    Texts,
    as_list,
    refusals,
)
from softquery.serve.catalogue import ServedModel
from softquery.serve.dialects.rerank import JinaRanked, JinaRerank, jina_response
from softquery.serve.faults import Dialect, Fault, FaultKind
from softquery.serve.json_responses import Json, RawJson, vectors_as_json
from softquery.serve.service import ScoredTexts, Service, cosines

Direction = Annotated[
    Literal["right", "Right"], Field(description="Texts are truncated on the right.")
]
Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]
Single = Annotated[list[Text], Field(min_length=1, max_length=1)]
Pairs = Annotated[list[Pair], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
Singles = Annotated[list[Single], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]


class EmbedBody(RequestBody):
    """Texts to be embedded."""

    inputs: TextOrTexts
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
        """All pairs, and whether they were sent as a list."""
        lists = [each for each in self.inputs if isinstance(each, list)]
        one = [each for each in self.inputs if isinstance(each, str)]
        return [(each[0], each[1]) for each in lists or [one]], bool(lists)


class PredictTextBody(RequestBody):
    """A text, or texts, to be classified by a classifier."""

    inputs: Text | Single | Singles
    raw_scores: bool = False
    truncate: bool | None = None
    model: Model = None

    def texts(self) -> tuple[list[str], bool]:
        """All texts, and whether they were sent as a list of lists."""
        if isinstance(self.inputs, str):
            return [self.inputs], False
        lists = [each[0] for each in self.inputs if isinstance(each, list)]
        return lists or [each for each in self.inputs if isinstance(each, str)], bool(lists)


class SimilaritySentences(RequestBody):
    """A sentence and those to be compared with it."""

    source_sentence: Text
    sentences: Texts


class SimilarityParameters(RequestBody):
    """How texts are truncated."""

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
    """A label and its probability."""

    label: str
    score: float


Predictions = list[Prediction] | list[list[Prediction]]
Vectors = list[list[float]]
PredictEither = Annotated[PredictBody | PredictTextBody, Field(union_mode="left_to_right")]


class Tei:
    """Answers requests of this dialect.

    Args:
        service: Answers requests of all dialects.
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
        return RawJson(b"[" + b",".join(await vectors_as_json(found.vectors)) + b"]")

    async def rerank(self, body: RerankBody | JinaRerank) -> Json:
        """Texts ordered by how well they match the query, best first."""
        if isinstance(body, JinaRerank):
            return await jina_response(self.service, body)
        found = await self.service.score(
            body.model, [body.query], body.texts, truncate=body.truncate
        )
        return Json(_ranks(found, body))

    async def predict(self, body: PredictBody) -> Json:
        """All labels of each pair with their probabilities, likeliest first."""
        pairs, many = body.pairs()
        served, answers, _ = await self.service.match(body.model, pairs, truncate=body.truncate)
        found = [labels_with_scores(served, each, raw_scores=body.raw_scores) for each in answers]
        return Json(found if many else found[0])

    async def predict_text(self, body: PredictTextBody) -> Json:
        """All labels of each text with their probabilities, likeliest first."""
        texts, many = body.texts()
        served, answers = await self.service.predict("classify", body.model, texts)
        if body.truncate is False:
            await _refuse_longer(served, texts)
        found = [labels_with_scores(served, each, raw_scores=body.raw_scores) for each in answers]
        return Json(found if many else found[0])

    async def similarity(self, body: SimilarityBody) -> Json:
        """The cosine of the sentence's vector with that of each other sentence."""
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


async def _refuse_longer(served: ServedModel, texts: list[str]) -> None:
    """Refuse texts of which a classifier reads only the beginning."""
    count = await asyncio.to_thread(served.model.num_cut, texts)
    if count:
        longer = f"{counted(count, 'text is', 'texts are')} longer than {served.name} reads"
        raise Fault(
            FaultKind.VALIDATION,
            f"{longer} ({served.model.limit}); allow truncate, or send shorter texts",
            tei="Validation",
        )


def log_odds(probability: float) -> float:
    """The score whose sigmoid is the probability, kept finite.

    >>> log_odds(0.5), log_odds(1.0) < 40
    (0.0, True)
    """
    safe = min(max(probability, 1e-15), 1 - 1e-15)
    return float(np.log(safe / (1 - safe)))


def _ranks(found: ScoredTexts, body: RerankBody) -> list[dict[str, Any]]:
    ranks = []
    for place, score in found.best_first():
        shown = log_odds(score) if body.raw_scores else score
        text = {"text": body.texts[place]} if body.return_text else {}
        ranks.append({"index": place, **text, "score": shown})
    return ranks


def labels_with_scores(
    served: ServedModel, answer: Any, *, raw_scores: bool = False
) -> list[dict[str, Any]]:
    """The labels of one answer; a grade has none, and gets the label `grade`."""
    shares = answer.probabilities
    if not shares:
        if raw_scores:
            raise Fault(FaultKind.VALIDATION, f"raw_scores: {served.name} gives grades, not labels")
        return [{"label": "grade", "score": answer.score}]
    order = sorted(shares, key=lambda label: -shares[label])
    scores = {label: log_odds(shares[label]) if raw_scores else shares[label] for label in order}
    return [{"label": label, "score": scores[label]} for label in order]


def tei_routes(service: Service) -> APIRouter:
    """The addresses of TEI, as far as the served models can answer them."""
    router, tei = APIRouter(tags=["TEI"]), Tei(service)
    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.TEI)}
    matches, classifies, embeds = (
        bool(service.catalogue.able(verb)) for verb in ("match", "classify", "embed")
    )
    if embeds:
        router.add_api_route("/embed", tei.embed, response_model=Vectors, **common)
        router.add_api_route("/similarity", tei.similarity, response_model=list[float], **common)
    if matches:
        ranked = list[Rank] | JinaRanked
        router.add_api_route("/rerank", tei.rerank, response_model=ranked, **common)
    if matches or classifies:
        predict = tei.predict_any if matches and classifies else tei.predict
        chosen = predict if matches else tei.predict_text
        router.add_api_route("/predict", chosen, response_model=Predictions, **common)
    return router

"""TEI where it speaks of tokens: `/tokenize /decode /embed_all /embed_sparse`.

`/embed_all` gives the vectors of words or pieces in their context, from ELMo or BERT. There is no
SPLADE here: `/embed_sparse` gives the words of a text with their weights in BM25, as an index knows
them. Texts are taken as texts, and not as numbers of tokens. As with TEI, all of its addresses are
there, and those that no model can answer say so with a 424.
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from softquery.runtime import ContextEmbedder, PieceEmbedder
from softquery.search import Index
from softquery.serve.bodies import (
    LIMIT,
    Model,
    RequestBody,
    ResponseBody,
    TextOrTexts,
    TokenNumber,
    as_list,
    refusals,
)
from softquery.serve.catalogue import ServedModel
from softquery.serve.dialects.tei import Direction
from softquery.serve.dialects.tei_handlers import (
    SparseHandler,
    TokenizeHandler,
    TokenizeRequest,
    TokenVectorHandler,
)
from softquery.serve.faults import Dialect, Fault, FaultKind
from softquery.serve.json_responses import Json, RawJson, vectors_as_json
from softquery.serve.service import Service
from softquery.text import TextPipeline

Ids = Annotated[list[TokenNumber], Field(json_schema_extra={LIMIT: "texts"})]
IdLists = Annotated[list[Ids], Field(min_length=1, json_schema_extra={LIMIT: "texts"})]
ADDRESSES = (
    "/embed", "/embed_all", "/embed_sparse", "/rerank", "/predict", "/similarity", "/tokenize",
    "/decode",
)  # fmt: skip
"""All addresses of TEI that compute something."""


class EmbedTokensBody(RequestBody):
    """Texts of which each token gets a vector, or each word a weight."""

    inputs: TextOrTexts
    truncate: bool | None = None
    truncation_direction: Direction = "right"
    prompt_name: None = None
    model: Model = None


class TokenizeBody(RequestBody):
    """Texts to be cut into tokens."""

    inputs: TextOrTexts
    add_special_tokens: bool = True
    prompt_name: None = None
    model: Model = None


class DecodeBody(RequestBody):
    """Numbers of tokens to be put together as text."""

    ids: Ids | IdLists
    skip_special_tokens: bool = True
    model: Model = None

    def lists(self) -> list[list[int]]:
        """The numbers of each text."""
        several = [each for each in self.ids if isinstance(each, list)]
        return several or [[each for each in self.ids if isinstance(each, int)]]


class Token(ResponseBody):
    """A token, and where it stands in its text; marks of beginning and end stand nowhere."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


class SparseValue(ResponseBody):
    """A word by its number, and its weight."""

    index: int
    value: float


class TeiTokens:
    """Answers requests about tokens.

    Args:
        service: Answers requests of all dialects.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        models = service.catalogue.models
        self.tokenizers = {
            each.name: (each, TokenizeHandler(each.name, each.model.pipeline))
            for each in models
            if isinstance(getattr(each.model, "pipeline", None), TextPipeline)
            and not isinstance(each.model, ContextEmbedder)  # reads characters, by no numbers
        }
        self.vectors = {
            each.name: (each, TokenVectorHandler(each.name, each.model))
            for each in models
            if isinstance(each.model, (ContextEmbedder, PieceEmbedder))
        }

    @property
    def weighing(self) -> dict[str, tuple[ServedModel, SparseHandler]]:
        """Indexes that weigh words; further ones may have come since the server began."""
        return {
            each.name: (each, SparseHandler(each.name, each.model))
            for each in self.service.catalogue.indexes
            if isinstance(each.model, Index)
        }

    async def tokenize(self, body: TokenizeBody) -> Json:
        """The tokens of each text; nothing is cut off."""
        served, handler = self._chosen(self.tokenizers, body.model, "tokenize")
        texts = as_list(body.inputs)
        self.service.check_texts(texts)
        request = TokenizeRequest(texts, body.add_special_tokens)
        return Json((await self.service.compute(served, handler, request)).answers)

    async def decode(self, body: DecodeBody) -> Json:
        """The text of each list of numbers."""
        _, handler = self._chosen(self.tokenizers, body.model, "tokenize")
        lists, most = body.lists(), self.service.limits.max_texts
        if max(len(lists), *map(len, lists)) > most:
            message = f"one request may hold {most:,} texts of as many tokens"
            raise Fault(FaultKind.VALIDATION, message, tei="Validation")
        size = handler.pipeline.vocab_size
        if any(number >= size for numbers in lists for number in numbers):
            message = f"numbers of tokens are below {size:,}"
            raise Fault(FaultKind.VALIDATION, message, tei="Tokenizer")
        has_marks = not body.skip_special_tokens
        return Json(await asyncio.to_thread(handler.decoded, lists, has_marks=has_marks))

    async def embed_all(self, body: EmbedTokensBody) -> Response:
        """The vectors of the words or pieces of each text, before they are pooled."""
        served, handler = self._chosen(self.vectors, body.model, "embed tokens")
        texts = as_list(body.inputs)
        self.service.check_texts(texts)
        result = await self.service.compute(served, handler, texts, truncate=body.truncate)
        found = [b",".join(await vectors_as_json(list(each))) for each in result.answers]
        return RawJson(b"[" + b",".join(b"[" + each + b"]" for each in found) + b"]")

    async def embed_sparse(self, body: EmbedTokensBody) -> Json:
        """The words of each text by their numbers, with their weights in BM25."""
        served, handler = self._chosen(self.weighing, body.model, "weigh words")
        texts = as_list(body.inputs)
        self.service.check_texts(texts)
        found = (await self.service.compute(served, handler, texts)).answers
        return Json(
            [
                [{"index": number, "value": round(value, 6)} for number, value in each.items()]
                for each in found
            ]
        )

    def _chosen(self, able: dict[str, Any], name: str | None, verb: str) -> Any:
        """What a request names, or the first that can do it, with its handler."""
        if name is None and able:
            return next(iter(able.values()))
        if name in able:
            return able[name]
        if name is not None:
            self.service.catalogue.named(name)
        known = f" (known: {', '.join(able)})" if able else ""
        what = "this server" if name is None else "that model"
        raise Fault(FaultKind.NOT_FOUND, f"{what} cannot {verb}{known}", tei="Backend")


def tei_token_routes(service: Service) -> APIRouter:
    """The addresses for tokens, as far as what is served can answer them."""
    router, tei = APIRouter(tags=["TEI"]), TeiTokens(service)
    common: dict[str, Any] = {"methods": ["POST"], "responses": refusals(Dialect.TEI)}
    if tei.tokenizers:
        router.add_api_route("/tokenize", tei.tokenize, response_model=list[list[Token]], **common)
        router.add_api_route("/decode", tei.decode, response_model=list[str], **common)
    if tei.vectors:
        vectors = list[list[list[float]]]
        router.add_api_route("/embed_all", tei.embed_all, response_model=vectors, **common)
    if tei.weighing:
        weights = list[list[SparseValue]]
        router.add_api_route("/embed_sparse", tei.embed_sparse, response_model=weights, **common)
    return router


def unable_routes(service: Service) -> APIRouter:
    """TEI's addresses for what no model here can do; those that can stand before them."""
    router = APIRouter(tags=["TEI"])

    async def unable() -> Response:
        """Nothing that is served can do it."""
        message = "nothing that this server has can do it; /info says what is served"
        raise Fault(FaultKind.NOT_FOUND, message, tei="Backend")

    for address in ADDRESSES:
        router.add_api_route(address, unable, methods=["POST"], include_in_schema=False)
    return router

"""`/v1/indexes`: what an index holds, and files that become indexes where the server allows it."""

import asyncio
import threading
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field

from softquery.search import IndexView
from softquery.serve.bodies import RequestBody, ResponseBody, refusals
from softquery.serve.catalogue import ServedModel
from softquery.serve.faults import Dialect
from softquery.serve.indexes.index_summary import index_summary
from softquery.serve.indexes.uploads import Upload, Uploads
from softquery.serve.json_responses import Json
from softquery.serve.service import REQUEST, Service

ColumnName = Annotated[str, Field(min_length=1, max_length=200)]


class IndexColumns(RequestBody):
    """The file's names of our columns; each is its own by default."""

    question: ColumnName | None = None
    answer: ColumnName | None = None
    id: ColumnName | None = None


class UploadBody(RequestBody):
    """A file of questions to be indexed."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, description="The file's name, such as faq.csv.")
    ]
    content: Annotated[str, Field(description="The file's text: .csv, .tsv or .jsonl.")]
    columns: IndexColumns = IndexColumns()

    def upload(self) -> Upload:
        """The file as the server indexes it."""
        given = self.columns.model_dump(exclude_none=True)
        columns = {ours: theirs for ours, theirs in given.items() if ours != theirs}
        return Upload(name=self.name, content=self.content, columns=columns)


class IndexSummary(ResponseBody):
    """An index: its size, columns and language, some of its questions, and what can filter it."""

    name: str
    rows: int
    columns: list[str]
    min_score: float
    language: str
    explains: bool
    examples: list[str]
    filters: dict[str, list[str]]


def _summary(served: ServedModel) -> dict[str, Any]:
    empty = {"rows": 0, "columns": [], "min_score": 0.0, "language": "en", "explains": True}
    found = {**empty, "examples": [], "filters": {}}
    if isinstance(served.model, IndexView):
        found = index_summary(served.model)
    return {"name": served.name, **found}


class Indexes:
    """Answers requests about indexes.

    Args:
        service: Knows the indexes.
        uploads: Takes files; None where the server takes none.
    """

    def __init__(self, service: Service, uploads: Uploads | None) -> None:
        self.service, self.uploads = service, uploads

    async def describe(self, name: str) -> Json:
        """What an index holds, and some of its questions."""
        served = await self.service.find_index(name)
        return Json(await asyncio.to_thread(_summary, served))

    async def upload(self, body: UploadBody) -> Json:
        """Make an index of a file, and serve it from now on."""
        assert self.uploads is not None
        limits, gone = self.service.limits, threading.Event()
        due = REQUEST.get({}).get("deadline", time.monotonic() + limits.timeout)
        try:
            served = await asyncio.to_thread(
                self.uploads.build, body.upload(), until=due - 0.5, gone=gone
            )
        finally:
            gone.set()
        return Json(await asyncio.to_thread(_summary, served))


def index_routes(service: Service, uploads: Uploads | None) -> APIRouter:
    """The addresses of indexes, as far as there are any or may be."""
    router, indexes = APIRouter(tags=["softquery"]), Indexes(service, uploads)
    names: list[Any] = [each.name for each in service.catalogue.indexes] or ["faq"]
    known: dict[str, Any] = {"examples" if uploads is not None else "enum": names}
    index_name = Annotated[str, Path(max_length=200, json_schema_extra=known)]

    async def describe(name: index_name) -> Json:
        """What an index holds, and some of its questions."""
        return await indexes.describe(name)

    common: dict[str, Any] = {
        "responses": refusals(Dialect.OPENAI),
        "response_model": IndexSummary,
    }
    if service.catalogue.indexes or uploads is not None:
        router.add_api_route("/v1/indexes/{name}", describe, methods=["GET"], **common)
    if uploads is not None:
        router.add_api_route("/v1/indexes", indexes.upload, methods=["POST"], **common)
    return router

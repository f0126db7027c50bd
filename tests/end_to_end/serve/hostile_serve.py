"""What a server must withstand: what is sent and answered, as in `docs/errors/serve.md`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from serving import Client, Reply

DEEP = b"[" * 100_000
ANY = "…"
"""Stands for what differs from case to case."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One hostile request."""

    title: str
    status: int
    said: str
    """A part of the answer's message; empty if there is none."""
    path: str = "/rerank"
    body: Any = None
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def send(self, client: Client) -> Reply:
        body = self.body() if isinstance(self.body, Callable) else self.body
        return client.ask(self.path, body, method=self.method, **self.headers)

    def __str__(self) -> str:
        return self.title


def rerank(**fields: Any) -> dict[str, Any]:
    return {"query": "a question", "texts": ["a text"], **fields}


CASES = [
    Case(
        title="a list in place of a pair",
        status=400,
        said="pairs.0: input should be an object",
        path="/v1/match",
        body={"pairs": [["a text", "another"]]},
    ),
    Case(title="no body", status=422, said="the body: field required", method="POST"),
    Case(title="no JSON", status=422, said="the body is not JSON", body=b"{query: 1}"),
    Case(
        title="JSON under another content type",
        status=422,
        said="expected JSON, sent with Content-Type: application/json",
        body=rerank(),
        headers={"content_type": "text/plain"},
    ),
    Case(title="half of a body", status=422, said="the body is not JSON", body=b'{"query": "a'),
    Case(
        title="bytes that are no UTF-8",
        status=422,
        said="the body is not JSON",
        body=b'{"query": "\xff\xfe"}',
    ),
    Case(
        title="100,000 nested lists",
        status=422,
        said="the body has more values than a request may hold",
        body=DEEP,
    ),
    Case(
        title="a number of 5,000 digits",
        status=422,
        said="the body is not JSON",
        body=b'{"query": ' + b"9" * 5000 + b"}",
    ),
    Case(
        title="NaN in place of a number",
        path="/v2/rerank",
        status=400,
        said="top_n: input should be a valid integer",
        body=b'{"query": "a", "documents": ["b"], "top_n": NaN}',
    ),
    Case(title="a list in place of an object", status=422, said="the body: ", body=b"[1, 2]"),
    Case(title="a number in place of a text", status=422, said="texts.0: ", body=rerank(texts=[3])),
    Case(title="null in place of a text", status=422, said="query: ", body=rerank(query=None)),
    Case(
        title="no candidates",
        status=422,
        said="texts: list should have at least 1 item",
        body=rerank(texts=[]),
    ),
    Case(
        title="more candidates than one request may hold",
        status=413,
        said="101 texts; one request may hold 100",
        body=lambda: rerank(texts=["a"] * 101),
    ),
    Case(
        title="a text that is too long",
        status=413,
        said="a text is longer than 2,000 characters",
        body=lambda: rerank(query="a" * 2001),
    ),
    Case(
        title="a body that is too large",
        status=413,
        said="the body is larger than 200,000 bytes",
        body=lambda: rerank(texts=["a" * 300_000]),
    ),
    Case(
        title="a model that is not served",
        status=404,
        said="no model of that name can match (known: match-en, nli-en, match-zh)",
        body=rerank(model="<script>"),
    ),
    Case(
        title="a model that cannot do it",
        path="/v1/explain",
        status=404,
        said="no model of that name can explain (known: match-en, nli-en, match-zh)",
        body={"sentence1": "a", "sentence2": "b", "model": "elmo-en"},
    ),
    Case(
        title="lists of unequal length",
        path="/v1/score",
        status=400,
        said="2 first texts and 3 second ones; expected as many of both, or one text on one side",
        body={"text_1": ["a", "b"], "text_2": ["c", "d", "e"]},
    ),
    Case(
        title="a width that vectors do not have",
        path="/v1/embeddings",
        status=404,
        said="no such model gives vectors of that size (known: match-en 400, nli-en 400, "
        "match-zh 400, elmo-en 384)",
        body={"input": "a", "dimensions": 3},
    ),
    Case(
        title="tokens of another vocabulary",
        path="/v1/embeddings",
        status=400,
        said="input: input should be a valid string",
        body={"input": [464, 3290]},
    ),
    Case(title="an address that is not there", path="/admin", status=404, said="Not Found"),
    Case(
        title="a path that climbs",
        path="/page/../../../../etc/passwd",
        status=404,
        said="Not Found",
    ),
    Case(
        title="another method", status=405, said="Method Not Allowed", method="DELETE", body=b"{}"
    ),
    Case(
        title="control characters, bidi marks and emoji",
        status=200,
        said="",
        body=rerank(
            query="\x00\x1b[31m\u202e👩‍👩‍👧", texts=["\ufeff", "\U0010ffff", "a\u0300" * 500]
        ),
    ),
    Case(
        title="half of a character (a lone surrogate)",
        status=200,
        said="",
        body=b'{"query": "\\ud800", "texts": ["\\udfff a"], "return_text": true}',
    ),
    Case(
        title="a text without words",
        status=200,
        said="",
        body=rerank(query="", texts=["", " ", "\u200b", "\n\t"]),
    ),
    Case(
        title="one word of 2,000 letters",
        status=200,
        said="",
        body=rerank(query="a" * 2000, texts=["b" * 2000]),
    ),
    Case(
        title="fields that nobody knows",
        status=200,
        said="",
        body=rerank(__class__="x", constructor={"prototype": {}}, texts=["a"]),
    ),
]

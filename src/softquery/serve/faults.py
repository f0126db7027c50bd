"""Why a request is refused, in the shape that clients of each dialect expect.

| dialect | body | a wrong body gets |
|---|---|---|
| TEI | `{"error": TEXT, "error_type": TYPE}` | 422 |
| OpenAI, vLLM, own | `{"error": {"message": TEXT, "type": KIND, …}}` | 400 |
| Cohere, Jina | `{"message": TEXT, "detail": TEXT}` | 400 |
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from softquery.errors import SoftqueryError
from softquery.serve.operation.allowances import Amount


class Dialect(Enum):
    """The API whose shapes an address follows."""

    TEI = "tei"
    OPENAI = "openai"
    RERANK = "rerank"


class FaultKind(Enum):
    """The kinds of faults, each with its usual status."""

    VALIDATION = 400
    UNAUTHORIZED = 401
    NOT_FOUND = 404
    WRONG_METHOD = 405
    TOO_SLOW = 408
    TOO_LARGE = 413
    WRONG_TYPE = 415
    OVERLOADED = 429
    INTERNAL = 500
    UNAVAILABLE = 503

    @property
    def word(self) -> str:
        """The name of the kind in the body of a response."""
        return self.name.lower()


TeiType = Literal["Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer"]
"""What TEI calls the kinds of its refusals."""
TEI_STATUSES: Mapping[TeiType, int] = {
    "Validation": 413, "Tokenizer": 422, "Backend": 424, "Overloaded": 429, "Unhealthy": 503,
}  # fmt: skip
"""The status of each of them."""
_TEI_TYPES: Mapping[FaultKind, TeiType] = {
    FaultKind.OVERLOADED: "Overloaded",
    FaultKind.INTERNAL: "Backend",
    FaultKind.UNAVAILABLE: "Unhealthy",
}
"""By the usual kinds; "Validation" for all others."""


class Fault(SoftqueryError):  # noqa: N818  (answers call it a fault)
    """A request that cannot be answered, and what the client is told.

    Args:
        kind: Determines the status.
        message: One line; never quotes what the user wrote.
        headers: Additional headers of the response.
        tei: What TEI calls it, where it has a status of its own for that.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        tei: TeiType | None = None,
    ) -> None:
        self.kind, self.message, self.tei = kind, message, tei
        self.headers = dict(headers or {})
        super().__init__(message)

    def status(self, dialect: Dialect) -> int:
        """The status of the response.

        >>> Fault(FaultKind.VALIDATION, "texts: is missing").status(Dialect.TEI)
        422
        """
        if dialect is Dialect.TEI and self.tei is not None:
            return TEI_STATUSES[self.tei]
        if self.kind is FaultKind.VALIDATION and dialect is Dialect.TEI:
            return 422
        return self.kind.value

    def body(self, dialect: Dialect) -> dict[str, Any]:
        """The body of the response, in the shape of the dialect.

        >>> Fault(FaultKind.NOT_FOUND, "no such model").body(Dialect.TEI)
        {'error': 'no such model', 'error_type': 'Validation'}
        """
        if dialect is Dialect.TEI:
            shown = self.tei or _TEI_TYPES.get(self.kind, "Validation")
            return {"error": self.message, "error_type": shown}
        if dialect is Dialect.RERANK:
            return {"message": self.message, "detail": self.message}
        inside = {"message": self.message, "type": self.kind.word, "param": None}
        return {"error": {**inside, "code": self.status(dialect)}}


def overloaded(retry_after: int) -> Fault:
    """The refusal of a request for which the queue has no room."""
    return Fault(
        FaultKind.OVERLOADED,
        f"the queue is full; try again in {retry_after} s",
        headers={"Retry-After": str(retry_after)},
    )


def not_allowed_yet(amount: Amount, retry_after: int) -> Fault:
    """The refusal of a request that goes beyond what the holder of its key may ask."""
    return Fault(
        FaultKind.OVERLOADED,
        f"this key is allowed {amount}, which are used; try again in {retry_after} s",
        headers={"Retry-After": str(retry_after)},
    )


def validation(errors: Sequence[Mapping[str, Any]]) -> Fault:
    """What is wrong with a body, in one line that names fields but quotes no text of the user.

    >>> found = [{"loc": ("body", "texts"), "msg": "Field required", "type": "missing"}]
    >>> print(validation(found))
    texts: field required
    """
    lines = list(dict.fromkeys(map(_line, errors)))
    more = f" (and {len(lines) - 3} more)" if len(lines) > 3 else ""
    return Fault(FaultKind.VALIDATION, "; ".join(lines[:3]) + more)


def _is_place(part: object) -> bool:
    """Whether a part of an error's location is a field or a number, not the name of a schema."""
    return isinstance(part, int) or bool(re.fullmatch(r"(?!body$|str$)[a-z][a-z0-9_]*", str(part)))


def _line(error: Mapping[str, Any]) -> str:
    kind = str(error.get("type", ""))
    if kind.startswith("json_") or kind == "value_error.jsondecode":
        return "the body is not JSON"
    place = ".".join(str(part)[:40] for part in error.get("loc", ()) if _is_place(part))
    said = str(error.get("msg", "is wrong"))
    if kind.startswith("model_"):  # pydantic speaks of dictionaries and their attributes
        said = "input should be an object"
    said = said[:1].lower() + said[1:]
    return f"{place or 'the body'}: {said}"[:200]

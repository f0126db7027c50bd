"""What a card says about the data, read from `facts.json`.

Either a list of sets, each with `name`, `rows`, `licence` and, where wanted, `note`; or an object
with such a list as `data`, and where wanted `licence` (of the weights), `training` (further lines
of the card's table) and `limits` (further sentences).
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softquery.bundle import CardData, is_research_only
from softquery.errors import InputError

KEYS = {"data", "licence", "training", "limits"}
RESEARCH = "research only"
SHARE_ALIKE = "cc-by-sa-4.0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What is known of a model before it is measured."""

    licence: str
    data: list[CardData]
    training: dict[str, object] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)


def read_facts(path: Path, licence: str | None = None) -> Facts:
    """Read a file of facts.

    Args:
        path: The JSON file.
        licence: Of the weights; by default the file's, else the strictest that the data ask for.
    """
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    except ValueError as error:
        raise InputError(f"is not JSON ({error})", source=path) from None
    facts = given if isinstance(given, dict) else {"data": given}
    if unknown := sorted(set(facts) - KEYS):
        raise InputError(
            f"unknown key {unknown[0]!r}; expected {', '.join(sorted(KEYS))}", source=path
        )
    try:
        data = [_part(each) for each in facts["data"]]
    except (KeyError, TypeError, ValueError) as error:
        message = f"expected sets with name, rows, licence and note ({error!r})"
        raise InputError(message, source=path) from None
    chosen = licence or facts.get("licence") or licence_of(data)
    if chosen is None:
        raise InputError("no licence follows from the data; state one", source=path)
    return Facts(
        licence=chosen,
        data=data,
        training=dict(facts.get("training", {})),
        limits=list(facts.get("limits", [])),
    )


def licence_of(data: list[CardData]) -> str | None:
    """The licence that data of such licences leave to the weights; None where that is not clear.

    >>> sets = [CardData(name=name, rows=1, licence=name) for name in ("CC BY-SA 4.0", "research")]
    >>> licence_of(sets), licence_of(sets[:1])
    ('research only', 'cc-by-sa-4.0')
    """
    if any(is_research_only(part.licence) for part in data):
        return RESEARCH
    spelt = [part.licence.lower().replace("-", " ") for part in data]
    return SHARE_ALIKE if any("by sa 4.0" in each for each in spelt) else None


def _part(given: dict[str, Any]) -> CardData:
    return CardData(
        name=str(given["name"]),
        rows=int(given["rows"]),
        licence=str(given["licence"]),
        note=str(given.get("note") or ""),
    )

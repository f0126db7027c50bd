"""What is known of a shipped model before it is measured: `facts/NAME.json`.

The keys of a file are the fields of `Facts`; only those without a default must be there. `data` is
a list of sets, each with `name`, `rows`, `licence` and, where wanted, `note`; `rows` may name a
figure of the training, such as "words", in place of a number. Sentences of `limits` may hold
figures in braces, which the makers of pretrained models fill in.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from softquery.bundle import CardData, is_research_only
from softquery.errors import InputError

FOLDER = Path(__file__).parent / "facts"
RESEARCH = "research only"
SHARE_ALIKE = "cc-by-sa-4.0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What differs from one shipped model to the next."""

    name: str
    kind: str
    purpose: str
    languages: list[str]
    data: list[dict[str, Any]]
    largest_mb: float
    licence: str = ""
    """Of the weights; by default the strictest that the data ask for."""
    gate: float | None = None
    """What int8 may cost, in points or per cent; None for the usual."""
    labels: list[str] = field(default_factory=list)
    """Those that the runs must have; of two, the second is the one that a score is about."""
    metric: str = ""
    """What seeds are chosen by, and what is reported first."""
    numbers: list[str] = field(default_factory=list)
    """Further metrics of the card."""
    dev: str = ""
    """What dev is called."""
    slices: str = ""
    """By what to look for the weakest side."""
    beam: int = 1
    scope: str = ""
    """The first of a matcher's limits: on what it is best."""
    training: dict[str, Any] = field(default_factory=dict)
    """Further lines of the card's table."""
    limits: list[str] = field(default_factory=list)

    def card_data(self, training: Mapping[str, Any] | None = None) -> list[CardData]:
        """The sets as the card tells them."""
        known = {} if training is None else training
        return [
            CardData(
                name=str(part["name"]),
                rows=int(known.get(part["rows"], part["rows"])),
                licence=str(part["licence"]),
                note=str(part.get("note") or ""),
            )
            for part in self.data
        ]

    @property
    def num_rows(self) -> int:
        """Rows to train on, of all sets."""
        return sum(int(part["rows"]) for part in self.data)


def known_models() -> list[str]:
    """Every model that has facts."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def read_facts(name: str, path: Path | None = None, licence: str | None = None) -> Facts:
    """Read a model's facts.

    Args:
        name: Of the model.
        path: Another file than the one that bears the name.
        licence: Of the weights, in place of the file's.
    """
    path = path or FOLDER / f"{name}.json"
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    except ValueError as error:
        raise InputError(f"is not JSON ({error})", source=path) from None
    if not isinstance(given, dict):
        raise InputError("expected an object", source=path)
    _check_keys(given, path)
    try:
        pairs = [(str(part["licence"]), part["name"], part["rows"]) for part in given["data"]]
    except (KeyError, TypeError) as error:
        message = f"expected sets with name, rows, licence and note ({error!r})"
        raise InputError(message, source=path) from None
    chosen = licence or given.get("licence") or licence_of([each for each, _, _ in pairs])
    if chosen is None:
        raise InputError("no licence follows from the data; state one", source=path)
    return Facts(**{**given, "name": name, "licence": chosen})


def _check_keys(given: Mapping[str, Any], path: Path) -> None:
    known = {each.name: each for each in fields(Facts) if each.name != "name"}
    if unknown := sorted(set(given) - set(known)):
        raise InputError(
            f"unknown key {unknown[0]!r}; expected {', '.join(sorted(known))}", source=path
        )
    missing = [
        name
        for name, each in known.items()
        if name not in given and each.default is MISSING and each.default_factory is MISSING
    ]
    if missing:
        raise InputError(f"lacks {', '.join(missing)}", source=path)


def licence_of(licences: list[str]) -> str | None:
    """The licence that data of such licences leave to the weights; None where that is not clear.

    >>> licence_of(["CC BY-SA 4.0", "research"]), licence_of(["CC BY-SA 4.0"])
    ('research only', 'cc-by-sa-4.0')
    """
    if any(is_research_only(each) for each in licences):
        return RESEARCH
    spelt = [each.lower().replace("-", " ") for each in licences]
    return SHARE_ALIKE if any("by sa 4.0" in each for each in spelt) else None

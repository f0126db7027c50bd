"""The model card: what a stranger must know before using a model, as `README.md`.

The front matter is the one that model hubs read; everything below it is for people.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from softquery.bundle.usage import example_of, usage_lines

_RESEARCH = re.compile(r"research|non-?commercial|academic|\bnc\b", re.IGNORECASE)
_HUB_LICENCE = re.compile(r"(apache|mit|bsd|cc|cc0|gpl|lgpl|agpl|mpl|odc|pddl|unlicense)\b[\w.-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class CardData:
    """Text that a model was trained or tuned on."""

    name: str
    rows: int
    licence: str
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardNumber:
    """One measured number, never without the rows it was measured on."""

    metric: str
    value: float
    n: int
    data: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """The facts of a card.

    Args:
        name: The bundle's name, as users type it.
        purpose: One sentence: what the model is for.
        languages: Codes such as `"en"`, `"zh"`.
        licence: Of the weights, such as `"apache-2.0"` or `"research only"`.
        data: What it was trained on.
        training: The recipe, its seed and settings worth knowing, in the order to show.
        numbers: What was measured.
        limits: What it cannot do, one sentence each.
    """

    name: str
    purpose: str
    languages: Sequence[str]
    licence: str
    data: Sequence[CardData]
    training: Mapping[str, object]
    numbers: Sequence[CardNumber]
    limits: Sequence[str]


def is_research_only(licence: str) -> bool:
    """Whether a licence keeps commercial users out.

    >>> [is_research_only(name) for name in ("apache-2.0", "cc-by-nc-4.0", "research use only")]
    [False, True, True]
    """
    return _RESEARCH.search(licence) is not None


def make_card(card: Card, *, kind: str, calibration: Mapping[str, object] | None = None) -> str:
    """Write the model card in Markdown, with front matter.

    Args:
        card: The facts.
        kind: The bundle's kind, which decides how its use is shown.
        calibration: What was fitted so that probabilities mean something, if anything was.

    >>> facts = Card(name="nli-en", purpose="Says whether one sentence follows from another.",
    ...     languages=["en"], licence="apache-2.0", data=[], training={"seed": 1}, numbers=[],
    ...     limits=["English only."])
    >>> make_card(facts, kind="matcher").splitlines()[10:13]
    ['# nli-en', '', 'Says whether one sentence follows from another.']
    """
    sections: list[tuple[str, list[str]]] = [
        ("Data", _data_lines(card.data)),
        ("Training", _table(("setting", "value"), list(card.training.items()))),
        ("Numbers", _number_lines(card.numbers)),
        ("Calibration", calibration_lines(calibration)),
        ("Limits", [f"- {_one_line(limit)}" for limit in card.limits] or ["None are known."]),
        ("How to use", usage_lines(kind, card.name, card.languages)),
        ("Licence", _licence_lines(card)),
    ]
    if not example_of(kind).has_probabilities:
        sections = [section for section in sections if section[0] != "Calibration"]
    lines = [*_front_matter(card, kind), "", f"# {_one_line(card.name)}", ""]
    lines += [_one_line(card.purpose), *_research_lines(card)]
    for title, body in sections:
        lines += ["", f"## {title}", "", *body]
    return "\n".join(lines) + "\n"


def calibration_lines(calibration: Mapping[str, object] | None) -> list[str]:
    """The card's section about calibration."""
    if not calibration:
        return ["Not calibrated: take probabilities as an order only."]
    shown = [
        (name, f"{value:.4f}" if isinstance(value, float) else value)
        for name, value in calibration.items()
        if value is not None
    ]
    return _table(("setting", "value"), shown)


def _front_matter(card: Card, kind: str) -> list[str]:
    # JSON strings are YAML strings, so that no name can break out of its line.
    is_known = _HUB_LICENCE.fullmatch(card.licence.lower()) is not None
    licence = card.licence.lower() if is_known else "other"
    tags = ["softquery", kind, *(["research-only"] if _is_restricted(card) else [])]
    return [
        "---",
        f"license: {json.dumps(licence)}",
        *([] if is_known else [f"license_name: {_quoted(card.licence)}"]),
        *(["language:"] if card.languages else []),
        *(f"- {_quoted(code)}" for code in card.languages),
        "library_name: softquery",
        "tags:",
        *(f"- {_quoted(tag)}" for tag in tags),
        "---",
    ]


def _is_restricted(card: Card) -> bool:
    return is_research_only(card.licence) or any(is_research_only(d.licence) for d in card.data)


def _research_lines(card: Card) -> list[str]:
    if not _is_restricted(card):
        return []
    reasons = [f"the model ({card.licence})"] if is_research_only(card.licence) else []
    reasons += [f"{d.name} ({d.licence})" for d in card.data if is_research_only(d.licence)]
    return ["", f"**For research only**, by the licence of {_one_line(', '.join(reasons))}."]


def _licence_lines(card: Card) -> list[str]:
    said = "research only" in card.licence.lower()
    restricted = " For research only." if _is_restricted(card) and not said else ""
    return [f"{_one_line(card.licence)}.{restricted} The data keep their own licences, see above."]


def _data_lines(data: Sequence[CardData]) -> list[str]:
    if not data:
        return ["Not recorded."]
    rows = [(part.name, f"{part.rows:,}", part.licence, part.note) for part in data]
    return _table(("data", "rows", "licence", "note"), rows)


def _number_lines(numbers: Sequence[CardNumber]) -> list[str]:
    if not numbers:
        return ["Nothing was measured."]
    rows = [
        (part.metric, f"{part.value:.4f}", _range(part.interval), f"{part.n:,}", part.data)
        for part in numbers
    ]
    return _table(("metric", "value", "95 % interval", "n", "measured on"), rows)


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    if not rows:
        return ["Not recorded."]
    body = [[_cell(value) for value in row] for row in rows]
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def _cell(value: object) -> str:
    return _one_line(str(value)).replace("\\", "\\\\").replace("|", "\\|")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

"""The model card: what a stranger must know before using a model, as `README.md`.

The front matter is the one that model hubs read; everything below it is for people.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

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
        ("Training", table_lines(("setting", "value"), list(card.training.items()))),
        ("Numbers", number_lines(card.numbers)),
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


def card_languages(text: str) -> list[str]:
    r"""The languages that the front matter of a card names; none if it names none.

    >>> card_languages('---\nlanguage:\n- "en"\n- zh\ntags:\n- "matcher"\n---\n')
    ['en', 'zh']
    >>> card_languages("---\nlanguage: en\n---\n"), card_languages("# A model")
    (['en'], [])
    """
    lines = iter(text.partition("\n---")[0].splitlines() if text.startswith("---\n") else [])
    found: list[str] = []
    for line in lines:
        if line.startswith("language:"):
            found.append(line.partition(":")[2])
            found += takewhile(lambda each: each.lstrip().startswith("- "), lines)
    codes = (each.strip().removeprefix("- ").strip(" \"'") for each in found)
    return [code for code in codes if code]


SOURCE_COLUMNS = ("source", "rows", "ECE before", "ECE after", "left out", "by chance")
"""The table of a calibration that was fitted on several sources."""
_SOURCE_FIGURES = ("measured_on", "ece_before", "ece_after", "ece_left_out", "ece_by_chance")


def calibration_lines(calibration: Mapping[str, object] | None) -> list[str]:
    """The card's section about calibration."""
    if not calibration:
        return ["Not calibrated: take probabilities as an order only."]
    shown = [(name, _figure(value)) for name, value in calibration.items() if name != "sources"]
    lines = table_lines(("setting", "value"), [row for row in shown if row[1] is not None])
    rows = source_rows(calibration)
    if not rows:
        return lines
    told = (
        "Every source counts alike, whatever its size; the rows are second halves, on which "
        "nothing was fitted. *Left out*: as fitted on the other sources alone, which is what text "
        "of a new kind may expect. *By chance*: what as few rows would show if every probability "
        "were true."
    )
    table = [tuple(_figure(cell) for cell in row) for row in rows]
    return [*lines, "", *table_lines(SOURCE_COLUMNS, table), "", told]


def source_rows(calibration: Mapping[str, object] | None) -> list[tuple[object, ...]]:
    """What a calibration says of each source that it was fitted on, as rows of `SOURCE_COLUMNS`.

    >>> source_rows({"sources": {"chat": {"measured_on": 40, "ece_after": 0.05}}})
    [('chat', 40, '', 0.05, '', '')]
    """
    sources = (calibration or {}).get("sources")
    if not isinstance(sources, Mapping):
        return []
    return [
        (name, *(_number(found.get(key)) for key in _SOURCE_FIGURES))
        for name, found in sources.items()
        if isinstance(found, Mapping)
    ]


def _number(value: object) -> object:
    """A number, or nothing in place of whatever else a file may hold."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _figure(value: object) -> object:
    return f"{value:.4f}" if isinstance(value, float) else value


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
    return table_lines(("data", "rows", "licence", "note"), rows)


def number_lines(numbers: Sequence[CardNumber]) -> list[str]:
    """The card's section of figures."""
    if not numbers:
        return ["Nothing was measured."]
    rows = [
        (part.metric, f"{part.value:.4f}", _range(part.interval), f"{part.n:,}", part.data)
        for part in numbers
    ]
    return table_lines(("metric", "value", "95 % interval", "n", "measured on"), rows)


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"


def table_lines(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A table in Markdown; what is empty says so."""
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


_EXAMPLES = {
    "zh": {
        "A man is eating.": "花呗怎么提额",
        "Someone eats.": "如何提高花呗额度",
        "Ein Mann isst.": "春风得意马蹄疾",
        "Ada Lovelace lived in London.": "马云在杭州创立了阿里巴巴集团。",
        "What a fine day.": "房间很干净，下次还来。",
    }
}
"""What stands in place of our examples for models of other languages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardExample:
    """A kind of bundle at work.

    Attributes:
        shell: Commands, with `{model}` in place of the model's name.
        python: A call of the opened model; None where none is shown.
        opener: The function that opens it.
        has_probabilities: Whether its answers come with probabilities, and so its card with a
            section about calibration.
    """

    shell: tuple[str, ...]
    python: str | None = None
    opener: str = "load"
    has_probabilities: bool = False


EXAMPLES = {
    "matcher": CardExample(
        shell=('match "A man is eating." "Someone eats." --model {model}',),
        python='model.predict([("A man is eating.", "Someone eats.")])',
        has_probabilities=True,
    ),
    "embedder": CardExample(
        shell=("embed sentences.txt --output vectors.npz --model {model}",),
        python='model.embed(["A man is eating."])  # layers x words x width',
    ),
    "encoder": CardExample(
        shell=(
            "train bert-classify --init {model} --data DIR --output mine",
            'embed --text "A man is eating." --model {model}',
        ),
    ),
    "sentence-encoder": CardExample(
        shell=("embed sentences.txt --output vectors.npy --model {model}",),
        python='model.encode(["A man is eating."])  # sentences x width',
    ),
    "classifier": CardExample(
        shell=('classify "What a fine day." --model {model}',),
        python='model.predict(["What a fine day."])',
        has_probabilities=True,
    ),
    "tagger": CardExample(
        shell=('tag "Ada Lovelace lived in London." --model {model}',),
        python='model.predict(["Ada Lovelace lived in London."])',
        has_probabilities=True,
    ),
    "reader": CardExample(
        shell=('read "Who slept?" --context "Ada Lovelace slept in London." --model {model}',),
        python='model.predict([("Who slept?", "Ada Lovelace slept in London.")])',
        has_probabilities=True,
    ),
    "generator": CardExample(
        shell=('generate "Ein Mann isst." --model {model}',),
        python='model.predict(["Ein Mann isst."])',
    ),
    "vectors": CardExample(
        shell=("vectors nearest king --model {model}",),
        python='model.nearest("king")',
        opener="load_vectors",
    ),
}
"""The card's column of `softquery.runtime.kinds`, a table that stands a few layers above."""


WITHIN_KINDS = {
    "language-model": CardExample(
        shell=(
            'generate "A man is" --sample --top-k 40 --model {model}',
            "evaluate {model} --data texts.txt",
        ),
        python='model.generate(["A man is"])',
    ),
}
"""What some bundles of a kind do that others of it do not."""


def example_of(kind: str) -> CardExample:
    """How a kind of bundle is shown at work."""
    if kind in WITHIN_KINDS:
        return WITHIN_KINDS[kind]
    if kind not in EXAMPLES:
        raise ValueError(f"unknown kind of bundle {kind!r} (known: {', '.join(EXAMPLES)})")
    return EXAMPLES[kind]


def usage_lines(kind: str, name: str, languages: Sequence[str] = ()) -> list[str]:
    """Markdown that shows a bundle at work, in the shell and in Python.

    >>> usage_lines("matcher", "nli-en")[1]
    'softquery match "A man is eating." "Someone eats." --model nli-en'
    """
    example, quoted = example_of(kind), shlex.quote(name)
    commands = [f"softquery {line}".replace("{model}", quoted) for line in example.shell]
    lines = ["```sh", *commands, "```"]
    if example.python is not None:
        opened = f"model = sq.{example.opener}({json.dumps(name)})"
        lines += ["", "```python", "import softquery as sq", "", opened, example.python, "```"]
    replaced = next((_EXAMPLES[each] for each in languages if each in _EXAMPLES), {})
    for ours, theirs in replaced.items():
        lines = [line.replace(ours, theirs) for line in lines]
    return lines

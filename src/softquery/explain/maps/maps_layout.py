"""Where everything lies in pictures of one text that asks another, or itself, by layer and head."""

from collections.abc import Sequence
from dataclasses import dataclass

from softquery.explain.colours import Side
from softquery.explain.generation import GenerationAlignment, Weights
from softquery.explain.heat_map import HeatMap, TitleParts, cell_size, split_title
from softquery.explain.layout import (
    ANSWER_WIDTH,
    HEADING,
    PADDING,
    SentenceLine,
    map_width,
    sentence_lines,
)
from softquery.explain.lettering import visible
from softquery.explain.self_attention import SelfAttention
from softquery.language import filled_in, localised

BEGINS = "▁"
"""Begins a piece that begins a word, in SentencePiece."""
Maps = GenerationAlignment | SelfAttention
SMALL_CELL = 14.0
"""The cell of the maps of single heads."""
SMALL_TITLE_AT = 14.0

_GAP, _SMALL_TITLE = 30.0, 26.0
_LEAST_WIDTH = 720.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MapPanel:
    """One map, and where the upper left corner of it with its title lies."""

    name: str
    """Of a single head; empty for the first map, whose heat map has a title."""
    drawing: HeatMap
    x: float
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MapsLayout:
    """The texts and a fact beside them above, then the first map, then those of single heads."""

    note: str
    lines: tuple[SentenceLine, ...]
    fact: tuple[str, str]
    """What is told on the right: its name, and its value."""
    title: str
    """What the picture is called where only text is read."""
    panels: tuple[MapPanel, ...]
    width: float
    height: float
    answer_at: float
    rule_at: float


def fact_of(shown: Maps) -> tuple[str, str]:
    """What is told beside the texts: the score of a generated text, else how much is drawn."""
    if isinstance(shown, GenerationAlignment):
        return localised("score"), f"{shown.score:.2f}".replace("-", "−")
    num_layers, num_heads = shown.weights.shape[:2]
    return localised("layers × heads"), f"{num_layers} × {num_heads}"


def title_of(shown: Maps) -> str:
    """What a picture is called."""
    if isinstance(shown, GenerationAlignment):
        texts = {"text": visible(shown.text), "source": visible(shown.source)}
        return filled_in("Where “{text}” looked in “{source}”", texts)
    return filled_in("Whom the tokens of “{text}” asked", {"text": visible(shown.text)})


def map_title(shown: Maps) -> TitleParts:
    """The title of the first map, in four parts; the second and the fourth are coloured."""
    if isinstance(shown, SelfAttention):
        own = other = localised("token")
        text = localised("Mean of all heads: each {own} asks every {other}")
    else:
        own, other = localised("answer"), localised("source")
        text = localised(
            "Mean of all heads: the {own} asks the {other}"
            if shown.heads()
            else "Each token of the {own} asks the {other}"
        )
    before, between, _ = split_title(text)
    return (before, own, between, other)


def drawings(shown: Maps) -> list[tuple[str, HeatMap]]:
    """The first map, then that of every head with its name."""
    heads = [(localised(name), _map(shown, each, SMALL_CELL)) for name, each in shown.heads()]
    first = _map(shown, shown.mean, cell_size(max(shown.weights.shape[-2:])), map_title(shown))
    return [("", first), *heads]


def arrange_maps(shown: Maps) -> MapsLayout:
    """Lay out texts and maps: the first map alone, a row for the heads of each layer."""
    columns = 1 if shown.weights.ndim == 2 else shown.weights.shape[1]
    maps = drawings(shown)
    sizes = [(each.width, each.height(each.top) + _SMALL_TITLE) for _, each in maps]
    rows = [range(start, min(start + columns, len(maps))) for start in range(1, len(maps), columns)]
    row_widths = [sum(sizes[place][0] for place in row) + _GAP * (len(row) - 1) for row in rows]
    width = 2 * PADDING + max([map_width(maps[0][1]), *row_widths, _LEAST_WIDTH - 2 * PADDING])
    answer_at = width - PADDING - ANSWER_WIDTH / 2
    texts: tuple[tuple[Side, str], ...] = (("second", shown.text),)
    if isinstance(shown, GenerationAlignment):
        texts = (("first", shown.source), *texts)
    lines = sentence_lines(texts, answer_at - PADDING - 40)
    rule_at = PADDING + max(lines[-1].y, 40.0) + 26
    y = rule_at + 24
    panels = [MapPanel(name="", drawing=maps[0][1], x=PADDING, y=y)]
    y += HEADING + maps[0][1].height(maps[0][1].top) + _GAP
    for row in rows:
        x = PADDING
        for place in row:
            panels.append(MapPanel(name=maps[place][0], drawing=maps[place][1], x=x, y=y))
            x += sizes[place][0] + _GAP
        y += max(sizes[place][1] for place in row) + _GAP
    model = f" · {visible(shown.model)}" if shown.model else ""
    return MapsLayout(
        note=f"{localised('Who asked whom?')}{model}",
        lines=tuple(lines),
        fact=fact_of(shown),
        title=title_of(shown),
        panels=tuple(panels),
        width=width,
        height=y - _GAP + PADDING,
        answer_at=answer_at,
        rule_at=rule_at,
    )


def shown_pieces(tokens: Sequence[str]) -> tuple[str, ...]:
    """Pieces of words as pictures of a BERT have them, wherever a mark begins a word instead.

    >>> shown_pieces(["▁ein", "▁Fahr", "rad", ".", "<eos>"])
    ('ein', 'Fahr', '##rad', '.', '<eos>')
    """
    if not any(token.startswith(BEGINS) for token in tokens):
        return tuple(tokens)
    return tuple(
        token.removeprefix(BEGINS) or token
        if token.startswith(BEGINS) or not token[:1].isalnum()
        else f"##{token}"
        for token in tokens
    )


def small_map_at(panel: MapPanel) -> tuple[float, float]:
    """The upper left corner of the map of a single head, below its title."""
    return panel.x, panel.y + _SMALL_TITLE


def _map(shown: Maps, weights: Weights, cell: float, title: TitleParts | None = None) -> HeatMap:
    return HeatMap(
        side="second",
        askers=shown_pieces(shown.tokens),
        asked=shown_pieces(shown.source_tokens),
        weights=weights,
        cell=cell,
        title=title,
    )

"""A report as a page that stands alone: no script, nothing to load, readable on a phone.

Users' text only ever becomes text in it: escaped, on one line, cut where it is endless.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from math import ceil
from typing import Any

from softquery import __version__
from softquery.explain import PairAlignment
from softquery.explain.frame import policy
from softquery.explain.layout import heat_maps
from softquery.explain.lettering import escaped, isolated, visible
from softquery.explain.svg import picture_css, read_resource
from softquery.search.report.charts import calibration_chart, curve_chart, histogram_chart

LONGEST = 240
"""Characters of a text that are shown."""
TABLE_POINTS = 12
"""Points of the curve that stand in its table."""
Data = Mapping[str, Any]
HEADLINES = {
    "first_right": ("first row right", "of queries that have an answer"),
    "answered_rightly": ("answered rightly", "of queries that have an answer"),
    "precision": ("of answers are right", "unanswerable queries count as wrong"),
    "unanswerable_answered": ("of unanswerable answered", "fewer is better"),
    "mrr": ("mean reciprocal rank", "of the first row that answers"),
    "answered": ("of queries are answered", "the others find no good answer"),
}
SLICE_HEADS = {
    "n": "queries",
    "answered": "answered",
    "first_right": "first right",
    "answered_rightly": "answered rightly",
    "precision": "of answers right",
    "unanswerable_answered": "unanswerable answered",
}


def page(data: Data, alignments: Mapping[int, PairAlignment]) -> str:
    """The whole page.

    Args:
        data: What `SearchReport.data` holds.
        alignments: Those of the first mistakes, by their places.
    """
    parts = [_opening(data), _headline(data)]
    if data["labelled"]:
        parts += [_curve(data), _scores(data), _stages(data), _mistakes(data, alignments)]
    else:
        parts += [_log_scores(data)]
    parts += [_gaps(data), _slices(data), _times(data)]
    style = read_resource("page.css") + _style() + (picture_css() if alignments else "")
    name = text(data["index"])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{name}: how well it answers</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<main>\n{''.join(parts)}<footer>softquery {__version__} · a report by "
        "<code>softquery evaluate --html</code></footer>\n</main>\n</body>\n</html>\n"
    )


def text(value: object) -> str:
    """A text between tags: escaped, on one line, cut.

    >>> text("<b>"), len(text("a" * 1000))
    ('&lt;b&gt;', 241)
    """
    whole = str(value)
    cut = whole if len(whole) <= LONGEST else whole[:LONGEST].rstrip() + "…"
    return escaped(isolated(visible(cut)))


def _style() -> str:
    return (files("softquery.search.report") / "report.css").read_text(encoding="utf-8")


def _panel(title: str, body: str, note: str = "") -> str:
    lead = f'<p class="quiet">{note}</p>\n' if note else ""
    return f'<section class="panel">\n<h2>{title}</h2>\n{lead}{body}</section>\n'


def _opening(data: Data) -> str:
    facts = [
        f"{data['n']:,} queries",
        f"{data['rows']:,} rows",
        f"matcher {text(data['model'])}",
        f"vectors {text(data['vectors'])}",
        f"stages {', '.join(data['used'])}",
    ]
    if data["aim"]:
        facts.append(f"aim {text(data['aim'])}")
    least = data["answers"]["min_score"]
    if least is not None:
        facts.append(f"threshold {least:.3f}")
    log = "" if data["labelled"] else "<p>A log: nothing says which row answers a query.</p>\n"
    return (
        f'<header class="panel">\n<h1>How well does <bdi>{text(data["index"])}</bdi> answer?'
        f'</h1>\n<p class="quiet">{" · ".join(facts)}</p>\n{log}</header>\n'
    )


def _headline(data: Data) -> str:
    cards = ""
    for name, each in data["headline"].items():
        title, note = HEADLINES[name]
        value, (low, high) = each["value"], each["interval"]
        if name == "mrr":
            shown, bounds = f"{value:.3f}", f"{low:.3f} to {high:.3f}"
        else:
            shown, bounds = f"{value:.1%}", f"{low:.1%} to {high:.1%}"
        cards += (
            f'<div class="figure"><b>{shown}</b><span>{title}</span>'
            f'<span class="quiet">{bounds} · {each["n"]:,} queries</span>'
            f'<span class="quiet">{note}</span></div>\n'
        )
    return (
        '<section class="panel" aria-label="Figures"><div class="figures">\n'
        f"{cards}</div></section>\n"
    )


def _curve(data: Data) -> str:
    curve: Sequence[Data] = data["curve"]
    if not any(each["coverage"] is not None for each in curve):
        return ""
    note = "Every threshold is a point: a lower one answers more, and more of it wrongly. "
    note += (
        "Precision is the share of all answers that are right. Intervals at the top are of 95 %."
    )
    step = max(1, ceil(len(curve) / TABLE_POINTS))
    names = ("threshold", "coverage", "precision", "unanswerable_answered")
    rows = [[each[name] for name in names] for each in [*curve[::step], curve[-1]]]
    heads = ("threshold", "coverage", "precision", "unanswerable answered")
    figures = f"<details open><summary>The figures</summary>{_table(heads, rows)}</details>"
    key = _key(
        ("good", "right, of what is answered"),
        *([("bad", "unanswerable queries that are answered")] if _has_outside(data) else []),
        ("now", "today's threshold"),
    )
    body = f'<div class="two"><div>{curve_chart(data)}{key}</div>{figures}</div>'
    return _panel("Coverage against precision", body, note)


def _has_outside(data: Data) -> bool:
    return data["today"]["unanswerable_answered"] is not None


def _scores(data: Data) -> str:
    least = data["answers"]["min_score"]
    key = _key(
        ("good", "first row right"),
        ("wrong", "first row wrong"),
        *([("bad", "unanswerable")] if _has_outside(data) else []),
    )
    panels = _panel(
        "Where scores lie",
        histogram_chart(data["histogram"], least) + key,
        f"Scores are {data['score']}.",
    )
    if "calibration" in data:
        error = data["calibration"]["ece"]
        note = (
            f"On the line, a score of 0.8 is right in 80 % of cases. Expected error: {error:.3f}."
        )
        panels = _panel("Are scores true?", calibration_chart(data), note) + panels
    return f'<div class="two">\n{panels}</div>\n'


def _log_scores(data: Data) -> str:
    chart = histogram_chart(data["histogram"], data["answers"]["min_score"])
    key = _key(("good", "answered"), ("bad", "no good answer"))
    return _panel("Where scores lie", chart + key, f"Scores are {data['score']}.")


def _stages(data: Data) -> str:
    body = ""
    if "stages" in data:
        names = [name for name in next(iter(data["stages"].values())) if "found" not in name]
        rows = [[stage, *(each[name] for name in names)] for stage, each in data["stages"].items()]
        body += _table(("what a stage finds", *names), rows)
    if "comparison" in data:
        compared = data["comparison"]
        names = [name for name in compared["compared"][0] if name != "stages"]
        rows = [
            [", ".join(each["stages"]), *(each[name] for name in names)]
            for each in compared["compared"]
        ]
        heads = [name.replace("milliseconds_", "ms ") for name in names]
        best = ", ".join(compared["recommended"])
        body += f"<h3>Subsets of the stages</h3>{_table(('stages', *heads), rows)}"
        body += f'<p class="quiet">Recommended: {text(best)}.</p>'
    return _panel("By stage", body) if body else ""


def _mistakes(data: Data, alignments: Mapping[int, PairAlignment]) -> str:
    shown, number = data["mistakes"], data["num_mistakes"]
    if not shown:
        return _panel("Worst mistakes", "<p>No query was answered wrongly.</p>\n")
    items = "".join(_mistake(each, alignments.get(place)) for place, each in enumerate(shown))
    note = f"Queries that were answered wrongly, the surest first: {len(shown):,} of {number:,}."
    return _panel("Worst mistakes", f'<ol class="cases">\n{items}</ol>\n', note)


def _mistake(each: Data, alignment: PairAlignment | None) -> str:
    rows = [_case("asked", each["query"], "", "asked"), _row("shown", each["shown"])]
    rows += [_row("right", row) for row in each["right"]]
    if not each["right"]:
        rows.append(_case("right", "no row answers it", ""))
    picture = "" if alignment is None else _alignment(alignment)
    return f'<li><dl class="case">{"".join(rows)}</dl>{picture}</li>\n'


def _row(kind: str, row: Data) -> str:
    at = "not found" if row["score"] is None else f"{row['score']:.3f}"
    if row.get("rank"):
        at = f"rank {row['rank']}, {at}"
    return _case(kind, row["question"], at)


def _case(kind: str, words: str, at: str, style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return (
        f'<dt>{kind}</dt><dd{named}><bdi>{text(words)}</bdi></dd><dd class="at">{escaped(at)}</dd>'
    )


def _alignment(alignment: PairAlignment) -> str:
    """What the query's words looked at in the question that was shown."""
    drawing, _ = heat_maps(alignment)
    width, height = ceil(drawing.width), ceil(drawing.height(drawing.top))
    name = "What the query's words looked at in what was shown"
    return (
        f'<details><summary>{name}</summary><div class="scroll" tabindex="0" role="group" '
        f'aria-label="{name}"><svg width="{width}" height="{height}" role="img" '
        f'aria-label="{name}">{drawing.markup(drawing.top)}</svg></div></details>'
    )


def _gaps(data: Data) -> str:
    gaps, is_log = data["gaps"], not data["labelled"]
    what = "queries without a good answer" if is_log else "queries that no row answers"
    if not gaps["clusters"]:
        return _panel("Gaps", f"<p>{gaps['queries']:,} {what}; no two of them mean the same.</p>\n")
    items = "".join(_gap(each) for each in gaps["clusters"])
    note = (
        f"Of {gaps['queries']:,} {what}, {gaps['clustered']:,} cluster: rows that are worth "
        f"writing, the largest {len(gaps['clusters']):,} of {gaps['num_clusters']:,}."
    )
    if gaps["looked_at"] < gaps["queries"]:
        note += f" {gaps['looked_at']:,} queries were looked at, evenly drawn."
    return _panel("Gaps", f'<ol class="cases">\n{items}</ol>\n', note)


def _gap(each: Data) -> str:
    examples = "".join(f"<li><bdi>{text(query)}</bdi></li>" for query in each["examples"])
    more = each["size"] - len(each["examples"])
    rest = f'<p class="quiet">and {more:,} more</p>' if more > 0 else ""
    nearest = ""
    if each["nearest"]:
        row = each["nearest"]
        nearest = (
            f'<p class="quiet">nearest row: <bdi>{text(row["question"])}</bdi> '
            f"({row['score']:.3f})</p>"
        )
    answered = f" · {each['answered']:,} of them answered all the same" if each["answered"] else ""
    return (
        f'<li><span class="size">{each["size"]:,}</span> '
        f'<span class="quiet">queries{answered}</span>'
        f"<ul>{examples}</ul>{rest}{nearest}</li>\n"
    )


def _slices(data: Data) -> str:
    body = ""
    for name, rows in data["slices"].items():
        names = [key for key in rows[0] if key != "slice"]
        cells = [[each["slice"], *(each[key] for key in names)] for each in rows]
        heads = (text(name), *(SLICE_HEADS[key] for key in names))
        body += f"<h3>By {text(name)}</h3>{_table(heads, cells)}"
    return _panel("Slices", body) if body else ""


def _times(data: Data) -> str:
    rows = [[name, each["p50"], each["p95"]] for name, each in data["milliseconds"].items()]
    table = _table(("part", "median", "95th percentile"), rows)
    return _panel("Milliseconds per query", table, "On the machine that wrote this report.")


def _key(*entries: tuple[str, str]) -> str:
    items = "".join(f'<li><i class="{kind}"></i>{name}</li>' for kind, name in entries)
    return f'<ul class="key">{items}</ul>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table that scrolls by itself where it is too wide; heads are markup, cells are not."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else f"<bdi>{text(value)}</bdi>"

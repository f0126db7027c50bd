"""The report as a page of its own: no script, nothing fetched, light and dark."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from softquery.errors import counted
from softquery.running.spreadsheet.report_charts import Axes, Line, Mark, line_chart

MOST_LABELS = 15
"""Columns of a confusion table."""
MOST_SHOWN = 25
"""Rows of a list that are shown before it is unfolded."""
LONGEST = 400
"""Characters of a text that are shown."""
Found = Mapping[str, Any]


def report_page(report: Found) -> str:
    """The whole page.

    Args:
        report: As `make_report` made it.
    """
    parts = [
        _summary(report),
        _warnings(report),
        _found(report),
        _learning(report),
        _tried(report),
        _confusion(report),
        _by_class(report),
        _trust(report),
        _mistakes(report),
        _suspects(report),
        _use(report),
    ]
    style = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    title = f"{report['name']}: what was learnt"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _section(title: str, *body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(body)}</section>"


def _p(text: str, look: str = "") -> str:
    return f"<p{f' class={look}' if look else ''}>{escape(text)}</p>"


def _list(items: Iterable[str], look: str = "plain") -> str:
    return f'<ul class="{look}">' + "".join(f"<li>{escape(each)}</li>" for each in items) + "</ul>"


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], texts: Sequence[str] = ()
) -> str:
    """A table whose numbers stand to the right; columns named in `texts` get room."""

    def cell(head: str, value: object) -> str:
        if isinstance(value, float):
            return f'<td class="number">{value:.3f}</td>'
        if isinstance(value, int):
            return f'<td class="number">{value:,}</td>'
        shown = "" if value is None else str(value)
        shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
        return f"<td{_look(head, texts)}>{escape(shown)}</td>"

    body = [list(row) for row in rows]
    is_number = [
        bool(body) and all(isinstance(row[place], (int, float)) for row in body)
        for place in range(len(heads))
    ]
    top = "".join(
        f"<th{' class=number' if right else ''}>{escape(head.replace('_', ' '))}</th>"
        for head, right in zip(heads, is_number, strict=True)
    )
    lines = "".join(
        "<tr>" + "".join(cell(*each) for each in zip(heads, row, strict=True)) + "</tr>"
        for row in body
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{lines}</table></div>'


def _look(head: str, texts: Sequence[str]) -> str:
    look = (
        "text" if head in texts else "label" if head in ("label", "predicted", "likelier") else ""
    )
    return f" class={look}" if look else ""


def _summary(report: Found) -> str:
    figures = report["figures"]
    main = "f1" if report["task"] == "tag" else "accuracy"
    bounds = figures.get(f"{main}_interval") or [None, None]
    names = {"f1": "F1 of spans", "accuracy": "accuracy"}
    interval = "" if None in bounds else f", 95 % interval {bounds[0]:.1%} to {bounds[1]:.1%}"
    shown = [(f"{figures[main]:.1%}", f"{names[main]}{interval}")]
    if "most_frequent_label" in report:
        share = report["most_frequent_label"]
        shown.append((f"{share:.1%}", "by answering the most frequent label always"))
    if "macro_f1" in figures:
        shown.append((f"{figures['macro_f1']:.1%}", "mean F1 of the labels"))
    if "ece" in figures:
        shown.append((f"{figures['ece']:.1%}", "by which probabilities are off (ECE)"))
    numbers = "".join(f"<li><b>{a}</b><span>{escape(b)}</span></li>" for a, b in shown)
    noun = {"classify": "texts", "match": "pairs", "tag": "sentences"}[report["task"]]
    many = f"{report['rows']:,} {noun}, {counted(len(report['labels']), 'label')}"
    learned_by = report["learned_by"]
    return (
        f"<section><h1>{escape(report['name'])}</h1>"
        + _p(f"Learnt from {report['file']}: {many}. {learned_by[:1].upper()}{learned_by[1:]}.")
        + f'<ul class="numbers">{numbers}</ul>'
        + _p(f"Measured on {report['held_out']}.", "quiet")
        + "</section>"
    )


def _warnings(report: Found) -> str:
    if not report["warnings"]:
        return ""
    return _section("Worth a look", _list(report["warnings"], "plain warnings"))


def _found(report: Found) -> str:
    labels = list(report["labels"].items())
    facts = [(name, str(value)) for name, value in report["facts"].items()]
    repeated = report["repeated_rows"]
    said = [
        *report["found"],
        *([f"{counted(repeated, 'row')} say again what another one said"] * bool(repeated)),
    ]
    return _section(
        "What was found",
        _list(said),
        '<div class="side"><div><h3>Labels</h3>',
        _table(("label", "rows"), labels[:MOST_SHOWN]),
        _p(f"and {len(labels) - MOST_SHOWN:,} more", "quiet") if len(labels) > MOST_SHOWN else "",
        "</div><div><h3>Training</h3>",
        _table(("", ""), facts),
        "</div></div>",
    )


def _learning(report: Found) -> str:
    charts = [*_curves(report["curves"]), *_growth(report["by_rows"])]
    if not charts:
        return ""
    return _section("How it learnt", f'<div class="side">{"".join(charts)}</div>')


def _curves(log: Sequence[Found]) -> list[str]:
    """Losses and the metric on the tune set by steps; the epoch that was kept is marked."""
    names = {name for row in log for name in row}
    metric = next((n for n in sorted(names) if n.startswith("tune_") and n != "tune_loss"), None)
    if metric is None:
        return []
    for preferred in ("tune_f1", "tune_accuracy", "tune_auc", "tune_macro_f1"):
        if preferred in names:
            metric = preferred
            break
    scored = [row for row in log if metric in row]
    best = max(scored, key=lambda row: (row[metric], -row.get("tune_loss", 0.0)))
    marks = [Mark(at=best["step"], name=f"kept: epoch {int(best['epoch']) + 1}")]
    train = [(row["step"], row["loss"]) for row in log if "loss" in row]
    tune = [(row["step"], row["tune_loss"]) for row in log if "tune_loss" in row]
    losses = [
        Line(name=name, points=points, look=look)
        for name, points, look in (
            ("training loss", train, "a"),
            ("loss on the tune set", tune, "b"),
        )
        if points
    ]
    shown = metric.removeprefix("tune_").replace("_", " ")
    scores = Line(
        name=f"{shown} on the tune set",
        points=[(row["step"], row[metric]) for row in scored],
        look="b",
    )
    return [
        line_chart(losses, Axes(x="step", y="loss"), marks),
        line_chart([scores], Axes(x="step", y=shown, is_share=True), marks),
    ]


def _growth(points: Sequence[Found]) -> list[str]:
    if len(points) < 2:
        return []
    line = Line(
        name="accuracy by how many rows were learnt from",
        points=[(each["rows"], each["accuracy"]) for each in points],
        look="a",
    )
    return [line_chart([line], Axes(x="rows", y="accuracy", is_share=True))]


def _tried(report: Found) -> str:
    rows = report["tried"]
    if not rows:
        return ""
    heads = tuple(rows[0])
    body = _table(heads, [tuple(row.get(head) for head in heads) for row in rows], heads[:1])
    return _section("What was compared", body)


def _confusion(report: Found) -> str:
    counts: Mapping[str, Mapping[str, int]] = report["figures"].get("confusion") or {}
    if not counts:
        return ""
    told = _p("Rows are the labels of the file, columns the answers.", "quiet")
    if len(counts) > MOST_LABELS:
        wrong = [
            (gold, said, count)
            for gold, row in counts.items()
            for said, count in row.items()
            if gold != said and count
        ]
        wrong.sort(key=lambda each: -each[2])
        table = _table(("label", "answered", "rows"), wrong[:MOST_SHOWN])
        return _section("What is confused most often", table)
    heads = "".join(f"<th>{escape(label)}</th>" for label in counts)
    lines = []
    for gold, row in counts.items():
        total = max(1, sum(row.values()))
        cells = "".join(
            f'<td class="{"right" if said == gold else "wrong"}" '
            f'style="background: rgb(var(--heat) / {0.75 * count / total:.2f})">'
            f"{count or ''}</td>"
            for said, count in row.items()
        )
        lines.append(f'<tr><th class="row">{escape(gold)}</th>{cells}</tr>')
    table = f'<table class="heat"><tr><th></th>{heads}</tr>{"".join(lines)}</table>'
    return _section("What is taken for what", told, f'<div class="scroll">{table}</div>')


def _by_class(report: Found) -> str:
    rows = report["by_class"]
    if not rows:
        return ""
    order = ("label", "n", "answered", "precision", "recall", "f1")
    heads = [head for head in order if head in rows[0]]
    table = _table(heads, [tuple(row[head] for head in heads) for row in rows])
    return _section("Label by label", table)


def _trust(report: Found) -> str:
    bins, parts = report["calibration"], []
    if len(bins) > 1:
        lines = [
            Line(
                name="how many were right",
                points=[(each["confidence"], each["accuracy"]) for each in bins],
                look="a",
            ),
            Line(name="as many as promised", points=[(0.0, 0.0), (1.0, 1.0)], look="c"),
        ]
        chart = line_chart(lines, Axes(x="confidence", y="share right", is_share=True))
        parts.append(f"<div><h3>Are probabilities true?</h3>{chart}</div>")
    slices = report["by_length"]
    if slices:
        metric = next(name for name in slices[0] if name not in ("slice", "n"))
        unit = "words" if report["task"] == "tag" else "characters"
        rows = [(each["slice"], each["n"], each[metric]) for each in slices]
        parts.append(f"<div><h3>By length</h3>{_table((unit, 'n', metric), rows)}</div>")
    if not parts:
        return ""
    return _section("Where to trust it", f'<div class="side">{"".join(parts)}</div>')


def _unfolding(heads: Sequence[str], rows: Sequence[Found], texts: Sequence[str]) -> str:
    body = [tuple(row.get(head) for head in heads) for row in rows]
    first = _table(heads, body[:MOST_SHOWN], texts)
    if len(body) <= MOST_SHOWN:
        return first
    more = _table(heads, body[MOST_SHOWN:], texts)
    return f"{first}<details><summary>{len(body) - MOST_SHOWN:,} more</summary>{more}</details>"


def _mistakes(report: Found) -> str:
    rows = report["mistakes"]
    if not rows:
        return _section("Mistakes", _p("None on the rows that were held out."))
    inputs = [
        name for name in rows[0] if name in ("text", "sentence1", "sentence2", "tokens", "tags")
    ]
    after = [name for name in ("label", "predicted", "confidence", "wrong") if name in rows[0]]
    order = "The most confident first: read these before anything else."
    if report["task"] == "tag":
        order = "Those with most wrong tags first; only what differs is shown."
    told = _p(f"{counted(len(rows), 'row')}. {order}", "quiet")
    return _section("Mistakes", told, _unfolding(["row", *inputs, *after], rows, inputs))


def _suspects(report: Found) -> str:
    rows = report["suspects"]
    if not rows:
        return ""
    inputs = [name for name in rows[0] if name in ("text", "sentence1", "sentence2")]
    heads = ["row", *inputs, "label", "likelier", "own_probability", "its_probability"]
    told = _p(
        "Rows whose label may be wrong, by models that had not seen them. Look at each: many of "
        "them are right, and merely hard.",
        "quiet",
    )
    return _section("Doubtful labels", told, _unfolding(heads, rows, inputs))


def _use(report: Found) -> str:
    place, verb = shlex.quote(report["name"]), report["task"]
    option = "--pairs" if verb == "match" else "--input"
    new, other = ("new.txt", "other.conll") if verb == "tag" else ("new.csv", "other.csv")
    lines = [
        f"softquery {verb} {option} {new} --output answers.jsonl --model {place}",
        f"softquery evaluate {place} --data {other}",
        f"softquery serve --model {place}",
    ]
    return _section("Use it", f"<pre>{escape(chr(10).join(lines))}</pre>")

"""`softquery evaluate`."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from softquery.cli.calibrate import calibration_summary, show_sources
from softquery.cli.terminal.console import flat, note, print_json, print_table, span
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import (
    AsJson,
    PairColumns,
    check_writable,
    columns_for,
    needs_extra,
    parse_rename,
)
from softquery.errors import ConfigError, InputError
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.runtime.kinds import Lazy
    from softquery.runtime.mistakes import Mistake


def evaluate(
    model: Annotated[
        str, typer.Argument(help="A name from the zoo, a bundle's folder, or an index.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            help="Rows: sentence1, sentence2, label; text, label; source, target; tagged words; "
            "questions with answers; query, doc; for encoders and biLMs text."
        ),
    ],
    errors: Annotated[
        Path | None,
        typer.Option(
            help="Write the mistakes to this file (.tsv .csv .jsonl), most confident first."
        ),
    ] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slice", help="Report also by `length`, by `label`, or by a column. Repeatable."
        ),
    ] = None,
    columns: PairColumns = "",
    stages: Annotated[
        list[str] | None,
        typer.Option(
            help="Search an index by words,vectors,rerank or some of them. Repeat to compare."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a report on an index to this file: one page with curves and mistakes."
        ),
    ] = None,
    order: Annotated[
        bool, typer.Option("--order", help="Also compare match(a, b) with match(b, a).")
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Write mistakes unescaped, even cells that a spreadsheet would run as formulas.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a model or an index on labelled data, with bootstrap intervals.

    Tags are read from CoNLL columns, CoNLL-U or JSONL (`--columns tags=ner`), questions from
    SQuAD's JSON or JSONL. An index is asked every `query`, which the row with the id or question
    `doc` should answer; a file without a column `doc` is a log: it is reported which queries
    are answered, and which of the others mean the same. With several `--stages`, one table
    compares them: metrics, milliseconds, and which stages pay off.
    """
    from softquery.search.any_index import can_be_index

    if errors is not None:
        _check_place(errors, data)
    if html is not None:
        _check_page(html, data)
    cells: Cells = "raw" if raw else "shown"
    wish = _Wish(
        data, parse_rename(columns), slices or [], order, errors, cells, stages or [], html, as_json
    )
    result = _of_index(model, wish) if can_be_index(model) else _of_bundle(model, wish)
    _tell(result, f"{model} on {data}", wish, as_json)


class _Wish(NamedTuple):
    """What was asked of a measurement."""

    data: Path
    rename: dict[str, str] | None
    slices: list[str]
    order: bool
    errors: Path | None
    cells: "Cells"
    stages: list[str]
    html: Path | None = None
    whole: bool = False
    """Whether all that a report has is asked for, not the main figures alone."""


def _of_bundle(model: str, wish: _Wish) -> dict[str, Any]:
    """The report of a model, by its kind."""
    if wish.stages:
        raise ConfigError(f"--stages is for an index; {model} is none")
    if wish.html is not None:
        raise ConfigError(f"--html is for an index; {model} is none")
    from softquery.runtime.kinds import kind_of
    from softquery.runtime.loading import opened
    from softquery.runtime.task_rows import ParseOptions

    bundle = opened(model)
    kind = kind_of(bundle)
    if kind.labelled is None or kind.evaluator is None:
        raise ConfigError(f"{model}: holds {kind.noun}; see softquery vectors similarity, analogy")
    if kind.measured_on_text:
        return _of_text(bundle, kind.noun, kind.evaluator, wish)
    if wish.order and kind.name != "matcher":
        raise ConfigError(f"--order compares pairs; {kind.noun} reads one text")
    rename = columns_for(bundle, wish.rename, kind.labelled.columns)
    how = ParseOptions(rename=rename, keep_others=bool(wish.slices) or wish.errors is not None)
    rows = list(kind.labelled.parse(wish.data, how))
    if not rows:
        raise InputError(f"holds no {kind.labelled.noun}", source=wish.data)
    evaluation = kind.evaluator.get()(kind.opener.get()(bundle), rows)
    result: dict[str, Any] = evaluation.report()
    if wish.slices:
        result["slices"] = {name: evaluation.slices(name) for name in wish.slices}
    if wish.order:
        result["order"] = evaluation.order()
    calibrated_on = calibration_summary(bundle.calibration)
    if calibrated_on:
        result["calibrated_on"] = calibrated_on
    if evaluation.num_cut:
        result[kind.labelled.cut] = evaluation.num_cut
    if wish.errors is not None:
        records = [
            each if isinstance(each, dict) else each.record() for each in evaluation.mistakes()
        ]
        write_mistakes(wish.errors, records, kind.labelled.mistakes, wish.cells)
    return result


def _of_text(bundle: "Bundle", noun: str, place: "Lazy", wish: _Wish) -> dict[str, Any]:
    """How well a language model predicts a text."""
    if wish.order or wish.slices or wish.errors is not None:
        raise ConfigError("--order, --slice and --errors are for labelled rows, not for text")
    with needs_extra("train", needed_for=f"measuring {noun}"):
        evaluator = place.get()
    report: dict[str, Any] = evaluator(bundle, wish.data, rename=wish.rename)
    return report


def _of_index(index: str, wish: _Wish) -> dict[str, Any]:
    """How well an index finds what it should."""
    from softquery.files import read_rows
    from softquery.search import compare_stages, evaluate_index, open_index
    from softquery.search.query.stages import parse_stages
    from softquery.search.report.collect import collect

    if wish.order:
        raise ConfigError("--order compares pairs; an index reads one text")
    subsets = list(dict.fromkeys(map(parse_stages, wish.stages)))
    if len(subsets) > 1 and wish.errors is not None:
        raise ConfigError("--errors takes one --stages")
    columns, optional = ("query",), ("doc", "relevance")
    rows = list(
        read_rows(
            wish.data, columns=columns, optional=optional, rename=wish.rename, keep_others=True
        )
    )
    if not rows:
        raise InputError("holds no rows", source=wish.data)
    opened = open_index(index)
    compared: dict[str, Any] | None = None
    with counting("queries") as advance:
        if len(subsets) > 1:
            comparison = compare_stages(opened, rows, subsets, advance=advance)
            compared = comparison.report()
            best = tuple(compared["recommended"])
            evaluation = next(each for each in comparison.evaluations if each.stages == best)
        else:
            chosen = subsets[0] if subsets else None
            evaluation = evaluate_index(opened, rows, stages=chosen, advance=advance)
    if wish.errors is not None:
        write_mistakes(wish.errors, evaluation.mistakes(), SEARCH_MISTAKES, wish.cells)
    if wish.html is not None or wish.slices or (wish.whole and compared is None):
        found = collect(opened, evaluation, slices=wish.slices, comparison=compared)
        if wish.html is not None:
            found.write_html(wish.html)
        if wish.whole:
            return {**(compared or {}), **found.to_dict()}
        shown = {"slices": {name: found.data["slices"].get(name, []) for name in wish.slices}}
        return {**(compared or evaluation.report()), **(shown if wish.slices else {})}
    return evaluation.report() if compared is None else compared


def _tell(result: dict[str, Any], title: str, wish: _Wish, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    _show(result, title)
    if "bleu_signature" in result:
        note(f"sacrebleu: {result['bleu_signature']}")
    if wish.errors is not None:
        note(f"mistakes written: {wish.errors}")
    if wish.html is not None:
        note(f"report written: {wish.html}")


def _show(result: dict[str, Any], title: str) -> None:
    rows = []
    for name, value in flat(result):
        bounds = result.get(f"{name}_interval")
        shown = ""
        if bounds and None not in bounds:
            shown = span(f"{bounds[0]:.4f}", f"{bounds[1]:.4f}")
        rows.append((name, value, shown))
    print_table(title, ("metric", "value", "95 % interval"), rows)
    if "by_label" in result:
        heads = ("", *next(iter(result["by_label"].values()), {}))
        table = [(label, *each.values()) for label, each in result["by_label"].items()]
        print_table(localised("by label"), heads, table)
    if "confusion" in result:
        _show_confusion(result["confusion"])
    for name, parts in result.get("slices", {}).items():
        heads = tuple(parts[0])
        print_table(localised(f"by {name}"), heads, [tuple(part.values()) for part in parts])
    if "calibrated_on" in result:
        show_sources(result["calibrated_on"])
    if "milliseconds" in result:
        _show_search(result)
    if "compared" in result:
        _show_comparison(result)
    if "order" in result:
        title = localised("match(a, b) against match(b, a)")
        print_table(title, ("measure", "value"), flat(result["order"]))


def _show_search(result: Mapping[str, Any]) -> None:
    """What a table of the main numbers does not hold: stages and times."""
    stages = result.get("stages", {})
    if stages:
        names = [name for name in next(iter(stages.values())) if not name.startswith("found")]
        table = [(stage, *(found[name] for name in names)) for stage, found in stages.items()]
        print_table(localised("by stage"), ("stage", *names), table)
    print_table(
        localised("milliseconds per query"),
        ("part", "p50", "p95"),
        [(name, each["p50"], each["p95"]) for name, each in result["milliseconds"].items()],
    )
    answers = [(name, "" if value is None else value) for name, value in result["answers"].items()]
    print_table(localised("answers"), ("", ""), answers)


def _show_comparison(result: Mapping[str, Any]) -> None:
    """Subsets of the stages of a search beside each other, and which of them pay."""
    heads = {"milliseconds_p50": "ms p50", "milliseconds_p95": "ms p95"}
    rows = [{**each, "stages": ",".join(each["stages"])} for each in result["compared"]]
    names = tuple(heads.get(name, name) for name in rows[0])
    print_table(localised("by stages"), names, [tuple(each.values()) for each in rows])
    for gain in result["gains"]:
        low, high = gain["mrr_interval"]
        verdict = "is worse than" if high < 0 else "is not surely better than"
        subsets = (",".join(gain[name]) for name in ("stages", "faster"))
        line = ("pays over" if gain["pays"] else verdict).join(f" {each} " for each in subsets)
        bounds = f"95 % interval {low:+.3f} to {high:+.3f}"
        note(f"{line.strip()}: mrr {gain['mrr']:+.3f} ({bounds})")
    note(f"recommended: --stages {','.join(result['recommended'])}")


def _show_confusion(confusion: dict[str, dict[str, int]]) -> None:
    """All counts, or what was confused most often where there are too many labels for a table."""
    if len(confusion) <= MOST_LABELS:
        table = [(gold, *counts.values()) for gold, counts in confusion.items()]
        title = localised("confusion (rows: gold, columns: answered)")
        print_table(title, ("",), table, names=tuple(confusion))
        return
    wrong = [
        (gold, answered, count)
        for gold, counts in confusion.items()
        for answered, count in counts.items()
        if gold != answered and count
    ]
    most = sorted(wrong, key=lambda row: -row[2])[:MOST_LABELS]
    print_table(localised("confused most often"), ("gold", "answered", "rows"), most)


MOST_LABELS = 8
"""Columns of a confusion matrix that a terminal can show."""
FORMS = (".tsv", ".csv", ".jsonl")
Cells = Literal["shown", "raw"]
"""Whether tables have an apostrophe before what a spreadsheet would run as a formula."""
SEARCH_MISTAKES = ("query", "expected", "predicted", "confidence")


def _check_place(path: Path, data: Path) -> None:
    """Refuse a place for the mistakes before any work is done."""
    if path.suffix not in FORMS:
        raise InputError(f"mistakes are written as one of {', '.join(FORMS)}", source=path)
    check_writable(path)
    if path.exists() and data.exists() and path.samefile(data):
        raise InputError("is the data itself; name another file for the mistakes", source=path)


def _check_page(path: Path, data: Path) -> None:
    """Refuse a place for the report before any work is done."""
    from softquery.search.report.collect import check_html_place

    check_html_place(path)
    check_writable(path)
    if path.exists() and data.exists() and path.samefile(data):
        raise InputError("is the data itself; name another file for the report", source=path)


def write_mistakes(
    path: Path,
    mistakes: "Sequence[Mistake | dict[str, Any]]",
    columns: Sequence[str],
    cells: Cells = "shown",
) -> None:
    """Write mistakes by the ending of the file; lists become words with spaces between them.

    Args:
        path: Ends in `.tsv`, `.csv` or `.jsonl`.
        mistakes: Each with its record, or as one.
        columns: Of a table that holds none.
        cells: How cells of a table are written.
    """
    from softquery.files import write_text

    records = [each if isinstance(each, dict) else each.record() for each in mistakes]
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    else:
        flat = [{name: _flat(value) for name, value in each.items()} for each in records]
        text = _delimited(flat, "\t" if path.suffix == ".tsv" else ",", columns, cells)
    write_text(path, text)


def _flat(value: Any) -> Any:
    return " ".join(value) if isinstance(value, list) else value


def _delimited(
    records: list[dict[str, Any]], delimiter: str, columns: Sequence[str], cells: Cells
) -> str:
    from softquery.files import shown_cell
    from softquery.runtime.task_rows import JUDGED

    # Objects of a JSONL file need not all have the same further names.
    found = dict.fromkeys(name for record in records for name in record if name not in JUDGED)
    last = [name for name in JUDGED if any(name in each for each in records)]
    names = [*found, *last] if records else list(columns)
    write = shown_cell if cells == "shown" else str
    rows = [names, *([record.get(name, "") for name in names] for record in records)]
    if delimiter == "\t":  # our TSV knows no quoting: a separator inside a text becomes a space
        lines = [[write(" ".join(str(cell).split())) for cell in row] for row in rows]
        return "".join("\t".join(line) + "\n" for line in lines)
    made = io.StringIO()
    table = csv.writer(made, lineterminator="\n")
    table.writerows(["" if cell is None else write(cell) for cell in row] for row in rows)
    return made.getvalue()

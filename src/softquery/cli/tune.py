"""`softquery tune`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import note, print_json, print_table, span
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import AllThreads, AsJson, parse_rename
from softquery.errors import ConfigError
from softquery.language import localised

LOG = "log"
"""The kind of a tuning by queries alone."""

if TYPE_CHECKING:
    from softquery.search import Index, LanguageIndex, TuneReport

FIGURES = {
    "first_answer": "first answer right",
    "mrr": "mean reciprocal rank",
    "answered_rightly": "answered rightly, of those with an answer",
    "precision": "right, of the answers given",
    "coverage": "answered, of those with an answer",
    "unanswerable_answered": "answered, of those without one",
    "net": "right answers less wrong ones, per query",
    "loss": "loss of the score, in nats",
    "threshold": "score that an answer needs",
    "answered": "answered, of all queries",
    "expected_precision": "right, of the answers given, as scores suggest",
}


def tune(
    index: Annotated[Path, typer.Argument(help="The index, a folder.")],
    queries: Annotated[
        Path | None,
        typer.Option(
            help="Queries with what answers them: query, doc, relevance; or a log of clicks: "
            "query, shown, chosen; or queries alone, such as a .txt of one per line."
        ),
    ] = None,
    aim: Annotated[
        str | None,
        typer.Option(help="What the threshold is for: precision=P or coverage=C; kept."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Change the index even if that is not surely better.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Measure what it would gain, and change nothing.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Go back to the score and threshold before tuning.")
    ] = False,
    columns: Annotated[
        str, typer.Option(help="Map our column names to the file's: query=text,doc=id.")
    ] = "",
    threads: AllThreads = None,
    as_json: AsJson = False,
) -> None:
    """Fit an index to the queries that it is asked: its score and its threshold.

    A few dozen queries are enough to begin with; a few hundred are better. `doc` is the id or the
    question of a row that answers the query, and is empty where none does. Of a log of clicks,
    `shown` holds ids in the order in which they were shown, `chosen` one of them or nothing. Of
    queries alone, the threshold follows what their scores suggest.

    First the gain is measured on queries that were left out (cross-validation), and printed with
    its 95 % interval. Where it is not surely better, nothing is changed, unless --force is given.
    """
    from softquery.search import Index, LanguageIndex

    if undo:
        if queries is not None or aim is not None or force or dry_run or columns:
            raise ConfigError("--undo goes with --threads and --json alone")
        opened = Index.open(index, threads=threads)
        opened.untune()
        _tell_undone(opened, as_json)
        return
    if queries is None:
        raise ConfigError("name the queries with --queries, or --undo a tuning")
    opened = Index.open(index, threads=threads)
    if isinstance(opened, LanguageIndex):
        given = {"columns": parse_rename(columns), "aim": aim, "force": force, "dry_run": dry_run}
        _tune_parts(opened, queries, given, as_json)
        return
    with counting("queries") as advance:
        report = opened.tune(
            queries,
            columns=parse_rename(columns),
            aim=aim,
            force=force,
            dry_run=dry_run,
            advance=advance,
            announce=lambda report: None if as_json else _show(report, f"{index} on {queries}"),
        )
    if as_json:
        print_json(report.to_dict())
    else:
        _tell(report, is_dry=dry_run)


def _tune_parts(
    opened: "LanguageIndex", queries: Path, given: Mapping[str, Any], as_json: bool
) -> None:
    """Tune an index that has a part for each language."""

    def show(language: str, report: "TuneReport") -> None:
        if not as_json:
            _show(report, f"{opened.path / language} on {queries}")

    with counting("queries") as advance:
        reports = opened.tune_parts(queries, advance=advance, announce=show, **given)
    if as_json:
        print_json({language: report.to_dict() for language, report in reports.items()})
        return
    for language, report in reports.items():
        note(f"{opened.path / language}:")
        _tell(report, is_dry=bool(given["dry_run"]))


def _tell_undone(opened: "Index", as_json: bool) -> None:
    if as_json:
        print_json({"tuned": False, "aim": opened.aim, "min_score": opened.min_score})
    else:
        note(f"{opened.path}: its tuning is undone; answers need {opened.min_score:.3f} again")


def _show(report: "TuneReport", title: str) -> None:
    """The figures before and after, before anything is changed."""
    rows = [
        (
            localised(shown),
            *("" if each is None else f"{each:.3f}" for each in (found.before, found.after)),
            "" if found.gain is None else f"{found.gain:+.3f}",
            "" if found.low is None else span(f"{found.low:+.3f}", f"{found.high:+.3f}"),
        )
        for name, shown in FIGURES.items()
        if (found := report.figures.get(name)) is not None
        and (found.before is not None or found.after is not None)
    ]
    way = "by cross-validation" if report.kind != LOG else "by the log"
    heads = (way, "before", "after", "gain", "95 % interval")
    print_table(title, heads, rows)
    for line in report.notes:
        note(line)


def _tell(report: "TuneReport", *, is_dry: bool) -> None:
    """What became of the index."""
    note(report.verdict)
    if report.is_changed:
        before = "any" if report.min_score_before is None else f"{report.min_score_before:.3f}"
        note(f"tuned to {report.learned}")
        note(f"answers need {report.min_score:.3f} for {report.aim} ({before} before)")
    elif is_dry:
        note("nothing is changed (--dry-run)")
    else:
        note("nothing is changed; --force changes it nevertheless, more queries may show a gain")

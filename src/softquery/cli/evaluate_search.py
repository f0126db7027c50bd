"""`softquery evaluate` for an index."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softquery.cli.console import print_table
from softquery.cli.progress import counting
from softquery.errors import ConfigError, InputError


def evaluate_search(
    index: str, data: Path, rename: Mapping[str, str] | None, slices: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report, and the mistakes."""
    from softquery.files import read_rows
    from softquery.search import Index, evaluate_index

    if slices:
        raise ConfigError("--slice is for models, not for an index")
    rows = list(read_rows(data, columns=("query",), optional=("doc", "relevance"), rename=rename))
    if not rows:
        raise InputError("holds no rows", source=data)
    with counting("queries") as advance:
        evaluation = evaluate_index(Index.open(index), rows, advance=advance)
    return evaluation.report(), evaluation.mistakes()


def show_search(result: Mapping[str, Any]) -> None:
    """What a table of the main numbers does not hold: stages and times."""
    stages = result.get("stages", {})
    if stages:
        names = [name for name in next(iter(stages.values())) if not name.startswith("found")]
        table = [(stage, *(found[name] for name in names)) for stage, found in stages.items()]
        print_table("by stage", ("stage", *names), table)
    print_table(
        "milliseconds a query",
        ("part", "p50", "p95"),
        [(name, each["p50"], each["p95"]) for name, each in result["milliseconds"].items()],
    )
    answers = [(name, "" if value is None else value) for name, value in result["answers"].items()]
    print_table("answers", ("", ""), answers)

"""Answers to a whole file, and what is told about them at the end; for every verb that has bulk."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softquery.cli.console import note, print_json, print_text
from softquery.cli.progress import counting
from softquery.errors import counted

if TYPE_CHECKING:
    from softquery.cli.bad_rows import BadRows
    from softquery.runtime.bulk import Answerer


def answer_file(
    answers: "Answerer",
    rows: Iterator[Any],
    output: Path | None,
    *,
    bad: "BadRows | None",
    noun: str,
    note_cuts: Callable[[int], None],
    as_json: bool,
    done: str = "answered",
) -> None:
    """Answer rows into a file, or print the answers where none is named.

    Args:
        answers: The model's.
        rows: As they are read.
        output: Ends in `.jsonl`.
        bad: Where bad rows go; None where one stops the run.
        noun: What a row is called, such as `"text"`.
        note_cuts: Says how many inputs were longer than the model's limit.
        as_json: Whether the end is told as JSON.
        done: What was done with a row.
    """
    from softquery.runtime.bulk import answer_rows, stream_answers

    with bad or nullcontext():
        if output is None:
            note_cuts(stream_answers(answers, rows, print_text, bad))
            return
        with counting(f"{noun}s") as advance:
            result = answer_rows(answers, rows, output, advance=advance, bad=bad)
    resumed = f" ({result.num_resumed:,} of them before)" if result.num_resumed else ""
    note(f"{counted(result.num_rows, noun)} {done}{resumed}: {output}")
    skipped = 0 if bad is None else bad.count
    if bad is not None and skipped:
        note(f"{counted(skipped, 'bad row')} skipped: {bad.path}")
    note_cuts(result.num_cut)
    if as_json:
        print_json({**asdict(result), "output": str(output), "num_skipped": skipped})

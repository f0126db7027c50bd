"""What the verbs that answer share: opening a model, and answering whole files with it."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from softquery.cli.terminal.bad_rows import BadRows
from softquery.cli.terminal.console import note, print_json, print_text
from softquery.cli.terminal.engine_choice import BulkEngine
from softquery.cli.terminal.progress import counting
from softquery.cli.terminal.shared_options import columns_for, parse_rename
from softquery.errors import counted
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.runtime.bulk import BulkResult
    from softquery.runtime.embed.vector_output import EmbedResult
    from softquery.runtime.encode.matrix_output import EncodeResult


class ModelWords(NamedTuple):
    """What the command line says of a model."""

    name: str
    backend: str
    threads: int | None


@dataclass(frozen=True, slots=True)
class FileRun:
    """What a bulk verb was asked to do.

    Attributes:
        source: The file of rows.
        output: Ends in `.jsonl`; None where answers are printed.
        rename: Our column names to the file's.
        bad: Where bad rows go; None where one stops the run.
        as_json: Whether the end is told as JSON.
    """

    source: Path
    output: Path | None
    rename: dict[str, str] | None
    bad: BadRows | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class BulkAsk:
    """What the command line says of many rows.

    Attributes:
        source: Their file; with Ray, also a folder, a pattern, or one of these in a store.
        output: Where answers go; None where they are printed.
        columns: What `--columns` says.
        on_error: `stop` or `skip`.
        as_json: Whether the end is told as JSON.
        engine: What runs it.
    """

    source: str
    output: str | None
    columns: str
    on_error: str
    as_json: bool
    engine: BulkEngine


Prepare = Callable[[Iterator[Any]], Iterator[Any]]


def answer_in_bulk(
    kind: str, model: ModelWords, ask: BulkAsk, request: object = None, prepare: Prepare = iter
) -> None:
    """Answer many rows on the engine that was asked for.

    Args:
        kind: What the model must be.
        model: What the command line says of it.
        ask: What it says of the rows.
        request: A generator's, or which words are wanted for masks.
        prepare: What is done with the rows before they are answered; a function with a name.
    """
    if ask.engine.is_ray:
        from softquery.cli.terminal.ray_files import answer_on_ray

        answer_on_ray(kind, model, ask, request, prepare)
        return
    run = prepare_run(ask)
    answer_file(load_kind(kind, *model), run, request=request, prepare=prepare)


def prepare_run(ask: BulkAsk) -> FileRun:
    """Refuse, before a model is opened, what could not be read or written."""
    from softquery.runtime.partial_file import check_output

    rename = parse_rename(ask.columns)
    output = None if ask.output is None else Path(ask.output)
    if output is not None:
        check_output(output)
    bad = BadRows(output) if ask.on_error == "skip" else None
    return FileRun(Path(ask.source), output, rename, bad, ask.as_json)


def load_kind(kind: str, model: str, backend: str, threads: int | None) -> Any:
    """Open a bundle that must be of a kind, by its name in the zoo or by its folder.

    What is asked of an encoder in words is asked of its head for hidden words.
    """
    from softquery.runtime.kinds import KINDS

    if kind == "encoder":
        from softquery.runtime.fill.model import open_filler

        return open_filler(model, backend=backend, threads=threads)  # type: ignore[arg-type]
    return KINDS[kind].opener.get()(model, backend=backend, threads=threads)


def answer_file(
    model: Any,
    run: FileRun,
    *,
    request: object | None = None,
    prepare: Prepare = iter,
) -> None:
    """Answer the rows of a file into another one, or print the answers where none is named.

    Args:
        model: An opened bundle.
        run: What was asked.
        request: A generator's.
        prepare: What is done with the rows before they are answered.
    """
    from softquery.runtime.bulk import BulkAnswers, answer_rows, stream_answers
    from softquery.runtime.task_rows import ParseOptions

    answers, bad, output = BulkAnswers(model, request), run.bad, run.output
    rename = columns_for(model.bundle, run.rename, answers.bulk.columns)
    how = ParseOptions(rename=rename, on_bad=None if bad is None else bad.add)
    rows = prepare(answers.bulk.parse(run.source, how))
    if answers.bulk.keep is not None:
        rows = answers.bulk.keep(model, rows, request, how.on_bad)
    noun = answers.bulk.noun
    with bad or nullcontext():
        if output is None:
            note_cuts(model, stream_answers(answers, rows, print_text, bad))
            return
        with counting(f"{noun}s") as advance:
            result = answer_rows(answers, rows, output, advance=advance, bad=bad)
    tell_end(
        result,
        f"{counted(result.num_rows, noun)} {answers.bulk.done}",
        bad,
        lambda: note_cuts(model, result.num_cut),
        as_json=run.as_json,
    )


def note_cuts(model: Any, count: int) -> None:
    """Tell how many inputs were longer than the model's limit."""
    from softquery.runtime.kinds import kind_of

    bulk = kind_of(model.bundle).bulk
    if count and bulk is not None:
        note(bulk.told_cut(model, count))


def tell_end(
    result: "BulkResult | EmbedResult | EncodeResult",
    told: str,
    bad: BadRows | None,
    note_cuts: Callable[[], None],
    *,
    as_json: bool,
) -> None:
    """Tell how a bulk run ended."""
    resumed = localised(f"({result.num_resumed:,} of them before)") if result.num_resumed else ""
    note(f"{localised(told)} {resumed}".rstrip() + f": {result.output}")
    skipped = 0 if bad is None else bad.count
    if bad is not None and skipped:
        note(f"{counted(skipped, 'bad row')} skipped: {bad.path}")
    note_cuts()
    if as_json:
        print_json({**asdict(result), "output": str(result.output), "num_skipped": skipped})

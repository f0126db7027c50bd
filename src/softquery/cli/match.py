"""`softquery match` and `softquery rank`."""

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.console import note, print_json, print_table
from softquery.errors import ConfigError, InputError

if TYPE_CHECKING:
    from softquery.files import Row
    from softquery.runtime import Matcher

MODEL_HELP = "A name from the zoo, or a bundle's folder."
THREADS_HELP = "Threads that one call may use; all cores by default."


def match(
    sentence1: Annotated[str | None, typer.Argument(help="The first sentence.")] = None,
    sentence2: Annotated[str | None, typer.Argument(help="The second sentence.")] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "match-en",
    pairs: Annotated[
        Path | None, typer.Option(help="Many pairs: .tsv .csv .jsonl .parquet, plain or .gz .xz.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Answers as .jsonl; OUTPUT.partial until complete.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our column names to the file's: sentence1=q1,sentence2=q2.")
    ] = "",
    explain: Annotated[
        Path | None, typer.Option(help="For one pair, also say why: .html .svg .png .json.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="`stop` at a bad row, or `skip` it into OUTPUT.errors.tsv.")
    ] = "stop",
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what two sentences are to each other: one pair, or a file of any size.

    An interrupted bulk run goes on where it stopped when the same command is given again.
    """
    if (pairs is None) == (sentence1 is None):
        raise ConfigError("give either two sentences, or --pairs FILE")
    if on_error not in ("stop", "skip"):
        raise ConfigError(f"--on-error must be stop or skip, got {on_error!r}")
    if pairs is None:
        if sentence1 is None or sentence2 is None:
            raise ConfigError("give two sentences, each in quotes")
        matcher = _load(model, backend, threads)
        _one(matcher, sentence1, sentence2, as_json)
        if explain is not None:
            matcher.explain(sentence1, sentence2).plot(explain)
            note(f"why: {explain}")
        return
    if explain is not None:
        raise ConfigError("--explain shows one pair; give two sentences")
    from softquery.files import parse_columns

    rename = parse_columns(columns) if columns else None
    _many(_load(model, backend, threads), pairs, output, rename, on_error)


def _load(model: str, backend: str, threads: int | None) -> "Matcher":
    from softquery.runtime import load

    return load(model, backend=backend, threads=threads)  # type: ignore[arg-type]


def _one(matcher: "Matcher", sentence1: str, sentence2: str, as_json: bool) -> None:
    answer = matcher.predict([(sentence1, sentence2)])[0]
    if as_json:
        print_json(
            {
                "sentence1": sentence1,
                "sentence2": sentence2,
                "label": answer.label,
                "score": answer.score,
                "probabilities": answer.probabilities,
            }
        )
        return
    rows: list[tuple[object, ...]] = list(answer.probabilities.items())
    title = f"{answer.label}" if answer.label is not None else f"grade {answer.score:.2f}"
    print_table(title, ("label", "probability"), rows or [("grade", answer.score)])


def _many(
    matcher: "Matcher",
    pairs: Path,
    output: Path | None,
    rename: dict[str, str] | None,
    on_error: str,
) -> None:
    from softquery.files import read_rows
    from softquery.runtime.bulk import match_rows, stream_rows

    bad = BadRows(output) if on_error == "skip" else None
    rows = read_rows(
        pairs,
        columns=("sentence1", "sentence2"),
        rename=rename,
        on_bad=None if bad is None else bad.add,
    )
    if output is None:
        stream_rows(matcher, rows, sys.stdout)
    else:
        settings = _settings(matcher, pairs, rename, on_error)
        with _counter() as advance:
            result = match_rows(matcher, rows, output, settings=settings, advance=advance)
        resumed = f" ({result.num_resumed:,} of them before)" if result.num_resumed else ""
        note(f"{result.num_rows:,} pairs answered{resumed}: {output}")
    if bad is not None:
        bad.close()


def _settings(
    matcher: "Matcher", pairs: Path, rename: dict[str, str] | None, on_error: str
) -> dict[str, Any]:
    weights = hashlib.sha256(matcher.bundle.weights_path.read_bytes()).hexdigest()[:16]
    facts = pairs.stat()
    return {
        "pairs": [str(pairs), facts.st_size, facts.st_mtime_ns],
        "weights": weights,
        "columns": rename,
        "on_error": on_error,
    }


class BadRows:
    """Rows that were skipped, as `OUTPUT.errors.tsv` or on standard error.

    Reading starts from the first row also in a resumed run, and so does this file.
    """

    def __init__(self, output: Path | None) -> None:
        self.path = None if output is None else Path(f"{output}.errors.tsv")
        self.file = None if self.path is None else self.path.open("w", encoding="utf-8")
        self.count = 0
        if self.file is not None:
            self.file.write("row\treason\n")

    def add(self, error: InputError) -> None:
        """Note one bad row."""
        self.count += 1
        if self.file is None:
            note(f"skipped: {error}")
        else:
            self.file.write(f"{error.row}\t{error.message}\n")

    def close(self) -> None:
        """Say how many there were; a file without rows goes away."""
        if self.file is not None and self.path is not None:
            self.file.close()
            if self.count:
                note(f"{self.count:,} bad rows skipped: {self.path}")
            else:
                self.path.unlink()


def _counter() -> Any:
    """A counter of rows with speed on a terminal; nothing elsewhere."""
    from contextlib import contextmanager

    from rich.console import Console

    console = Console(stderr=True)

    @contextmanager
    def counting() -> Any:
        if not console.is_terminal:
            yield lambda done: None
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,} pairs"))
        speed = TextColumn("{task.fields[speed]}")
        with Progress(*columns, speed, TimeElapsedColumn(), console=console) as bar:
            task = bar.add_task("pairs", total=None, speed="")

            def advance(done: int) -> None:
                rate = bar.tasks[0].speed
                shown = f"{rate:,.0f} pairs/s" if rate else ""
                bar.update(task, completed=done, speed=shown)

            yield advance

    return counting()


def rank(
    query: Annotated[str, typer.Argument(help="What is asked.")],
    candidates: Annotated[
        Path, typer.Option(help="One candidate a line (.txt), or a column `text` of a table.")
    ],
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "match-en",
    top: Annotated[int, typer.Option(min=1, help="How many to show.")] = 5,
    label: Annotated[
        str | None, typer.Option(help="Whose probability orders; see `Matcher.rank`.")
    ] = None,
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Order candidates by how well they match a query, best first."""
    from softquery.files import read_rows

    rows: list[Row] = list(read_rows(candidates, columns=("text",)))
    if not rows:
        raise InputError("holds no candidates", source=candidates)
    matcher = _load(model, backend, threads)
    texts = [row.values["text"] for row in rows]
    try:
        hits = matcher.rank(query, texts, top_k=top, label=label)
    except ValueError as error:
        raise ConfigError(f"--label: {error}") from None
    if as_json:
        print_json(hits)
    else:
        table = [(place, hit["score"], hit["text"]) for place, hit in enumerate(hits, 1)]
        print_table(query, ("", "score", "text"), table)

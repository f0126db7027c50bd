"""`softquery match` and `softquery rank`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.answer_file import answer_file
from softquery.cli.bad_rows import BadRows
from softquery.cli.console import note, print_json, print_table
from softquery.errors import ConfigError, InputError, counted

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
        if output is not None:
            raise ConfigError("--output is for --pairs FILE; one pair is printed")
        _refuse_empty(sentence1=sentence1, sentence2=sentence2)
        if explain is not None:
            from softquery.explain.write import require_place

            require_place(explain)
        matcher = _load(model, backend, threads)
        if explain is not None:
            matcher.explain(sentence1, sentence2).plot(explain)
            note(f"why: {explain}")
        _one(matcher, sentence1, sentence2, as_json)
        return
    if explain is not None:
        raise ConfigError("--explain shows one pair; give two sentences")
    from softquery.files import parse_columns
    from softquery.runtime.partial_file import check_output

    rename = parse_columns(columns) if columns else None
    if output is not None:
        check_output(output)
    _many(_load(model, backend, threads), pairs, output, rename, on_error, as_json)


def _refuse_empty(**texts: str) -> None:
    for name, text in texts.items():
        if not text.strip():
            raise ConfigError(f"{name} is empty")


def _load(model: str, backend: str, threads: int | None) -> "Matcher":
    from softquery.runtime import load_matcher

    return load_matcher(model, backend=backend, threads=threads)  # type: ignore[arg-type]


def _one(matcher: "Matcher", sentence1: str, sentence2: str, as_json: bool) -> None:
    answer = matcher.predict([(sentence1, sentence2)])[0]
    if as_json:
        print_json(answer.record(sentence1, sentence2))
        return
    rows: list[tuple[object, ...]] = list(answer.probabilities.items())
    _note_cuts(matcher.num_cut([sentence1, sentence2]), matcher)
    if matcher.is_graded:
        print_table(f"grade {answer.score:.2f}", ("grade",), [(answer.score,)])
    else:
        title = "not sure enough to answer" if answer.label is None else answer.label
        print_table(title, ("label", "probability"), rows)


def _note_cuts(count: int, matcher: "Matcher") -> None:
    if count:
        limit = matcher.pipeline.config.max_tokens
        note(f"{counted(count, 'sentence')} cut to the model's {limit} tokens")


def _many(
    matcher: "Matcher",
    pairs: Path,
    output: Path | None,
    rename: dict[str, str] | None,
    on_error: str,
    as_json: bool,
) -> None:
    from softquery.files import read_rows
    from softquery.runtime.bulk import MatchAnswers

    bad = BadRows(output) if on_error == "skip" else None
    rows = read_rows(
        pairs,
        columns=("sentence1", "sentence2"),
        rename=rename,
        on_bad=None if bad is None else bad.add,
    )
    answer_file(
        MatchAnswers(matcher),
        rows,
        output,
        bad=bad,
        noun="pair",
        note_cuts=lambda count: _note_cuts(count, matcher),
        as_json=as_json,
    )


def rank(
    query: Annotated[str, typer.Argument(help="What is asked.")],
    candidates: Annotated[
        Path, typer.Option(help="One candidate a line (.txt), or a column `text` of a table.")
    ],
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "match-en",
    top: Annotated[int, typer.Option(min=1, help="How many to show.")] = 5,
    columns: Annotated[
        str, typer.Option(help="Our column name to the file's: text=question.")
    ] = "",
    label: Annotated[
        str | None, typer.Option(help="Whose probability orders; see `Matcher.rank`.")
    ] = None,
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Order candidates by how well they match a query, best first."""
    from softquery.files import parse_columns, read_rows

    _refuse_empty(query=query)
    rename = parse_columns(columns) if columns else None
    rows: list[Row] = list(read_rows(candidates, columns=("text",), rename=rename))
    if not rows:
        raise InputError("holds no candidates", source=candidates)
    matcher = _load(model, backend, threads)
    texts = [row.values["text"] for row in rows]
    try:
        hits = matcher.rank(query, texts, top_k=top, label=label)
    except ValueError as error:
        raise ConfigError(f"--label: {error}") from None
    _note_cuts(matcher.num_cut([query, *texts]), matcher)
    if as_json:
        print_json(hits)
    else:
        table = [(place, hit["score"], hit["text"]) for place, hit in enumerate(hits, 1)]
        print_table(query, ("", "score", "text"), table)

"""`softquery tag`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.answer_file import answer_file
from softquery.cli.bad_rows import BadRows
from softquery.cli.console import note, print_json, print_line
from softquery.cli.match import MODEL_HELP, THREADS_HELP
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.answers import Tagged
    from softquery.runtime import Tagger

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def tag(
    texts: Annotated[list[str] | None, typer.Argument(help="Texts, each in quotes.")] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "tagger-en",
    source: Annotated[
        Path | None,
        typer.Option(
            "--input", help="Many texts: .txt .tsv .csv .jsonl .parquet .conll .conllu, .gz .xz."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Answers as .jsonl; OUTPUT.partial until complete.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our column names to the file's: text=sentence, or tokens=2.")
    ] = "",
    split: Annotated[
        str, typer.Option(help="How texts are cut: into `words`, or at `spaces` alone.")
    ] = "words",
    on_error: Annotated[
        str, typer.Option(help="`stop` at a bad row, or `skip` it into OUTPUT.errors.tsv.")
    ] = "stop",
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say of every word what it is: names, parts of speech, or whatever was learnt.

    An interrupted bulk run goes on where it stopped when the same command is given again.
    """
    if (source is None) == (not texts):
        raise ConfigError("give either texts, or --input FILE")
    for name, value, choices in (
        ("--on-error", on_error, ("stop", "skip")),
        ("--split", split, ("words", "spaces")),
    ):
        if value not in choices:
            raise ConfigError(f"{name} must be {' or '.join(choices)}, got {value!r}")
    if source is None:
        if output is not None:
            raise ConfigError("--output is for --input FILE; texts are printed")
        for text in texts or ():
            if not text.strip():
                raise ConfigError("a text is empty")
        _some(_load(model, backend, threads), texts or [], split, as_json)
        return
    from softquery.files import parse_columns
    from softquery.runtime.partial_file import check_output

    rename = parse_columns(columns) if columns else None
    if output is not None:
        check_output(output)
    bad = BadRows(output) if on_error == "skip" else None
    _many(_load(model, backend, threads), source, output, rename, split, bad, as_json)


def _load(model: str, backend: str, threads: int | None) -> "Tagger":
    from softquery.runtime.tag.model import load_tagger

    return load_tagger(model, backend=backend, threads=threads)  # type: ignore[arg-type]


def _some(tagger: "Tagger", texts: list[str], split: str, as_json: bool) -> None:
    given: list[Any] = [text.split() for text in texts] if split == "spaces" else list(texts)
    answers = tagger.predict(given)
    _note_parts(tagger.num_cut([answer.tokens for answer in answers]), tagger)
    if as_json:
        records = [answer.record() for answer in answers]
        print_json(records[0] if len(records) == 1 else records)
        return
    colours = _colours(tagger)
    for answer in answers:
        print_line(_pieces(answer, colours, has_spans=tagger.tags.has_spans))


def _note_parts(count: int, tagger: "Tagger") -> None:
    if count:
        config = tagger.pipeline.config
        limit = f"{config.max_tokens} {config.noun}"
        note(f"{counted(count, 'sentence')} longer than {limit}, read in parts")


def _colours(tagger: "Tagger") -> dict[str, str]:
    labels = dict.fromkeys(label.partition("-")[2] or label for label in tagger.tags.labels)
    return {label: COLOURS[place % len(COLOURS)] for place, label in enumerate(labels)}


def _pieces(answer: "Tagged", colours: dict[str, str], *, has_spans: bool) -> list[tuple[str, str]]:
    """Words and their tags, each with a style: `[Ada Lovelace PER] slept`, or `slept/VERB`."""
    if not has_spans:
        return [
            piece
            for token, tag in zip(answer.tokens, answer.tags, strict=True)
            for piece in ((token, ""), (f"/{tag} ", colours[tag]))
        ]
    pieces, done = [], 0
    for span in answer.spans:
        pieces += [(f"{token} ", "") for token in answer.tokens[done : span.start]]
        label = f" {span.label}" if span.label else ""
        pieces.append((f"[{answer.text(span)}{label}] ", f"bold {colours.get(span.label, '')}"))
        done = span.end
    return [*pieces, *((f"{token} ", "") for token in answer.tokens[done:])]


def _many(
    tagger: "Tagger",
    source: Path,
    output: Path | None,
    rename: dict[str, str] | None,
    split: str,
    bad: BadRows | None,
    as_json: bool,
) -> None:
    from softquery.files import read_untagged
    from softquery.runtime.tag.bulk import TagAnswers, at_spaces

    rows = read_untagged(source, rename=rename, on_bad=None if bad is None else bad.add)
    answer_file(
        TagAnswers(tagger),
        map(at_spaces, rows) if split == "spaces" else rows,
        output,
        bad=bad,
        noun="text",
        done="tagged",
        note_cuts=lambda count: _note_parts(count, tagger),
        as_json=as_json,
    )

"""`softquery read`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.answer_file import answer_file
from softquery.cli.bad_rows import BadRows
from softquery.cli.console import note, print_json, print_line
from softquery.cli.match import MODEL_HELP, THREADS_HELP
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.answers import Answer
    from softquery.runtime import Reader

AROUND = 60
"""Characters of the context that are shown on either side of an answer."""


def read(
    questions: Annotated[
        list[str] | None, typer.Argument(help="Questions, each in quotes.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(help="What is read: a text, or a file of text (.txt, .gz, .xz).")
    ] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "read-en",
    source: Annotated[
        Path | None,
        typer.Option("--input", help="Many questions: SQuAD's .json, or .jsonl, .gz .xz."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Answers as .jsonl; OUTPUT.partial until complete.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Our names to those of a .jsonl: context=passage,question=q.")
    ] = "",
    explain: Annotated[
        Path | None, typer.Option(help="For one question, also say why: .html .svg .png .json.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="`stop` at a bad row, or `skip` it into OUTPUT.errors.tsv.")
    ] = "stop",
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the answer to a question in a context of any length, or in many.

    An interrupted bulk run goes on where it stopped when the same command is given again.
    """
    if (source is None) == (not questions):
        raise ConfigError("give either questions with --context, or --input FILE")
    if on_error not in ("stop", "skip"):
        raise ConfigError(f"--on-error must be stop or skip, got {on_error!r}")
    if source is None:
        asked = questions or []
        text = _check_some(asked, context, output, explain)
        reader = _load(model, backend, threads)
        if explain is not None:
            reader.explain(asked[0], text).plot(explain)
            note(f"why: {explain}")
        _some(reader, asked, text, as_json)
        return
    if context is not None or explain is not None:
        name = "--explain shows one question" if explain else "--context is for one question"
        raise ConfigError(f"{name}; give it in quotes")
    from softquery.files import parse_columns
    from softquery.runtime.partial_file import check_output

    rename = parse_columns(columns) if columns else None
    if output is not None:
        check_output(output)
    bad = BadRows(output) if on_error == "skip" else None
    _many(_load(model, backend, threads), source, output, rename, bad, as_json)


def _check_some(
    questions: list[str], context: str | None, output: Path | None, explain: Path | None
) -> str:
    """Refuse, before a model is opened, what cannot be answered; else the text that is read."""
    if output is not None:
        raise ConfigError("--output is for --input FILE; answers are printed")
    if not all(question.strip() for question in questions):
        raise ConfigError("a question is empty")
    if context is None:
        raise ConfigError("name what is read with --context: a text, or a file")
    if explain is not None:
        from softquery.explain.write import require_place

        if len(questions) > 1:
            raise ConfigError("--explain shows one question; give only one")
        require_place(explain)
    text = _text_of(context)
    if not text.strip():
        raise ConfigError("the context is empty")
    return text


def _text_of(context: str) -> str:
    """The text itself, or what a file of that name holds."""
    from softquery.files import open_text

    try:
        is_file = os.path.isfile(context)
    except ValueError:  # no name of a file holds a NUL
        is_file = False
    if not is_file:
        return context
    with open_text(context, longest_line=None) as lines:
        return lines.read()


def _load(model: str, backend: str, threads: int | None) -> "Reader":
    from softquery.runtime.read.model import load_reader

    return load_reader(model, backend=backend, threads=threads)  # type: ignore[arg-type]


def _some(reader: "Reader", questions: list[str], context: str, as_json: bool) -> None:
    answers = reader.predict([(question, context) for question in questions])
    _note_pages(reader.num_long([context]), reader)
    if as_json:
        records = [
            answer.record(question, context)
            for question, answer in zip(questions, answers, strict=True)
        ]
        print_json(records[0] if len(records) == 1 else records)
        return
    for question, answer in zip(questions, answers, strict=True):
        if len(questions) > 1:
            print_line([(question, "italic")])
        print_line(_pieces(answer, context))


def _pieces(answer: "Answer", context: str) -> list[tuple[str, str]]:
    """An answer amid the context, each piece with a style."""
    if answer.text is None or answer.start is None or answer.end is None:
        return [("no answer", "bold"), (f"  (score {answer.score:.2f})", "dim")]
    before = context[max(0, answer.start - AROUND) : answer.start]
    after = context[answer.end : answer.end + AROUND]
    dots = ("…" if answer.start > AROUND else "", "…" if answer.end + AROUND < len(context) else "")
    return [
        (" ".join(answer.text.split()), "bold"),
        (f"  (score {answer.score:.2f}, characters {answer.start} to {answer.end})  ", "dim"),
        (_spaced(f"{dots[0]}{before}"), "dim"),
        (f"[{_spaced(answer.text)}]", ""),
        (_spaced(f"{after}{dots[1]}"), "dim"),
    ]


def _spaced(text: str) -> str:
    """Every white space as a plain one: a line stays a line."""
    return "".join(" " if mark.isspace() else mark for mark in text)


def _note_pages(count: int, reader: "Reader") -> None:
    if count:
        limit = f"{reader.window.size} {reader.pipeline.config.noun}"
        note(f"{counted(count, 'context')} longer than {limit}, read in windows")


def _many(
    reader: "Reader",
    source: Path,
    output: Path | None,
    rename: dict[str, str] | None,
    bad: BadRows | None,
    as_json: bool,
) -> None:
    from softquery.files import read_questions
    from softquery.runtime.read.bulk import ReadAnswers

    told = None if bad is None else bad.add
    rows = read_questions(source, answers="ignored", rename=rename, on_bad=told)
    answer_file(
        ReadAnswers(reader),
        rows,
        output,
        bad=bad,
        noun="question",
        note_cuts=lambda count: _note_pages(count, reader),
        as_json=as_json,
    )

"""`softquery read`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal import shared_options as options
from softquery.cli.terminal.answer_file import (
    BulkAsk,
    ModelWords,
    answer_in_bulk,
    load_kind,
    note_cuts,
)
from softquery.cli.terminal.console import print_json, print_line
from softquery.cli.terminal.engine_choice import chosen_engine
from softquery.errors import ConfigError
from softquery.language import localised

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
    model: options.Model = "read-en",
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="PATH",
            help="Many questions: SQuAD's .json, or .jsonl, .gz .xz.",
        ),
    ] = None,
    output: options.AnswersOutput = None,
    columns: Annotated[
        str, typer.Option(help="Map our names to those of the .jsonl: context=passage,question=q.")
    ] = "",
    explain: Annotated[
        Path | None, typer.Option(help="For one question, also say why: .html .svg .png .json.")
    ] = None,
    on_error: options.OnError = "stop",
    backend: options.BackendName = "auto",
    threads: options.Threads = None,
    engine: options.EngineName = "local",
    num_actors: options.NumActors = None,
    gpus: options.Gpus = 0,
    form: options.Form = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the answer to a question in a context of any length, or in many.

    An interrupted bulk run continues where it stopped when you give the same command again.
    """
    options.require_input(questions, source, "questions with --context, or --input FILE", on_error)
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=source)
    if source is None:
        asked = questions or []
        text = _check_some(asked, context, output, explain)
        reader: Reader = load_kind("reader", model, backend, threads)
        if explain is not None:
            reader.explain(asked[0], text).plot(explain)
            options.note_why(explain)
        _some(reader, asked, text, as_json)
        return
    if context is not None or explain is not None:
        name = "--explain shows one question" if explain else "--context is for one question"
        raise ConfigError(f"{name}; give it in quotes")
    ask = BulkAsk(source, output, columns, on_error, as_json, runs_on)
    answer_in_bulk("reader", ModelWords(model, backend, threads), ask)


def _check_some(
    questions: list[str], context: str | None, output: str | None, explain: Path | None
) -> str:
    """Refuse, before a model is opened, what cannot be answered; else the text that is read."""
    options.check_given(questions, output, "question", printed="answers")
    if context is None:
        raise ConfigError("name what is read with --context: a text, or a file")
    if explain is not None and len(questions) > 1:
        raise ConfigError("--explain shows one question; give only one")
    options.check_explain(explain)
    text = _text_of(context)
    if not text.strip():
        raise ConfigError("the context is empty")
    return text


def _text_of(context: str) -> str:
    """The text itself, or what a file of that name holds."""
    from softquery.files import LONGEST_TEXT, open_text

    try:
        is_file = os.path.isfile(context)
    except ValueError:  # no name of a file holds a NUL
        is_file = False
    if not is_file:
        return context
    with open_text(context, longest_line=LONGEST_TEXT) as lines:
        return lines.read()


def _some(reader: "Reader", questions: list[str], context: str, as_json: bool) -> None:
    answers = reader.predict([(question, context) for question in questions])
    note_cuts(reader, reader.num_long([context]))
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
        score = localised(f"score {answer.score:.2f}")
        return [(localised("no answer"), "bold"), (f"  ({score})", "dim")]
    before = context[max(0, answer.start - AROUND) : answer.start]
    after = context[answer.end : answer.end + AROUND]
    dots = ("…" if answer.start > AROUND else "", "…" if answer.end + AROUND < len(context) else "")
    place = localised(f"score {answer.score:.2f}, characters {answer.start} to {answer.end}")
    return [
        (" ".join(answer.text.split()), "bold"),
        (f"  ({place})  ", "dim"),
        (_spaced(f"{dots[0]}{before}"), "dim"),
        (f"[{_spaced(answer.text)}]", ""),
        (_spaced(f"{after}{dots[1]}"), "dim"),
    ]


def _spaced(text: str) -> str:
    """Every white space as a plain one: a line stays a line."""
    return "".join(" " if mark.isspace() else mark for mark in text)

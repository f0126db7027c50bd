"""`softquery tag`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

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
from softquery.cli.terminal.default_model import model_for, model_for_rows
from softquery.cli.terminal.engine_choice import chosen_engine
from softquery.text.spans import as_written

if TYPE_CHECKING:
    from softquery.answers import Tagged
    from softquery.files import UntaggedText
    from softquery.runtime import Tagger

TaggerModel = Annotated[
    str | None,
    typer.Option(
        help="A name or a folder; by default tagger-en (parts of speech) or ner-zh (names), by "
        "the language of the texts.",
        autocompletion=options.model_names,
    ),
]
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def tag(
    texts: options.Texts = None,
    model: TaggerModel = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="PATH",
            help="Many texts: .txt .tsv .csv .jsonl .parquet .conll .conllu, .gz .xz.",
        ),
    ] = None,
    output: options.AnswersOutput = None,
    columns: Annotated[
        str, typer.Option(help="Map our column names to the file's: text=sentence, or tokens=2.")
    ] = "",
    split: Annotated[
        str, typer.Option(help="How texts are cut: into `words`, or at `spaces` alone.")
    ] = "words",
    on_error: options.OnError = "stop",
    backend: options.BackendName = "auto",
    threads: options.Threads = None,
    engine: options.EngineName = "local",
    num_actors: options.NumActors = None,
    gpus: options.Gpus = 0,
    form: options.Form = None,
    as_json: options.AsJson = False,
) -> None:
    """Tag every word: names, parts of speech, or whatever the model was trained on.

    An interrupted bulk run continues where it stopped when you give the same command again.
    """
    options.require_input(texts, source, "texts, or --input FILE", on_error)
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=source)
    options.require_choice("--split", split, ("words", "spaces"))
    if source is None:
        options.check_given(texts or (), output, "text", printed="texts")
        name = model_for("tag", model, texts or ())
        _some(load_kind("tagger", name, backend, threads), texts or [], split, as_json)
        return
    ask = BulkAsk(source, output, columns, on_error, as_json, runs_on)
    prepare = at_spaces if split == "spaces" else iter
    name = model_for_rows("tag", "tagger", model, ask)
    answer_in_bulk("tagger", ModelWords(name, backend, threads), ask, prepare=prepare)


def _some(tagger: "Tagger", texts: list[str], split: str, as_json: bool) -> None:
    given: list[Any] = [text.split() for text in texts] if split == "spaces" else list(texts)
    answers = tagger.predict(given)
    note_cuts(tagger, tagger.num_cut([answer.tokens for answer in answers]))
    if as_json:
        records = [answer.record() for answer in answers]
        print_json(records[0] if len(records) == 1 else records)
        return
    colours = _colours(tagger)
    for answer in answers:
        print_line(_pieces(answer, colours, has_spans=tagger.tags.has_spans))


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
        pieces += _between(answer.tokens[done : span.start])
        label = f" {span.label}" if span.label else ""
        pieces.append((f"[{answer.text(span)}{label}] ", f"bold {colours.get(span.label, '')}"))
        done = span.end
    return [*pieces, *_between(answer.tokens[done:])]


def _between(tokens: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"{as_written(tokens)} ", "")] if tokens else []


def at_spaces(rows: "Iterator[UntaggedText]") -> "Iterator[UntaggedText]":
    """Texts that are cut into words by their spaces alone."""
    for row in rows:
        yield replace(row, text=row.text.split()) if isinstance(row.text, str) else row

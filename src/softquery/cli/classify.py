"""`softquery classify`."""

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
from softquery.cli.terminal.console import print_json, print_table
from softquery.cli.terminal.default_model import model_for, model_for_rows
from softquery.cli.terminal.engine_choice import chosen_engine
from softquery.errors import ConfigError
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.runtime import Classifier

ClassifierModel = Annotated[
    str | None,
    typer.Option(
        help="A name or a folder; by default sentiment-en or sentiment-zh, by the language of the "
        "texts.",
        autocompletion=options.model_names,
    ),
]
MOST_LABELS = 5
"""More of them are shown with the likeliest first."""


def classify(
    texts: options.Texts = None,
    model: ClassifierModel = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="PATH",
            help="Many texts: .txt (one a line) .tsv .csv .jsonl .parquet, .gz .xz.",
        ),
    ] = None,
    output: options.AnswersOutput = None,
    columns: Annotated[
        str, typer.Option(help="Map our column name to the file's: text=review.")
    ] = "",
    explain: Annotated[
        Path | None,
        typer.Option(help="For one text, also show its words' weights: .html .svg .png .json."),
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
    """Say what a text is: its sentiment, its topic, or whatever the model was trained on.

    An interrupted bulk run continues where it stopped when you give the same command again.
    """
    options.require_input(texts, source, "texts, or --input FILE", on_error)
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=source)
    if source is None:
        given = texts or []
        options.check_given(given, output, "text", printed="texts")
        if explain is not None and len(given) > 1:
            raise ConfigError("--explain shows one text; give only one")
        options.check_explain(explain)
        name = model_for("classify", model, given)
        classifier: Classifier = load_kind("classifier", name, backend, threads)
        if explain is not None:
            classifier.explain(given[0]).plot(explain)
            options.note_why(explain)
        _some(classifier, given, as_json)
        return
    if explain is not None:
        raise ConfigError("--explain shows one text; give it in quotes")
    ask = BulkAsk(source, output, columns, on_error, as_json, runs_on)
    name = model_for_rows("classify", "classifier", model, ask)
    answer_in_bulk("classifier", ModelWords(name, backend, threads), ask)


def _some(classifier: "Classifier", texts: list[str], as_json: bool) -> None:
    answers = classifier.predict(texts)
    note_cuts(classifier, classifier.num_cut(texts))
    if as_json:
        records = [answer.record(text) for answer, text in zip(answers, texts, strict=True)]
        print_json(records[0] if len(records) == 1 else records)
        return
    if len(answers) == 1:
        title = answers[0].label or localised("not sure enough to answer")
        shown = list(answers[0].probabilities.items())
        if len(shown) > MOST_LABELS:
            shown.sort(key=lambda each: -each[1])
        print_table(title, ("label", "probability"), shown)
        return
    rows = [
        ("—" if answer.label is None else answer.label, answer.score, _short(text))
        for answer, text in zip(answers, texts, strict=True)
    ]
    print_table("", ("label", "probability", "text"), rows)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"

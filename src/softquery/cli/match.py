"""`softquery match` and `softquery rank`."""

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
from softquery.errors import ConfigError, InputError
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.files import Row
    from softquery.runtime import Matcher


def match(
    sentence1: Annotated[str | None, typer.Argument(help="The first sentence.")] = None,
    sentence2: Annotated[str | None, typer.Argument(help="The second sentence.")] = None,
    model: options.MatcherModel = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Many pairs: .tsv .csv .jsonl .parquet, plain or .gz .xz."
        ),
    ] = None,
    output: options.AnswersOutput = None,
    columns: options.PairColumns = "",
    explain: Annotated[
        Path | None, typer.Option(help="For one pair, also say why: .html .svg .png .json.")
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
    """Say what two sentences are to each other: one pair, or a file of any size.

    An interrupted bulk run continues where it stopped when you give the same command again.
    """
    options.require_input(sentence1 is not None, pairs, "two sentences, or --pairs FILE", on_error)
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=pairs)
    if pairs is None:
        if sentence1 is None or sentence2 is None:
            raise ConfigError("give two sentences, each in quotes")
        if output is not None:
            raise ConfigError("--output is for --pairs FILE; one pair is printed")
        _refuse_empty(sentence1=sentence1, sentence2=sentence2)
        options.check_explain(explain)
        name = model_for("match", model, (sentence1, sentence2))
        matcher: Matcher = load_kind("matcher", name, backend, threads)
        if explain is not None:
            matcher.explain(sentence1, sentence2).plot(explain)
            options.note_why(explain)
        _one(matcher, sentence1, sentence2, as_json)
        return
    if explain is not None:
        raise ConfigError("--explain shows one pair; give two sentences")
    ask = BulkAsk(pairs, output, columns, on_error, as_json, runs_on)
    name = model_for_rows("match", "matcher", model, ask)
    answer_in_bulk("matcher", ModelWords(name, backend, threads), ask)


def _refuse_empty(**texts: str) -> None:
    for name, text in texts.items():
        if not text.strip():
            raise ConfigError(f"{name} is empty")


def _one(matcher: "Matcher", sentence1: str, sentence2: str, as_json: bool) -> None:
    answer = matcher.predict([(sentence1, sentence2)])[0]
    if as_json:
        print_json(answer.record(sentence1, sentence2))
        return
    rows: list[tuple[object, ...]] = list(answer.probabilities.items())
    note_cuts(matcher, matcher.num_cut([sentence1, sentence2]))
    if matcher.is_graded:
        print_table(localised(f"grade {answer.score:.2f}"), ("grade",), [(answer.score,)])
    else:
        title = answer.label or localised("not sure enough to answer")
        print_table(title, ("label", "probability"), rows)


def rank(
    query: Annotated[str, typer.Argument(help="What is asked.")],
    candidates: Annotated[
        Path, typer.Option(help="One candidate per line (.txt), or a column `text` of a table.")
    ],
    model: options.MatcherModel = None,
    top_k: options.TopK = 5,
    columns: Annotated[
        str, typer.Option(help="Map our column name to the file's: text=question.")
    ] = "",
    label: Annotated[
        str | None, typer.Option(help="The label whose probability orders; see `Matcher.rank`.")
    ] = None,
    backend: options.BackendName = "auto",
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Order candidates by how well they match a query, best first."""
    from softquery.files import read_rows

    _refuse_empty(query=query)
    rename = options.parse_rename(columns)
    rows: list[Row] = list(read_rows(candidates, columns=("text",), rename=rename))
    if not rows:
        raise InputError("holds no candidates", source=candidates)
    texts = [row.values["text"] for row in rows]
    name = model_for("match", model, (query, *texts))
    matcher: Matcher = load_kind("matcher", name, backend, threads)
    try:
        hits = matcher.rank(query, texts, top_k=top_k, label=label)
    except ValueError as error:
        raise ConfigError(f"--label: {error}") from None
    note_cuts(matcher, matcher.num_cut([query, *texts]))
    if as_json:
        print_json(hits)
    else:
        table = [(place, hit["score"], hit["text"]) for place, hit in enumerate(hits, 1)]
        print_table(query, ("", "score", "text"), table)

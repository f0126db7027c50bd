"""`softquery classify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.answer_file import answer_file
from softquery.cli.bad_rows import BadRows
from softquery.cli.console import note, print_json, print_table
from softquery.cli.match import MODEL_HELP, THREADS_HELP
from softquery.errors import ConfigError, counted

if TYPE_CHECKING:
    from softquery.runtime import Classifier

MOST_LABELS = 5
"""More of them are shown with the likeliest first."""


def classify(
    texts: Annotated[list[str] | None, typer.Argument(help="Texts, each in quotes.")] = None,
    model: Annotated[str, typer.Option(help=MODEL_HELP)] = "sentiment-en",
    source: Annotated[
        Path | None,
        typer.Option(
            "--input", help="Many texts: .txt (one a line) .tsv .csv .jsonl .parquet, .gz .xz."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Answers as .jsonl; OUTPUT.partial until complete.")
    ] = None,
    columns: Annotated[str, typer.Option(help="Our column name to the file's: text=review.")] = "",
    explain: Annotated[
        Path | None,
        typer.Option(help="For one text, also show its words' weights: .html .svg .png .json."),
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="`stop` at a bad row, or `skip` it into OUTPUT.errors.tsv.")
    ] = "stop",
    backend: Annotated[str, typer.Option(help="onnx, torch or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help=THREADS_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a text is: its sentiment, its topic, or whatever was learnt.

    An interrupted bulk run goes on where it stopped when the same command is given again.
    """
    if (source is None) == (not texts):
        raise ConfigError("give either texts, or --input FILE")
    if on_error not in ("stop", "skip"):
        raise ConfigError(f"--on-error must be stop or skip, got {on_error!r}")
    if source is None:
        given = texts or []
        _check_some(given, output, explain)
        classifier = _load(model, backend, threads)
        if explain is not None:
            classifier.explain(given[0]).plot(explain)
            note(f"why: {explain}")
        _some(classifier, given, as_json)
        return
    if explain is not None:
        raise ConfigError("--explain shows one text; give it in quotes")
    from softquery.files import parse_columns
    from softquery.runtime.partial_file import check_output

    rename = parse_columns(columns) if columns else None
    if output is not None:
        check_output(output)
    bad = BadRows(output) if on_error == "skip" else None
    _many(_load(model, backend, threads), source, output, rename, bad, as_json)


def _check_some(texts: list[str], output: Path | None, explain: Path | None) -> None:
    """Refuse, before a model is opened, what cannot be answered."""
    if output is not None:
        raise ConfigError("--output is for --input FILE; texts are printed")
    if not all(text.strip() for text in texts):
        raise ConfigError("a text is empty")
    if explain is None:
        return
    from softquery.explain.write import require_place

    if len(texts) > 1:
        raise ConfigError("--explain shows one text; give only one")
    require_place(explain)


def _load(model: str, backend: str, threads: int | None) -> "Classifier":
    from softquery.runtime.classify.model import load_classifier

    return load_classifier(model, backend=backend, threads=threads)  # type: ignore[arg-type]


def _some(classifier: "Classifier", texts: list[str], as_json: bool) -> None:
    answers = classifier.predict(texts)
    _note_cuts(classifier.num_cut(texts), classifier)
    if as_json:
        records = [answer.record(text) for answer, text in zip(answers, texts, strict=True)]
        print_json(records[0] if len(records) == 1 else records)
        return
    if len(answers) == 1:
        title = "not sure enough to answer" if answers[0].label is None else answers[0].label
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


def _note_cuts(count: int, classifier: "Classifier") -> None:
    if count:
        note(f"{counted(count, 'text')} cut to the model's {classifier.limit}")


def _many(
    classifier: "Classifier",
    source: Path,
    output: Path | None,
    rename: dict[str, str] | None,
    bad: BadRows | None,
    as_json: bool,
) -> None:
    from softquery.files import read_rows
    from softquery.runtime.classify.bulk import ClassifyAnswers

    answer_file(
        ClassifyAnswers(classifier),
        read_rows(
            source, columns=("text",), rename=rename, on_bad=None if bad is None else bad.add
        ),
        output,
        bad=bad,
        noun="text",
        note_cuts=lambda count: _note_cuts(count, classifier),
        as_json=as_json,
    )

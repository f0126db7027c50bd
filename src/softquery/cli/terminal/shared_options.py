"""Options that several verbs take, declared once, and the checks of what is given with them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.console import note
from softquery.errors import ConfigError, InputError, MissingExtra

if TYPE_CHECKING:
    from softquery.bundle import Bundle

Rename = dict[str, str] | None
"""Our column names to those of a file."""


def model_names(incomplete: str) -> list[str]:
    """The names of models that a shell may complete a word to."""
    from softquery.zoo import entries

    return [each.name for each in entries() if each.name.startswith(incomplete)]


Model = Annotated[
    str,
    typer.Option(help="A name from the zoo, or a bundle's folder.", autocompletion=model_names),
]
MatcherModel = Annotated[
    str | None,
    typer.Option(
        help="A name or a folder; by default match-en or match-zh, by the language of the texts.",
        autocompletion=model_names,
    ),
]
AnswersOutput = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Answers as .jsonl; OUTPUT.partial until complete. Engine ray: a folder of shards.",
    ),
]
Texts = Annotated[list[str] | None, typer.Argument(help="Texts, each in quotes.")]
PairColumns = Annotated[
    str, typer.Option(help="Map our column names to the file's: sentence1=q1,sentence2=q2.")
]
OnError = Annotated[
    str, typer.Option(help="`stop` at a bad row, or `skip` it into OUTPUT.errors.tsv.")
]
BackendName = Annotated[str, typer.Option(help="onnx, torch or auto.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads that one call may use; all cores by default.")
]
AllThreads = Annotated[int | None, typer.Option(min=1, help="All cores by default.")]
EngineName = Annotated[
    str,
    typer.Option(
        help="`local`, or `ray`: files, folders, patterns and object stores, by many processes."
    ),
]
NumActors = Annotated[
    int | None,
    typer.Option(min=1, help="Engine ray: models open at once; by default one per GPU or CPU."),
]
Gpus = Annotated[int, typer.Option(min=0, help="Engine ray: GPUs of all actors together.")]
Form = Annotated[
    str | None, typer.Option(help="Engine ray: form of the shards, jsonl, parquet or csv.")
]
TopK = Annotated[int, typer.Option("--top-k", "--top", min=1, help="How many to show.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@contextmanager
def needs_extra(extra: str, *, needed_for: str) -> Iterator[None]:
    """Around imports of what an extra brings: where it is missing, the extra is named."""
    try:
        yield
    except ImportError:
        raise MissingExtra(extra, needed_for=needed_for) from None


def require_choice(option: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value that an option does not know."""
    if value not in known:
        raise ConfigError(f"{option} must be {' or '.join(known)}, got {value!r:.40}")


def require_input(given: object, source: object, told: str, on_error: str) -> None:
    """Refuse neither or both of what is given in quotes and a file, and an unknown `--on-error`."""
    if (source is None) == (not given):
        raise ConfigError(f"give either {told}")
    require_choice("--on-error", on_error, ("stop", "skip"))


def parse_rename(columns: str) -> dict[str, str] | None:
    """What `--columns` says: our column names to the file's."""
    from softquery.files import parse_columns

    return parse_columns(columns) if columns else None


def columns_for(bundle: "Bundle", given: dict[str, str] | None, wanted: Sequence[str]) -> "Rename":
    """The columns that a user names, or those of the file that a model was trained on.

    Args:
        bundle: The model.
        given: What `--columns` says.
        wanted: Our names of the columns that are read.
    """
    if given is not None or bundle.config.columns is None:
        return given
    return {ours: theirs for ours, theirs in bundle.config.columns.items() if ours in wanted}


def check_given(texts: Sequence[str], output: object, noun: str, printed: str) -> None:
    """Refuse, before a model is opened, texts on the command line that cannot be answered.

    Args:
        texts: As they were given.
        output: Must not be named: the answers are printed.
        noun: What one of the texts is called.
        printed: What is printed.
    """
    if output is not None:
        raise ConfigError(f"--output is for --input FILE; {printed} are printed")
    if not all(text.strip() for text in texts):
        raise ConfigError(f"a {noun} is empty")


def check_explain(explain: Path | None) -> None:
    """Refuse a place where no picture can go."""
    if explain is not None:
        from softquery.explain.write import require_place

        require_place(explain)


def note_why(explain: Path) -> None:
    """Tell where the picture of an answer is."""
    note(f"why: {explain}")


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written before minutes are spent on what it shall hold."""
    if path.is_dir():
        raise InputError("cannot be written (is a folder)", source=path)
    if not path.parent.is_dir():
        raise InputError("cannot be written (no such folder)", source=path)


def check_picture(option: str, path: Path, *, needed_for: str) -> None:
    """Refuse a picture that cannot be drawn."""
    if path.suffix != ".png":
        raise ConfigError(f"{option} must end in .png, got {str(path)!r}")
    check_writable(path)
    with needs_extra("plot", needed_for=needed_for):
        import matplotlib  # noqa: F401

"""The model of a verb where `--model` is omitted: the shipped one that reads the texts."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from softquery.cli.terminal.answer_file import BulkAsk
from softquery.cli.terminal.console import note
from softquery.cli.terminal.shared_options import parse_rename
from softquery.language import localised
from softquery.text import language_name
from softquery.zoo.by_language import BY_TASK, main_language


def model_for(task: str, model: str | None, texts: Iterable[str]) -> str:
    """The named model, or else the shipped one for most of the first texts.

    The English one is taken where nothing tells the language, and, with a note, where no shipped
    model of the task reads it.

    Args:
        task: A key of `BY_TASK`.
        model: What `--model` says.
        texts: They are not read if a model is named.
    """
    if model is not None:
        return model
    shipped = BY_TASK[task]
    language = main_language(texts) or "en"
    if language not in shipped:
        name, english = localised(language_name(language)), shipped["en"]
        note(localised(f"most of it is in {name}, and {english} reads English; see --model"))
        return english
    return shipped[language]


def model_for_rows(task: str, kind: str, model: str | None, ask: BulkAsk) -> str:
    """The same for the rows of a file; with Ray, the English one and a note.

    Ray's rows may lie anywhere, and are not looked at beforehand.

    Args:
        task: A key of `BY_TASK`.
        kind: Of the models, as `KINDS` names it.
        model: What `--model` says.
        ask: What the command line says of the rows.
    """
    if model is None and ask.engine.is_ray:
        english = BY_TASK[task]["en"]
        note(localised(f"engine ray: {english} answers, whatever the language; see --model"))
        return english
    return model_for(task, model, _texts(kind, ask))


def _texts(kind: str, ask: BulkAsk) -> Iterator[str]:
    """Texts of the good rows; a bad one is told when it is answered."""
    from softquery.runtime.kinds import KINDS
    from softquery.runtime.task_rows import ParseOptions

    bulk = KINDS[kind].bulk
    if bulk is None:
        return
    how = ParseOptions(rename=parse_rename(ask.columns), on_bad=lambda _: None)
    for row in bulk.parse(Path(ask.source), how):
        for value in bulk.repeated(row).values():
            yield value if isinstance(value, str) else " ".join(value)

"""`softquery fill`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal import shared_options as options
from softquery.cli.terminal.answer_file import FileRun, answer_file, prepare_run
from softquery.cli.terminal.console import print_json, print_table
from softquery.errors import InputError

if TYPE_CHECKING:
    from softquery.answers import Filled
    from softquery.runtime import FillRequest, MaskFiller


def fill(
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts, each in quotes, each with a [MASK].")
    ] = None,
    model: options.Model = "bert-mini-en",
    candidates: Annotated[
        str,
        typer.Option(help="Score these words instead of looking for some: paris,london,new york."),
    ] = "",
    top_k: Annotated[int, typer.Option(min=1, help="Words for each mask.")] = 5,
    source: Annotated[
        Path | None,
        typer.Option(
            "--input", help="Many texts: .txt (one a line) .tsv .csv .jsonl .parquet, .gz .xz."
        ),
    ] = None,
    output: options.AnswersOutput = None,
    columns: Annotated[str, typer.Option(help="Our column name to the file's: text=review.")] = "",
    on_error: options.OnError = "stop",
    backend: options.BackendName = "auto",
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what may stand where a word was hidden, such as in "The capital of France is [MASK]".

    The model is a pretrained BERT that kept its head for hidden words: bert-mini-en, what
    softquery train bert-mini made, or an import with its head. A score is the probability among
    all pieces of the vocabulary. Of several masks, each is answered by itself while the others
    stay masked. A candidate may have several pieces; its score is their product, from left to
    right, so that longer words score lower. A text that is too long is refused.
    """
    options.require_input(texts, source, "texts, or --input FILE", on_error)
    from softquery.runtime.fill.model import FillRequest, open_filler

    words = [word.strip() for word in candidates.split(",")] if candidates else None
    request = FillRequest.of(top_k, words)
    how: dict[str, Any] = {"backend": backend, "threads": threads}
    if source is None:
        given = texts or []
        options.check_given(given, output, "text", printed="words")
        _some(open_filler(model, **how), given, request, as_json)
        return
    run = prepare_run(source, output, columns, on_error, as_json)
    filler = open_filler(model, **how)
    answer_file(
        filler,
        run,
        request=request,
        prepare=lambda rows: _fillable(rows, filler, request, run),
    )


def _fillable(
    rows: Iterator[Any], filler: "MaskFiller", request: "FillRequest", run: FileRun
) -> Iterator[Any]:
    """Rows whose text can be filled; another one stops the run or is noted, as was asked."""
    longest = max(map(len, filler.reader.spell(request.candidates)), default=1)
    for row in rows:
        try:
            filler.reader.read(row.values["text"], longest=longest)
        except InputError as error:
            placed = InputError(error.message, source=row.source, row=row.number)
            if run.bad is None:
                raise placed from None
            run.bad.add(placed)
            continue
        yield row


def _some(filler: "MaskFiller", texts: list[str], request: "FillRequest", as_json: bool) -> None:
    from softquery.answers import filled_record

    answers = filler.predict(texts, request)
    if as_json:
        records = [filled_record(*each) for each in zip(texts, answers, strict=True)]
        print_json(records[0] if len(records) == 1 else records)
        return
    for text, found in zip(texts, answers, strict=True):
        _shown(text, found)


def _shown(text: str, found: "list[Filled]") -> None:
    """A table for each mask of a text."""
    num_masks = max(each.mask for each in found)
    for mask in range(1, num_masks + 1):
        title = text if num_masks == 1 else f"{text} (mask {mask} of {num_masks})"
        rows = [
            (each.word, _share(each.score), each.sentence) for each in found if each.mask == mask
        ]
        print_table(title, ("word", "probability", "sentence"), rows)


def _share(score: float) -> float | str:
    """A probability as a table shows it; a small one by its digits."""
    return score if score >= 0.001 else f"{score:.1e}"

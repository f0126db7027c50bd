"""`softquery fill`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal import shared_options as options
from softquery.cli.terminal.answer_file import BulkAsk, ModelWords, answer_in_bulk
from softquery.cli.terminal.console import print_json, print_table
from softquery.cli.terminal.engine_choice import chosen_engine
from softquery.language import localised

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
        typer.Option(
            help="Score these words instead of searching for some: paris,london,new york."
        ),
    ] = "",
    top_k: Annotated[int, typer.Option(min=1, help="Words for each mask.")] = 5,
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
    on_error: options.OnError = "stop",
    backend: options.BackendName = "auto",
    threads: options.Threads = None,
    engine: options.EngineName = "local",
    num_actors: options.NumActors = None,
    gpus: options.Gpus = 0,
    form: options.Form = None,
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
    runs_on = chosen_engine(engine, num_actors, gpus, form, source=source)
    from softquery.runtime.fill.model import FillRequest, open_filler

    words = [word.strip() for word in candidates.split(",")] if candidates else None
    request = FillRequest.of(top_k, words)
    how: dict[str, Any] = {"backend": backend, "threads": threads}
    if source is None:
        given = texts or []
        options.check_given(given, output, "text", printed="words")
        _some(open_filler(model, **how), given, request, as_json)
        return
    ask = BulkAsk(source, output, columns, on_error, as_json, runs_on)
    answer_in_bulk("encoder", ModelWords(model, backend, threads), ask, request)


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
        title = text if num_masks == 1 else localised(f"{text} (mask {mask} of {num_masks})")
        rows = [
            (each.word, _share(each.score), each.sentence) for each in found if each.mask == mask
        ]
        print_table(title, ("word", "probability", "sentence"), rows)


def _share(score: float) -> float | str:
    """A probability as a table shows it; a small one by its digits."""
    return score if score >= 0.001 else f"{score:.1e}"
